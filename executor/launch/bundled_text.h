// The text that `ppplan run` trains on when the user names none: executor/data/calendar.txt,
// compiled in.
#pragma once

#include <string_view>

namespace ppplan::launch {

/// About 70 kB of plain English in ASCII, written for ppplan.
std::string_view bundled_text();

}  // namespace ppplan::launch
