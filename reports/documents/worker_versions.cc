#include "reports/documents/worker_versions.h"

#include "reports/documents/error.h"
#include "reports/documents/node.h"

#include <fmt/format.h>

namespace ppplan {
namespace {

constexpr std::string_view kSchema = "ppplan.versions/1";

/// A YAML double-quoted scalar.
std::string double_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      result += '\\';
      result += letter;
    } else if (code < 0x20 || code == 0x7f) {
      result += fmt::format("\\x{:02x}", code);
    } else {
      result += letter;
    }
  }
  return result + "\"";
}

std::string line(std::string_view key, const std::optional<std::string>& value) {
  return value ? fmt::format("{}: {}\n", key, double_quoted(*value)) : std::string{};
}

std::optional<std::string> optional_text(const Fields& fields, std::string_view key) {
  return fields.has(key) ? std::optional(fields.text(key)) : std::nullopt;
}

}  // namespace

WorkerVersions read_worker_versions(std::string_view text, const std::string& name) {
  const ParsedFile file = parse_yaml(text, name);
  const Fields fields(file, file.root);
  if (fields.text("schema") != kSchema) {
    fields.fail("schema", fmt::format("expected {}, found {}", kSchema, fields.text("schema")),
                "build ppplan and ppplan-worker from the same sources");
  }
  WorkerVersions versions;
  versions.tool_version = fields.text("tool_version");
  versions.torch = fields.text("torch");
  versions.cuda_runtime = optional_text(fields, "cuda_runtime");
  versions.nccl = optional_text(fields, "nccl");
  versions.cupti = optional_text(fields, "cupti");
  versions.cuda_device_count = fields.count("cuda_device_count");
  versions.cuda_error = optional_text(fields, "cuda_error");
  const Fields kernels = fields.map("kernels");
  versions.kernels = {.torch = kernels.text("torch"),
                      .attention = kernels.text("attention"),
                      .blas = kernels.text("blas"),
                      .precision = kernels.text("precision"),
                      .threads = kernels.count("threads"),
                      .pinned = kernels.boolean("pinned")};
  kernels.done();
  fields.done();
  return versions;
}

std::string write_worker_versions(const WorkerVersions& versions) {
  const Kernels& kernels = versions.kernels;
  return fmt::format("schema: {}\n", kSchema) + line("tool_version", versions.tool_version) +
         line("torch", versions.torch) + line("cuda_runtime", versions.cuda_runtime) +
         line("nccl", versions.nccl) + line("cupti", versions.cupti) +
         fmt::format("cuda_device_count: {}\n", versions.cuda_device_count) +
         line("cuda_error", versions.cuda_error) + "kernels:\n  " + line("torch", kernels.torch) +
         "  " + line("attention", kernels.attention) + "  " + line("blas", kernels.blas) + "  " +
         line("precision", kernels.precision) +
         fmt::format("  threads: {}\n  pinned: {}\n", kernels.threads, kernels.pinned);
}

}  // namespace ppplan
