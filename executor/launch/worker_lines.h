// What workers say on standard output while they work, passed on to whoever watches.
#pragma once

#include "reports/progress.h"

#include <set>
#include <string>
#include <string_view>

namespace ppplan::launch {

/// Understands the lines of job.h, "progress DONE TOTAL TEXT" and "note TEXT"; other lines (of
/// libraries) are passed over.
class WorkerLines {
 public:
  explicit WorkerLines(Progress& progress) : progress_(progress) {}

  /// Progress is rank 0's: the ranks of a pipeline move together. A note is shown once, whoever
  /// says it, and no more than 50 are.
  void receive(int rank, std::string_view line);

 private:
  Progress& progress_;
  std::set<std::string, std::less<>> notes_;
};

}  // namespace ppplan::launch
