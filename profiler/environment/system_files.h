// Small files in which the kernel describes a machine. Every reader takes the root of the file
// system, so that tests can describe another machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ppplan::profiler {

/// The first 64 KiB of a file; empty when it cannot be read. Never blocks on a file of /proc or
/// /sys.
std::optional<std::string> read_system_file(const std::filesystem::path& path);

/// The number that a text starts with, blanks before it passed over; empty when there is none or it
/// does not fit.
std::optional<std::int64_t> leading_number(std::string_view text);

/// What follows "key" in the first line that starts with it ("MemTotal:" -> "  24117248 kB").
std::optional<std::string> value_of(const std::string& text, std::string_view key);

}  // namespace ppplan::profiler
