// Writes JSON text for `--json`: indented, keys in the order given, strings escaped.
#pragma once

#include "reports/documents/units.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ppplan {

/// Builds one JSON value piece by piece. Inside an object every value follows a `key`; `member`
/// does both. Units go into the key's name (`step_s`, `peak_bytes`), never into the value.
///
///   JsonWriter json;
///   json.begin_object().member("name", "gpt2");
///   json.key("stages").begin_array();
///   for (const Stage& stage : stages) json.begin_object().member("rank", stage.rank).end_object();
///   json.end_array().end_object();
///   print(json.take());
///
/// Misuse (a value without its key, an end without its begin) is our bug and asserts.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  /// Bytes that are no UTF-8 become U+FFFD, so that the result is always valid JSON.
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(std::same_as<bool> auto truth) { return raw(truth ? "true" : "false"); }
  JsonWriter& value(std::integral auto number) requires(!std::same_as<decltype(number), bool>) {
    return raw(std::to_string(number));
  }
  /// Shortest text that reads back as the same number; null when it is not finite.
  JsonWriter& value(double number);
  JsonWriter& value(Seconds time) { return value(time.count()); }
  JsonWriter& value(Bytes size) { return value(size.count); }
  JsonWriter& value(BytesPerSecond rate) { return value(rate.value); }
  JsonWriter& null() { return raw("null"); }
  /// null when empty.
  template <typename T>
  JsonWriter& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : null();
  }
  /// An array on one line.
  template <typename T>
  JsonWriter& value(const std::vector<T>& items) {
    begin_array();
    levels_.back().inline_items = true;
    for (const T& item : items) value(item);
    return end_array();
  }

  template <typename T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  /// The finished text, ending in a new line; the writer is empty again.
  [[nodiscard]] std::string take();

 private:
  struct Level {
    char end;
    bool empty = true;
    bool inline_items = false;
  };

  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& raw(std::string_view text);
  void separate();

  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace ppplan
