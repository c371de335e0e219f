// One line on a terminal that says how far long work is and how long it will still take.
#pragma once

#include "reports/documents/units.h"
#include "reports/progress.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ppplan::cli {

/// What one drawing of the bar shows.
struct BarState {
  std::string what;
  std::string detail;
  double fraction = 0.0;             ///< 0 to 1
  std::optional<Seconds> remaining;  ///< empty while it cannot be told
};

/// "profile [=====>    ]  52 %, 0:31 left, block 2 x 128", at most `columns` wide (longer text is
/// cut, never within a UTF-8 sequence). Control characters are shown as '?'. O(columns).
std::string bar_line(const BarState& state, int columns);

struct ProgressBarOptions {
  int descriptor = 2;
  bool terminal = false;         ///< draw the bar; else only notes are written
  std::function<Seconds()> now;  ///< a monotonic clock
  std::function<int()> columns;  ///< of the terminal, asked at each drawing
  Seconds redraw_interval{0.1};
};

/// Draws over itself at most once an interval and leaves no trace when it is finished or destroyed.
/// A descriptor that cannot be written is not an error: the work goes on unwatched.
class ProgressBar final : public Progress {
 public:
  explicit ProgressBar(ProgressBarOptions options);
  ~ProgressBar() override;
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void start(std::string_view what, double total) override;
  void advance(double done, double total, std::string_view detail) override;
  void finish() override;
  void note(std::string_view line) override;

 private:
  void draw();
  void clear();
  void write(std::string_view text) const;

  ProgressBarOptions options_;
  BarState state_;
  bool running_ = false;
  bool drawn_ = false;
  Seconds started_{0};
  Seconds last_drawing_{0};
};

}  // namespace ppplan::cli
