// An estimated profile in short, for people.
#pragma once

#include "reports/documents/profile.h"
#include "reports/render/table.h"

#include <string>

namespace ppplan::render {

/// One row for each layer kind, sharding and recompute option at the smallest micro-batch and the
/// longest sequence, nothing in chunks, samples whole on each device. Then the links and how many
/// rows the profile has in all.
std::string estimate_view(const Profile& profile, const TableOptions& options);

}  // namespace ppplan::render
