// Files are read whole within a stated limit and written whole or not at all.
#pragma once

#include "reports/documents/units.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace ppplan {

/// The largest document ppplan reads.
inline constexpr Bytes kDocumentLimit{256LL << 20};

/// The whole content of a regular file, pipe or "-" (standard input). Throws Error(kBadInput), with
/// the system's reason, when it cannot be read or holds more than `limit`.
std::string read_file(const std::filesystem::path& path, Bytes limit = kDocumentLimit);

/// A file that appears under its name only when `commit` is called; destroyed before, nothing
/// stays. The constructor already creates the temporary neighbour, so that an unwritable place is
/// known before slow work starts. "-" is standard output. Throws Error(kRuntime).
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Writes `content` in full, syncs it and renames it into place.
  void commit(std::string_view content);

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

/// Lower-case hexadecimal SHA-256 (FIPS 180-4) of a text.
std::string sha256(std::string_view content);

}  // namespace ppplan
