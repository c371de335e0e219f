#include "reports/documents/job.h"

#include "reports/documents/described.h"
#include "reports/documents/excerpt.h"
#include "reports/documents/file.h"
#include "reports/documents/mapping.h"

namespace ppplan {
namespace {

constexpr Schema kRunSchema = {"run_job", 1};
constexpr Schema kProfileSchema = {"profile_job", 1};
constexpr Schema kReferenceSchema = {"reference_report", 1};
constexpr Schema kFailureSchema = {"rank_failure", 1};
constexpr IntegerRange kCore = {0, 1'000'000};
constexpr IntegerRange kThreads = {1, 65'536};
constexpr IntegerRange kPort = {0, 65'535};
constexpr IntegerRange kSteps = {0, 1'000'000'000};
constexpr IntegerRange kSize = {1, 1'000'000'000};
constexpr IntegerRange kExitCode = {0, 255};

}  // namespace

template <typename Io>
void describe(Io& io, Like<WorkerPlacement> auto& placement) {
  io("cores", placement.cores, kCore);
  io("threads", placement.threads, kThreads);
}

template <typename Io>
void describe(Io& io, Like<Rendezvous> auto& rendezvous) {
  io("host", rendezvous.host);
  io("port", rendezvous.port, kPort);
  io("timeout_s", rendezvous.timeout);
}

template <typename Io>
void describe(Io& io, Like<RunJob> auto& job) {
  io.tool_version();
  io("plan", job.plan);
  io("output", job.output);
  io("step_count", job.step_count, kSteps);
  io("warmup_step_count", job.warmup_step_count, kSteps);
  io("seed", job.seed);
  io("learning_rate", job.learning_rate);
  io("data", job.data);
  io.optional("weights", job.weights);
  io("verify", job.verify);
  io("tolerance", job.tolerance);
  io.row("rendezvous", job.rendezvous);
  io.rows("workers", job.workers);
  io.row("reference", job.reference);
}

template <typename Io>
void describe(Io& io, Like<ProfileJob> auto& job) {
  io.tool_version();
  io("input_sha256", job.input_sha256);
  io("output", job.output);
  io("micro_batches", job.micro_batches, kSize);
  io("sequences", job.sequences, kSize);
  io("target_spread", job.target_spread);
  io("row_budget_s", job.row_budget);
  io.row("rendezvous", job.rendezvous);
  io.rows("workers", job.workers);
  io.block("model", job.model);
}

template <typename Io>
void describe(Io& io, Like<ReferenceReport> auto& report) {
  io.tool_version();
  io.any("loss", report.loss);
  io("token_count", report.token_count);
  io("step_s", report.step);
  io("peak_bytes", report.peak);
}

template <typename Io>
void describe(Io& io, Like<RankFailure> auto& failure) {
  io.tool_version();
  io("rank", failure.rank);
  io("where", failure.where);
  io("message", failure.message);
  io("hint", failure.hint);
  io("exit_code", failure.exit_code, kExitCode);
  io("time_s", failure.time_s);
  io("caused_by_peer", failure.caused_by_peer);
}

RunJob load_run_job(const std::filesystem::path& path) {
  return read_document<RunJob>(read_file(path), path.string(), kRunSchema);
}

std::string write_run_job(const RunJob& job) {
  return write_document(job, kRunSchema);
}

ProfileJob load_profile_job(const std::filesystem::path& path) {
  return read_document<ProfileJob>(read_file(path), path.string(), kProfileSchema);
}

std::string write_profile_job(const ProfileJob& job) {
  return write_document(job, kProfileSchema);
}

ReferenceReport load_reference_report(const std::filesystem::path& path) {
  return read_document<ReferenceReport>(read_file(path), path.string(), kReferenceSchema);
}

std::string write_reference_report(const ReferenceReport& report) {
  return write_document(report, kReferenceSchema);
}

RankFailure load_rank_failure(const std::filesystem::path& path) {
  return read_document<RankFailure>(read_file(path), path.string(), kFailureSchema);
}

std::string write_rank_failure(const RankFailure& failure) {
  RankFailure readable = failure;  // messages of other libraries hold any bytes
  readable.where = well_formed(failure.where);
  readable.message = well_formed(failure.message);
  readable.hint = well_formed(failure.hint);
  return write_document(readable, kFailureSchema);
}

}  // namespace ppplan
