#include "profiler/models/load.h"

#include "profiler/models/config.h"
#include "profiler/models/families/families.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ppplan::profiler {
namespace {

/// Published configurations are a few kilobytes; label lists make some reach a megabyte.
constexpr Bytes kConfigLimit{16LL << 20};

std::string family_list() {
  return fmt::format("{}", fmt::join(supported_families(), ", "));
}

const Family* find_family(std::string_view model_type) {
  for (const Family& family : families()) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

std::string text_or_empty(const Fields& fields, std::string_view key) {
  return fields.has(key) ? fields.text(key) : std::string();
}

std::vector<std::string> architectures(const Fields& fields) {
  return fields.has("architectures") ? fields.texts("architectures") : std::vector<std::string>();
}

/// The language model's part: multimodal configurations nest it.
Fields language_section(const Fields& top, std::vector<std::string>& warnings) {
  constexpr std::array<std::string_view, 3> kNested{"text_config", "llm_config", "language_config"};
  const std::string outer = text_or_empty(top, "model_type");
  if (find_family(outer) != nullptr) return top;
  for (const std::string_view key : kNested) {
    if (!top.has(key)) continue;
    warnings.push_back(top.where(key) + fmt::format("only this part of the {} model is read",
                                                    outer.empty() ? "surrounding" : outer));
    return top.map(key);
  }
  return top;
}

/// Contradictions that are wrong in every family, also in those we do not support.
void check_consistency(const Fields& fields) {
  if (fields.has("num_hidden_layers")) {
    read_layer_types(fields, fields.integer("num_hidden_layers", {1, kMostLayers}));
  }
  constexpr std::array<std::string_view, 2> kChosen{"num_experts_per_tok", "experts_per_token"};
  constexpr std::array<std::string_view, 3> kExperts{"num_local_experts", "num_experts",
                                                     "n_routed_experts"};
  for (const std::string_view chosen_key : kChosen) {
    for (const std::string_view expert_key : kExperts) {
      if (!fields.has(chosen_key) || !fields.has(expert_key)) continue;
      const std::int64_t chosen = fields.integer(chosen_key);
      const std::int64_t expert_count = fields.integer(expert_key);
      if (chosen <= expert_count) continue;
      fields.fail(chosen_key, fmt::format("expected at most the {} experts of {}, found {}",
                                          expert_count, expert_key, chosen));
    }
  }
}

/// Refuses what changes the number of parameters and no family here has: read without it, the
/// counts would be wrong in silence. Zero and null say that the model has none of it either.
void refuse_unknown_parts(const Fields& fields, std::string_view family) {
  struct Part {
    std::string_view key;
    std::string_view name;
  };
  constexpr std::string_view kExperts = "experts";
  constexpr std::string_view kLowRank = "low-rank attention projections";
  constexpr std::array<Part, 10> kParts{{{"num_local_experts", kExperts},
                                         {"num_experts", kExperts},
                                         {"n_routed_experts", kExperts},
                                         {"n_shared_experts", kExperts},
                                         {"moe_num_experts", kExperts},
                                         {"moe_intermediate_size", kExperts},
                                         {"shared_expert_intermediate_size", kExperts},
                                         {"expert_intermediate_size", kExperts},
                                         {"q_lora_rank", kLowRank},
                                         {"kv_lora_rank", kLowRank}}};
  for (const Part& part : kParts) {
    if (!fields.has(part.key) || fields.integer(part.key, {0, kLargestDimension}) == 0) continue;
    fields.fail(
        part.key,
        fmt::format("the family {} has no {}: counts would leave them out", family, part.name),
        "ppplan plans dense models; remove the key only if the model does not have them");
  }
}

[[noreturn]] void refuse_family(const Fields& fields, const std::string& model_type) {
  const std::string what =
      fmt::format("family {} is not supported; supported are {}", model_type, family_list());
  for (const std::string& architecture : architectures(fields)) {
    for (const Family& family : families()) {
      if (family.architecture != architecture) continue;
      fields.fail("model_type", what,
                  fmt::format("its architecture, {}, is that of {}: add --assume {}", architecture,
                              family.model_type, family.model_type));
    }
  }
  const std::optional<std::string> near = nearest_word(model_type, supported_families());
  fields.fail("model_type", what,
              near ? fmt::format("if it is laid out exactly like {}, add --assume {}", *near, *near)
                   : "if it is laid out exactly like one of these, add --assume FAMILY");
}

const Family& choose_family(const Fields& fields, const std::string& name,
                            const std::optional<std::string>& assumed) {
  if (assumed) {
    if (const Family* family = find_family(*assumed)) return *family;
    throw Error(Failure::kBadInput,
                fmt::format("--assume: expected one of {}, found {}", family_list(), *assumed));
  }
  if (!fields.has("model_type")) {
    if (!fields.has("architectures")) {
      throw Error(
          Failure::kBadInput,
          name + ": this is no model configuration: it has neither model_type nor architectures",
          "give the config.json of a Hugging Face model, or its folder");
    }
    fields.fail("model_type", fmt::format("expected one of {}, found nothing", family_list()),
                "add --assume FAMILY");
  }
  const std::string model_type = fields.text("model_type");
  if (const Family* family = find_family(model_type)) return *family;
  refuse_family(fields, model_type);
}

/// Keeps the first blocks and drops kinds that no layer has any more.
void cut_blocks(Model& model, int block_count) {
  const auto is_block = [&](const Layer& layer) {
    return model.kinds[static_cast<std::size_t>(layer.kind)].role == LayerRole::kBlock;
  };
  const auto available = std::count_if(model.layers.begin(), model.layers.end(), is_block);
  if (block_count < 1 || block_count > available) {
    throw Error(Failure::kBadInput,
                fmt::format("--layers: expected 1 to {}, the blocks of {}, found {}", available,
                            model.name, block_count));
  }
  int seen = 0;
  std::erase_if(model.layers,
                [&](const Layer& layer) { return is_block(layer) && ++seen > block_count; });
  std::vector<LayerKind> kept;
  std::vector<int> moved(model.kinds.size(), -1);
  for (Layer& layer : model.layers) {
    int& target = moved[static_cast<std::size_t>(layer.kind)];
    if (target < 0) {
      target = static_cast<int>(kept.size());
      kept.push_back(std::move(model.kinds[static_cast<std::size_t>(layer.kind)]));
    }
    layer.kind = target;
  }
  model.kinds = std::move(kept);
}

std::string model_name(const std::filesystem::path& file) {
  if (file == "-") return "stdin";
  if (file.filename() != "config.json") return file.stem().string();
  std::error_code ignored;
  return std::filesystem::absolute(file, ignored)
      .lexically_normal()
      .parent_path()
      .filename()
      .string();
}

}  // namespace

LoadedModel read_model_config(std::string_view text, const std::string& name,
                              std::string model_name, const LoadOptions& options) {
  const ParsedFile file = parse_json(text, name);
  LoadedModel loaded{.model = {}, .warnings = file.warnings, .sha256 = sha256(text)};
  const Fields section = language_section(Fields(file, file.root), loaded.warnings);
  check_consistency(section);
  const Family& family = choose_family(section, name, options.assume_family);
  const std::vector<std::string> found = architectures(section);
  if (!found.empty() && std::find(found.begin(), found.end(), family.architecture) == found.end()) {
    loaded.warnings.push_back(section.where("architectures") +
                              fmt::format("{} is read as {}: counts follow {} and may be wrong",
                                          found.front(), family.architecture, family.model_type));
  } else if (const std::string own = text_or_empty(section, "model_type");
             !own.empty() && own != family.model_type) {
    loaded.warnings.push_back(section.where("model_type") +
                              fmt::format("{} is read as {}: counts follow {} and may be wrong",
                                          own, family.model_type, family.model_type));
  }
  refuse_unknown_parts(section, family.model_type);
  loaded.model = family.describe(Config(section, loaded.warnings));
  loaded.model.name = std::move(model_name);
  loaded.model.family = family.model_type;
  if (options.layer_count) cut_blocks(loaded.model, *options.layer_count);
  static_cast<void>(parameter_count(loaded.model));  // throws when the model is beyond counting
  return loaded;
}

LoadedModel load_model(const std::filesystem::path& path, const LoadOptions& options) {
  std::filesystem::path file = path;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) file /= "config.json";
  return read_model_config(read_file(file, kConfigLimit), file.string(), model_name(file), options);
}

std::vector<std::string> supported_families() {
  std::vector<std::string> names;
  for (const Family& family : families()) names.emplace_back(family.model_type);
  return names;
}

}  // namespace ppplan::profiler
