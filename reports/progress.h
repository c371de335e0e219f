// Progress: how long work says how far it is. Rooms call it; only cli/ decides how it is shown.
#pragma once

#include <string_view>

namespace ppplan {

/// Receiver of progress. The base class ignores everything and serves where nobody watches.
class Progress {
 public:
  virtual ~Progress() = default;

  /// Work of this name begins; `total` is in units of the caller's choice and may be revised.
  virtual void start(std::string_view /*what*/, double /*total*/) {}
  /// `done` of `total` units are through.
  virtual void advance(double /*done*/, double /*total*/, std::string_view /*detail*/) {}
  virtual void finish() {}
  /// A line the user should see once, now ("warning: ...").
  virtual void note(std::string_view /*line*/) {}
};

}  // namespace ppplan
