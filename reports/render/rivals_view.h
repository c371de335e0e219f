// Shows a plan beside the other ways to train the model on its devices.
#pragma once

#include "reports/documents/json_writer.h"
#include "reports/documents/plan.h"
#include "reports/render/table.h"

#include <optional>
#include <string>

namespace ppplan::render {

struct RivalsView {
  const Plan* plan = nullptr;
  Rival own;                    ///< the plan as one of the ways
  std::optional<double> price;  ///< dollars of one device for an hour
};

/// Dollars that a billion tokens cost. Precondition: tokens_per_s > 0.
double cost_per_billion_tokens(double price, int device_count, double tokens_per_s);

/// "pipeline 4, tensor 8, data 2, optimizer sharded" -> "pp4 tp8 dp2 zero-1".
std::string short_layout(const std::string& layout);
/// What the short words mean, in a line.
std::string short_layout_legend();

/// A table, the plan first; not wider than options.width where that is at least 100. Empty where
/// there is no rival.
std::string rivals_text(const RivalsView& view, const TableOptions& options = {});

/// An array of objects, the plan first.
void write_rivals(JsonWriter& json, const RivalsView& view);

}  // namespace ppplan::render
