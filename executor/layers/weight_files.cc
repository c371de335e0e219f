#include "executor/layers/weight_files.h"

#include "reports/documents/error.h"
#include "reports/documents/node.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <system_error>

namespace ppplan::executor {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLengthBytes = 8;
constexpr std::int64_t kHeaderLimit = 100'000'000;  // the format's own

struct ElementType {
  const char* name;
  at::ScalarType type;
};
constexpr ElementType kTypes[] = {
    {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf}, {"BF16", at::kBFloat16}};

const ElementType* element_type(const std::string& name) {
  for (const ElementType& type : kTypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

std::string show(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text += ',';
    text += std::to_string(size);
  }
  text += ']';
  return text;
}

/// Elements of a shape times element size, or an empty optional beyond 63 bits.
std::optional<std::int64_t> byte_count(const std::vector<std::int64_t>& shape, std::int64_t size) {
  std::int64_t total = size;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(total, extent, &total)) return std::nullopt;
  }
  return total;
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& place) : place_(place) {
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_directory(place, error)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(place, error)) {
      if (entry.path().extension() == ".safetensors" && entry.is_regular_file(error)) {
        files.push_back(entry.path());
      }
    }
  } else if (fs::is_regular_file(place, error)) {
    files.push_back(place);
  }
  if (files.empty()) {
    throw Error(Failure::kBadInput, place.string() + ": no *.safetensors file there",
                "give the folder of a model's weights; pickled *.bin and *.pt files are not read");
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) add_file(file);
}

void WeightFiles::add_file(const fs::path& file) {
  const auto fail = [&](const std::string& what) {
    throw Error(Failure::kBadInput, file.string() + ": " + what,
                "the file is damaged or no safetensors file; fetch it again");
  };
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) fail("cannot be read");
  const auto size = static_cast<std::int64_t>(stream.tellg());
  stream.seekg(0);
  std::uint64_t length = 0;
  if (size < kLengthBytes || !stream.read(reinterpret_cast<char*>(&length), kLengthBytes)) {
    fail("expected 8 bytes of header length, found " + std::to_string(size));
  }
  if (length > static_cast<std::uint64_t>(std::min(kHeaderLimit, size - kLengthBytes))) {
    fail("header length " + std::to_string(length) + " exceeds the file or 100 MB");
  }
  std::string header(length, '\0');
  if (!stream.read(header.data(), static_cast<std::streamsize>(length))) fail("cannot be read");
  const std::int64_t data_start = kLengthBytes + static_cast<std::int64_t>(length);

  const ParsedFile parsed = parse_json(header, file.string());
  const Fields root(parsed, parsed.root);
  for (const std::string& name : root.keys()) {
    if (name == "__metadata__") continue;
    const Fields fields = root.map(name);
    Entry entry{file, fields.text("dtype"), fields.integers("shape"), 0, 0};
    const std::vector<std::int64_t> span = fields.integers("data_offsets");
    if (span.size() != 2 || span[0] > span[1] || span[1] > size - data_start) {
      fields.fail("data_offsets", "expected two places within the file's " +
                                      std::to_string(size - data_start) + " data bytes");
    }
    const ElementType* const type = element_type(entry.type);
    if (type != nullptr &&
        byte_count(entry.shape, static_cast<std::int64_t>(at::elementSize(type->type))) !=
            span[1] - span[0]) {
      fields.fail("data_offsets", "expected the bytes of shape " + show(entry.shape) + " " +
                                      entry.type + ", found " + std::to_string(span[1] - span[0]));
    }
    entry.begin = data_start + span[0];
    entry.end = data_start + span[1];
    entries_[name] = std::move(entry);
  }
}

const WeightFiles::Entry* WeightFiles::find(const std::string& name) const {
  auto found = entries_.find(name);
  if (found == entries_.end()) {
    for (const std::string prefix : {"transformer.", "model."}) {
      if (name.starts_with(prefix)) found = entries_.find(name.substr(prefix.size()));
    }
  }
  return found == entries_.end() ? nullptr : &found->second;
}

void WeightFiles::read_into(const std::string& name, const at::Tensor& value) const {
  const Entry* const entry = find(name);
  if (entry == nullptr) {
    throw Error(Failure::kBadInput, place_.string() + ": tensor '" + name + "' is missing",
                "are these the weights of this model?");
  }
  if (entry->shape != value.sizes().vec()) {
    throw Error(Failure::kBadInput,
                entry->file.string() + ": " + name + ": expected shape " +
                    show(value.sizes().vec()) + ", found " + show(entry->shape),
                "are these the weights of this model?");
  }
  const ElementType* const type = element_type(entry->type);
  if (type == nullptr) {
    throw Error(Failure::kBadInput, entry->file.string() + ": " + name +
                                        ": expected F64, F32, F16 or BF16, found " + entry->type);
  }
  at::Tensor stored = at::empty(entry->shape, at::TensorOptions(type->type));
  std::ifstream stream(entry->file, std::ios::binary);
  stream.seekg(entry->begin);
  if (!stream.read(static_cast<char*>(stored.mutable_data_ptr()), entry->end - entry->begin)) {
    throw Error(Failure::kBadInput, entry->file.string() + ": " + name + ": cannot be read");
  }
  value.copy_(stored);
}

void write_safetensors(const fs::path& file, const std::map<std::string, at::Tensor>& tensors) {
  std::string header = "{";
  std::int64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::int64_t size = static_cast<std::int64_t>(tensor.nbytes());
    header += (header.size() > 1 ? ",\"" : "\"") + name + "\":{\"dtype\":\"" +
              (tensor.scalar_type() == at::kDouble ? "F64" : "F32") +
              "\",\"shape\":" + show(tensor.sizes().vec()) + ",\"data_offsets\":[" +
              std::to_string(offset) + "," + std::to_string(offset + size) + "]}";
    offset += size;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // data starts aligned
  const fs::path temporary = file.string() + ".part";
  {
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    const std::uint64_t length = header.size();
    stream.write(reinterpret_cast<const char*>(&length), kLengthBytes);
    stream.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (const auto& [name, tensor] : tensors) {
      const at::Tensor plain = tensor.contiguous();
      stream.write(static_cast<const char*>(plain.const_data_ptr()),
                   static_cast<std::streamsize>(plain.nbytes()));
    }
    stream.flush();
    if (!stream) {
      std::error_code ignored;
      fs::remove(temporary, ignored);
      throw Error(Failure::kRuntime, file.string() + ": cannot be written: " + std::strerror(errno),
                  "is the disk full?");
    }
  }
  fs::rename(temporary, file);
}

}  // namespace ppplan::executor
