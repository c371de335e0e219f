#include "reports/documents/units.h"

#include <fmt/format.h>

namespace ppplan {

std::string human(Seconds time) {
  const double s = time.count();
  if (s < 1e-3) return fmt::format("{:.1f} us", s * 1e6);
  if (s < 1.0) return fmt::format("{:.1f} ms", s * 1e3);
  return fmt::format("{:.2f} s", s);
}

std::string human(Bytes size) {
  const auto n = static_cast<double>(size.count);
  if (n < 1024.0) return fmt::format("{} B", size.count);
  if (n < 1024.0 * 1024.0) return fmt::format("{:.1f} KiB", n / 1024.0);
  if (n < 1024.0 * 1024.0 * 1024.0) return fmt::format("{:.1f} MiB", n / (1024.0 * 1024.0));
  return fmt::format("{:.2f} GiB", n / (1024.0 * 1024.0 * 1024.0));
}

}  // namespace ppplan
