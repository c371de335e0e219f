// Random documents that are valid, for round trips and as seeds of mutation.
#pragma once

#include "reports/documents/device_sheet.h"
#include "reports/documents/job.h"
#include "reports/documents/model.h"
#include "reports/documents/plan.h"
#include "reports/documents/profile.h"
#include "reports/documents/run_report.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace ppplan::test {

/// Draws documents; the same seed gives the same ones.
class RandomDocuments {
 public:
  explicit RandomDocuments(std::uint64_t seed) : engine_(seed) {}

  Model model();
  Profile profile();
  Plan plan();
  DeviceSheet device_sheet();
  RankReport rank_report();
  RunReport run_report();
  RunJob run_job();
  ProfileJob profile_job();
  ReferenceReport reference_report();
  RankFailure rank_failure();

  /// Any valid UTF-8, control characters and YAML's special characters and words among it.
  std::string text();
  /// Any finite double of at least 0 and below 1e12, with all bits of its fraction in use.
  double number();
  std::int64_t integer(std::int64_t least, std::int64_t most);
  bool coin() { return integer(0, 1) == 1; }

 private:
  int small(int least, int most) { return static_cast<int>(integer(least, most)); }
  Seconds seconds() { return Seconds(number()); }
  Bytes bytes() { return Bytes{integer(0, std::int64_t{1} << 53)}; }
  std::vector<double> numbers();
  Timing timing();
  Link link();
  LinkSheet link_sheet();
  Sharding sharding();
  Batching batching(int rank_count);
  Kernels kernels();
  GradientCheck gradient_check();
  WorkerPlacement placement();
  Rendezvous rendezvous();
  LayerKind block(const std::string& name, std::int64_t hidden);
  LayerKind gpt_block(const std::string& name, std::int64_t hidden);

  std::mt19937_64 engine_;
};

}  // namespace ppplan::test
