// Shows the best plans of several numbers of devices beside each other.
#pragma once

#include "reports/documents/plan.h"
#include "reports/render/table.h"

#include <optional>
#include <string>
#include <vector>

namespace ppplan::render {

/// The best plan of a number of devices, or why there is none.
struct SweepPoint {
  int device_count = 0;  ///< that were offered; a plan may use fewer
  std::string why_not;   ///< empty where there is a plan
  Rival plan;
  std::string schedule;
  double mfu = 0.0;  ///< 0: not known
  bool worth_it = false;
  std::optional<Rival> other;  ///< the fastest way without a pipeline that fits
};

struct SweepView {
  std::string model;
  std::int64_t global_batch = 0;
  std::int64_t sequence = 0;
  std::vector<SweepPoint> points;  ///< by rising number of devices
  std::optional<double> price;     ///< dollars of one device for an hour
};

/// Two tables of a row a number of devices: what is best, and what it gives. Not wider than
/// options.width where that is at least 100.
std::string sweep_text(const SweepView& view, const TableOptions& options = {});

/// One object with an array `points`.
std::string sweep_json(const SweepView& view);

}  // namespace ppplan::render
