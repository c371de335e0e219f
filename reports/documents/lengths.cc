#include "reports/documents/lengths.h"

#include "reports/documents/error.h"
#include "reports/documents/excerpt.h"
#include "reports/documents/node.h"
#include "reports/documents/scalar.h"

#include <fmt/format.h>

#include <algorithm>

namespace ppplan {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kMostColumns = 10'000;

/// One field of a record.
struct Cell {
  std::string text;
  Position position;
};

/// Takes a text of comma-separated values apart, record by record.
class Records {
 public:
  Records(std::string_view text, const std::string& name) : text_(text), name_(name) {
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  /// The next record that is no empty line; empty at the end. Reuses `cells`.
  bool next(std::vector<Cell>& cells) {
    do {
      if (text_.empty()) return false;
      read_record(cells);
    } while (cells.size() == 1 && cells.front().text.empty());
    return true;
  }

  [[noreturn]] void fail(Position position, const std::string& what,
                         const std::string& hint = {}) const {
    throw Error(Failure::kBadInput,
                fmt::format("{}:{}:{}: {}", name_, position.line, position.column, what), hint);
  }

 private:
  void read_record(std::vector<Cell>& cells) {
    cells.clear();
    do {
      if (cells.size() == kMostColumns) {
        fail(position_, fmt::format("expected at most {} columns, found more", kMostColumns));
      }
      cells.push_back({{}, position_});
      if (text_.starts_with('"')) {
        read_quoted(cells.back());
      } else {
        const std::size_t end = std::min(text_.find_first_of(",\r\n"), text_.size());
        cells.back().text = text_.substr(0, end);
        skip(end);
      }
    } while (take(','));
    if (text_.empty() || take('\n')) return;
    if (take('\r')) {
      take('\n');
      return;
    }
    fail(position_, fmt::format("expected a comma or the line's end after quotes, found '{}'",
                                excerpt(text_.substr(0, 1))));
  }

  void read_quoted(Cell& cell) {
    skip(1);
    for (;;) {
      const std::size_t end = text_.find('"');
      if (end == std::string_view::npos) {
        fail(cell.position, "expected closing quotes, found the end of the file");
      }
      cell.text += text_.substr(0, end);
      skip(end + 1);
      if (!text_.starts_with('"')) return;
      cell.text += '"';
      skip(1);
    }
  }

  bool take(char letter) {
    if (!text_.starts_with(letter)) return false;
    skip(1);
    return true;
  }

  /// Moves on; a lone "\r" ends a line as "\n" and "\r\n" do.
  void skip(std::size_t count) {
    for (std::size_t at = 0; at < count; ++at) {
      ++position_.column;
      const bool line_end =
          text_[at] == '\n' ||
          (text_[at] == '\r' && (at + 1 == text_.size() || text_[at + 1] != '\n'));
      if (line_end) position_ = {position_.line + 1, 1};
    }
    text_.remove_prefix(count);
  }

  std::string_view text_;
  const std::string& name_;
  Position position_;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::int64_t length_of(const Records& records, const Cell& cell, const std::string& key,
                       const std::string& hint) {
  const std::optional<std::int64_t> length = to_integer(trimmed(cell.text));
  if (length && *length >= 1 && *length <= kLongestSample) return *length;
  records.fail(cell.position,
               fmt::format("{}: expected a whole number of tokens from 1 to {}, found '{}'", key,
                           kLongestSample, excerpt(cell.text)),
               hint);
}

std::size_t column_index(const Records& records, const std::vector<Cell>& header,
                         const std::string& column) {
  std::vector<std::string> names;
  for (const Cell& cell : header) names.emplace_back(trimmed(cell.text));
  const auto found = std::ranges::find(names, column);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string known;
  for (std::size_t at = 0; at < std::min<std::size_t>(names.size(), 8); ++at) {
    known += (at == 0 ? "" : ", ") + excerpt(names[at]);
  }
  const std::optional<std::string> meant = nearest_word(column, names);
  records.fail(header.front().position,
               fmt::format("expected a column '{}', found {}{}", excerpt(column), known,
                           names.size() > 8 ? ", ..." : ""),
               meant ? fmt::format("did you mean '{}'?", excerpt(*meant)) : "");
}

}  // namespace

std::vector<std::int64_t> read_lengths(std::string_view text, const std::string& name,
                                       const std::optional<std::string>& column) {
  Records records(text, name);
  std::vector<Cell> cells;
  std::size_t at = 0;
  if (column && records.next(cells)) at = column_index(records, cells, *column);
  const std::string key = column ? excerpt(*column) : "length";
  std::vector<std::int64_t> lengths;
  while (records.next(cells)) {
    if (!column && cells.size() > 1) {
      records.fail(cells[1].position, "expected one number a line, found several columns",
                   "choose one by its name: --lengths-column NAME");
    }
    if (at >= cells.size()) {
      records.fail(cells.back().position, fmt::format("{}: expected in column {}, found {} columns",
                                                      key, at + 1, cells.size()));
    }
    if (lengths.size() == kMostSamples) {
      records.fail(cells[at].position,
                   fmt::format("expected at most {} samples, found more", kMostSamples));
    }
    const bool first_line = lengths.empty() && !column;
    lengths.push_back(length_of(records, cells[at], key,
                                first_line ? "a table's column is chosen by its name: "
                                             "--lengths-column NAME"
                                           : ""));
  }
  if (lengths.empty()) {
    throw Error(Failure::kBadInput, fmt::format("{}: expected lengths, found none", name),
                "give the tokens of one sample a line");
  }
  return lengths;
}

}  // namespace ppplan
