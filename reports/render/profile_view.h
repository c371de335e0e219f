// A profile in short, for people.
#pragma once

#include "reports/documents/profile.h"
#include "reports/render/table.h"

#include <string>

namespace ppplan::render {

/// One row for each layer kind and shape: forward and backward, alone and with all workers busy,
/// and what is saved in between. Rows whose median is not known as well as asked are marked. Then
/// the links.
std::string profile_view(const Profile& profile, const TableOptions& options);

}  // namespace ppplan::render
