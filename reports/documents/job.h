// job.yaml: what `ppplan` asks of its workers. The launcher writes it into the output folder, every
// worker reads it, and answers with files beside it (run_report.h, profile.h, RankFailure below).
//
//   ppplan-worker run JOB --rank R [--listen-fd N]      one rank of a run -> rank<R>.yaml
//   ppplan-worker reference JOB                         single process    -> reference.yaml and
//                                                                            reference.safetensors
//   ppplan-worker profile JOB --rank R [--listen-fd N]  rank 0            -> profile.yaml
//   ppplan-worker version                               YAML of versions on standard output
//
// A worker speaks to its parent in lines on standard output: "progress DONE TOTAL TEXT" and
// "note TEXT". A worker that fails writes failure<R>.yaml and exits with the failure's exit code.
#pragma once

#include "reports/documents/model.h"
#include "reports/documents/units.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ppplan {

/// Where and with what a worker computes.
struct WorkerPlacement {
  std::vector<int> cores;  ///< pinned to these; empty: not pinned
  int threads = 1;         ///< intra-op threads
  bool operator==(const WorkerPlacement&) const = default;
};

/// Where ranks meet. Rank 0 serves the store, on a socket it inherits (--listen-fd) or on
/// host:port.
struct Rendezvous {
  std::string host = "127.0.0.1";
  int port = 0;
  Seconds timeout{60};  ///< longest silence of a peer before a rank gives up
  bool operator==(const Rendezvous&) const = default;
};

struct RunJob {
  std::string plan;    ///< path
  std::string output;  ///< folder
  int step_count = 5;  ///< measured
  int warmup_step_count = 2;
  std::uint64_t seed = 0;
  double learning_rate = 3e-4;
  std::string data;                    ///< path of a text file, read as bytes
  std::optional<std::string> weights;  ///< folder of *.safetensors
  bool verify = false;                 ///< compare with reference.safetensors in `output`
  double tolerance = 1e-4;             ///< relative, of loss and of each tensor's gradient
  Rendezvous rendezvous;
  std::vector<WorkerPlacement> workers;  ///< by rank
  WorkerPlacement reference;
  bool operator==(const RunJob&) const = default;
};

struct ProfileJob {
  Model model;
  std::string input_sha256;
  std::string output;  ///< folder
  std::vector<int> micro_batches;
  std::vector<std::int64_t> sequences;
  double target_spread = 0.03;  ///< stop when the median is known this well ...
  Seconds row_budget{3.0};      ///< ... or this much time is spent on a row
  Rendezvous rendezvous;
  std::vector<WorkerPlacement> workers;
  bool operator==(const ProfileJob&) const = default;
};

/// What the single process found, for verification and for the verdict.
struct ReferenceReport {
  double loss = 0.0;  ///< mean over the tokens of the first step's global batch
  std::int64_t token_count = 0;
  Seconds step{0};  ///< forward and backward of the whole batch, no optimizer
  Bytes peak;
  bool operator==(const ReferenceReport&) const = default;
};

/// Why a worker stopped.
struct RankFailure {
  int rank = 0;
  std::string where;  ///< "stage 1, 1B3", "start-up"
  std::string message;
  std::string hint;
  int exit_code = 1;
  double time_s = 0.0;          ///< monotonic clock of the machine
  bool caused_by_peer = false;  ///< a connection broke: another rank failed first
  bool operator==(const RankFailure&) const = default;
};

RunJob load_run_job(const std::filesystem::path& path);
std::string write_run_job(const RunJob& job);
ProfileJob load_profile_job(const std::filesystem::path& path);
std::string write_profile_job(const ProfileJob& job);
ReferenceReport load_reference_report(const std::filesystem::path& path);
std::string write_reference_report(const ReferenceReport& report);
RankFailure load_rank_failure(const std::filesystem::path& path);
/// Bytes that are no UTF-8 become U+FFFD: a failure is never lost to its message.
std::string write_rank_failure(const RankFailure& failure);

}  // namespace ppplan
