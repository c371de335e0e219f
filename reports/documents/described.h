// Descriptions (mapping.h) of the structs that several documents hold.
#pragma once

#include "reports/documents/mapping.h"
#include "reports/documents/model.h"
#include "reports/documents/profile.h"

#include <string>
#include <vector>

namespace ppplan {

void describe(MappingReader& io, Model& model);
void describe(MappingWriter& io, const Model& model);
/// Programs, layers and ties (model_check.cc).
void validate(const Model& model, const Fields& fields);

void describe(MappingReader& io, Kernels& kernels);
void describe(MappingWriter& io, const Kernels& kernels);

void describe(MappingReader& io, Link& link);
void describe(MappingWriter& io, const Link& link);
/// Throws when transfers over it would take for ever.
void check_bandwidth(const Link& link, const Fields& fields);

/// The words of Origin, Recompute, DataSharding and DeviceOrder, by value.
const std::vector<std::string>& origin_words();
const std::vector<std::string>& recompute_words();
const std::vector<std::string>& sharding_words();
const std::vector<std::string>& order_words();

/// Names of a model's layer kinds, by index.
std::vector<std::string> kind_names(const Model& model);

}  // namespace ppplan
