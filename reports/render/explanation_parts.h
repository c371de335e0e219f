// The parts of a step's time by name: for tables, JSON, and what a loser lost by.
#pragma once

#include "reports/documents/explanation.h"

#include <string>
#include <string_view>
#include <vector>

namespace ppplan::render {

struct NamedTime {
  std::string words;     ///< "filling the pipeline"
  std::string_view key;  ///< of JSON: "fill_s"
  Seconds time{0};
};

/// In the order of the struct.
std::vector<NamedTime> parts_of(const StepParts& parts);
std::vector<NamedTime> parts_of(const CriticalPath& path);

/// The part of `loser` that is most above that of `winner`, with the difference.
NamedTime greatest_difference(const StepParts& loser, const StepParts& winner);

/// "recompute, because memory is short"
std::string obstacle_in_words(Obstacle obstacle);
/// "memory"
std::string_view obstacle_key(Obstacle obstacle);

}  // namespace ppplan::render
