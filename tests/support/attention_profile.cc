#include "tests/support/attention_profile.h"

#include "tests/support/synthetic_profile.h"

#include <cstddef>

namespace ppplan::testing {
namespace {

Timing timing(double seconds) {
  return {.median = Seconds(seconds), .spread = 0.01, .repeats = 10};
}

/// `weight`: of the layer in blocks.
void set_costs(Measurement& row, double weight) {
  const auto length = static_cast<double>(row.sequence);
  const double forward_s = weight * block_forward_s(row.micro_batch, length);
  row.forward = timing(forward_s);
  row.backward = timing(2.0 * forward_s);
  row.backward_input = timing(1.1 * forward_s);
  row.backward_weight = timing(forward_s);
  const std::int64_t tokens = row.micro_batch * row.sequence;
  row.saved = Bytes{70'000 * tokens};
  row.forward_peak = Bytes{90'000 * tokens};
  row.backward_peak = Bytes{30'000 * tokens};
  row.weight_pending = Bytes{10'000 * tokens};
  row.output = Bytes{4'096 * tokens};
}

}  // namespace

double block_forward_s(double samples, double length) {
  return 4e-5 + 6.7e-7 * samples * length + 5.5e-11 * samples * length * length;
}

void set_attention_costs(Profile& profile) {
  for (Measurement& row : profile.measurements) {
    switch (profile.model.kinds[static_cast<std::size_t>(row.kind)].role) {
      case LayerRole::kEmbedding:
        set_costs(row, 0.05);
        break;
      case LayerRole::kHead:
        set_costs(row, 2.0);
        break;
      default:
        set_costs(row, 1.0);
    }
  }
}

Profile attention_profile(const AttentionOptions& options) {
  Profile profile = synthetic_profile(transformer_layers(options.block_count),
                                      {.device_count = options.device_count,
                                       .device_memory = options.device_memory,
                                       .micro_batches = options.micro_batches,
                                       .sequences = options.sequences,
                                       .latency_s = 1e-5,
                                       .bytes_per_s = 2e10,
                                       .call_overhead_s = 2e-5,
                                       .step_overhead_s = 1e-3});
  std::erase_if(profile.measurements, [&](const Measurement& row) {
    return row.micro_batch * row.sequence > options.most_tokens;
  });
  set_attention_costs(profile);
  return profile;
}

}  // namespace ppplan::testing
