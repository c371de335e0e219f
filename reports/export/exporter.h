// Exporters turn a plan into what another trainer reads: one file for each trainer, one row in the
// table.
#pragma once

#include "reports/documents/plan.h"

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ppplan::exports {

struct ExportedFile {
  std::string name;  ///< inside the output folder
  std::string content;
};

/// The trainer has no words for this plan. `reason` says what it cannot express; `nearest` names
/// the constraints under which the planner finds the nearest plan that it can.
struct Inexpressible {
  std::string reason;
  std::string nearest;
};

using Export = std::variant<std::vector<ExportedFile>, Inexpressible>;

struct Exporter {
  std::string_view name;     ///< as `--to` takes it
  std::string_view summary;  ///< what is written, in a few words
  /// Throws Error(kBadInput) for a plan that contradicts itself (`part_modules`,
  /// `planned_schedule`).
  Export (*write)(const Plan& plan);
};

/// All trainers, in the order they are listed to people.
std::span<const Exporter> exporters();

/// The exporter of that name. Throws Error(kBadInput) with the nearest name, and lists all.
const Exporter& find_exporter(std::string_view name);

/// The modules of each stage, in order, by the names they have in the Hugging Face model:
/// "model.layers.7" for a block, one name a parameter-holding module ("model.norm", "lm_head") for
/// an embedding or a head. Throws Error(kBadInput) unless the stages hold every layer once and in
/// order, and these modules every parameter of the model. O(parameters).
std::vector<std::vector<std::string>> part_modules(const Plan& plan);

}  // namespace ppplan::exports
