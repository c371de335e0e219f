// The NVIDIA devices of this machine and whether their driver can be used, without linking CUDA.
#pragma once

#include "reports/documents/units.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ppplan::profiler {

struct Gpu {
  std::string name;
  std::string uuid;
  Bytes memory;
};

struct GpuFacts {
  int pci_device_count = 0;            ///< NVIDIA display and compute devices on the PCI bus
  std::optional<std::string> driver;   ///< version, "580.65.06"
  std::optional<std::string> cuda;     ///< newest CUDA the driver serves, "13.0"
  std::vector<Gpu> gpus;               ///< that the driver lets us use
  std::optional<std::string> problem;  ///< why the driver cannot be asked
};

/// Asks the NVIDIA management library, loaded by that name at run time, and looks for devices under
/// <root>/sys/bus/pci/devices. Never throws; changes nothing on the devices.
GpuFacts read_gpus(const std::string& library = "libnvidia-ml.so.1",
                   const std::filesystem::path& root = "/");

/// Whether CUPTI may read a GPU's counters. `admin_only` is the driver's option NVreg_Restrict-
/// ProfilingToAdminUsers; empty without a driver.
struct CounterPermission {
  std::optional<bool> admin_only;
  bool system_administrator = false;  ///< this process has CAP_SYS_ADMIN
};

/// Reads <root>/proc/driver/nvidia/params and <root>/proc/self/status.
CounterPermission read_counter_permission(const std::filesystem::path& root = "/");

}  // namespace ppplan::profiler
