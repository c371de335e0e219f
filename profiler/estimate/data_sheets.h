// Data sheets of accelerators by name, so that a plan can be made for a machine one does not have.
#pragma once

#include "reports/documents/device_sheet.h"

#include <string>
#include <vector>

namespace ppplan::profiler {

/// Names that find_data_sheet knows, in alphabetical order.
std::vector<std::string> data_sheet_names();

/// The sheet of that name; otherwise the device.yaml at that path. Throws Error(kBadInput) as
/// load_device_sheet does, and when it is neither a known name nor a file.
DeviceSheet find_data_sheet(const std::string& name_or_path);

}  // namespace ppplan::profiler
