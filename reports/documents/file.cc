#include "reports/documents/file.h"

#include "reports/documents/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

namespace ppplan {
namespace {

constexpr int kNoDescriptor = -1;

std::string reason(int code) {
  return std::generic_category().message(code);
}

/// Closes a descriptor it owns.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ > STDERR_FILENO) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

int open_retrying(const std::filesystem::path& path, int flags, mode_t mode = 0) {
  int descriptor = kNoDescriptor;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

[[noreturn]] void fail_reading(const std::filesystem::path& path, const std::string& why,
                               std::string hint = {}) {
  throw Error(Failure::kBadInput, fmt::format("{}: cannot read: {}", path.string(), why),
              std::move(hint));
}

[[noreturn]] void fail_writing(const std::filesystem::path& path, const std::string& why,
                               std::string hint = {}) {
  throw Error(Failure::kRuntime, fmt::format("{}: cannot write: {}", path.string(), why),
              std::move(hint));
}

/// 0, or the error number.
int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// A rename lasts through a crash once its folder is synced. Some file systems cannot: no matter.
void sync_folder(const std::filesystem::path& folder) {
  const Descriptor descriptor(open_retrying(folder, O_RDONLY | O_DIRECTORY));
  if (descriptor.number() >= 0) ::fsync(descriptor.number());
}

}  // namespace

std::string read_file(const std::filesystem::path& path, Bytes limit) {
  const bool standard_input = path == "-";
  const Descriptor descriptor(standard_input ? STDIN_FILENO : open_retrying(path, O_RDONLY));
  if (descriptor.number() < 0) fail_reading(path, reason(errno));
  const auto most = static_cast<std::size_t>(limit.count);
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  std::string content;
  struct stat status {};
  if (::fstat(descriptor.number(), &status) == 0 && S_ISREG(status.st_mode)) {
    content.reserve(std::min(most, static_cast<std::size_t>(status.st_size)) + 1);
  }
  std::string chunk(kChunk, '\0');
  for (;;) {
    const ssize_t got = ::read(descriptor.number(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_reading(path, reason(errno));
    if (got == 0) return content;
    content.append(chunk, 0, static_cast<std::size_t>(got));
    if (content.size() > most)
      fail_reading(path, fmt::format("larger than {}", ppplan::human(limit)),
                   "is this the right file?");
  }
}

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  if (path_.empty()) {
    throw Error(Failure::kBadInput, "the name of the file to write is empty",
                "name a file, or - for standard output");
  }
  if (path_ == "-") {
    descriptor_ = STDOUT_FILENO;
    return;
  }
  std::error_code code;
  const bool link = std::filesystem::is_symlink(std::filesystem::symlink_status(path_, code));
  if (link) path_ = std::filesystem::weakly_canonical(path_, code);
  if (link && code) fail_writing(path_, code.message());
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail_writing(path_, reason(EISDIR), "name a file in it");
  if (exists && !S_ISREG(status.st_mode)) {  // a device or pipe is written, never replaced
    descriptor_ = open_retrying(path_, O_WRONLY);
    if (descriptor_ < 0) fail_writing(path_, reason(errno));
    return;
  }
  const std::filesystem::path folder = path_.parent_path();
  constexpr int kTries = 100;
  for (int attempt = 0; attempt < kTries && descriptor_ < 0; ++attempt) {
    temporary_ = folder / fmt::format(".{}.{}.{}", path_.filename().string(), ::getpid(), attempt);
    descriptor_ = open_retrying(temporary_, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ < 0) {
    const int failure = errno;
    temporary_.clear();
    fail_writing(path_, reason(failure), failure == ENOENT ? "create the folder first" : "");
  }
  if (exists) ::fchmod(descriptor_, status.st_mode & 0777U);
}

OutputFile::~OutputFile() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::commit(std::string_view content) {
  if (const int failure = write_all(descriptor_, content)) fail_writing(path_, reason(failure));
  if (temporary_.empty()) return;
  if (::fsync(descriptor_) != 0) fail_writing(path_, reason(errno));
  if (::close(std::exchange(descriptor_, kNoDescriptor)) != 0) fail_writing(path_, reason(errno));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_writing(path_, reason(errno));
  temporary_.clear();
  sync_folder(path_.has_parent_path() ? path_.parent_path() : std::filesystem::path("."));
}

}  // namespace ppplan
