#include "executor/launch/external_launcher.h"

#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace ppplan::launch {
namespace {

/// The variables of one launcher. The first is its mark: set by it and by nobody else.
struct Names {
  const char* launcher;
  const char* rank;
  const char* rank_count;
  const char* local_rank;
  const char* local_count;
};

// SLURM_STEP_NUM_TASKS is set for the processes of srun, not for the shell of a batch script.
constexpr std::array<Names, 3> kLaunchers{{
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
}};

constexpr int kDefaultPort = 29500;  // torch.distributed's
constexpr int kMostRanks = 1'000'000;
constexpr int kMostPort = 65535;

int number(const std::string& name, const std::string& text, int least, int most) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < least || value > most) {
    throw Error(
        Failure::kBadInput,
        fmt::format("environment variable {}: expected a whole number from {} to {}, found '{}'",
                    name, least, most, text),
        fmt::format("unset {} to run on this machine alone", name));
  }
  return value;
}

/// Slurm writes "4(x2),3": the first count serves, since shares of cores differ only when counts
/// do.
std::string first_count(const std::string& text) {
  return text.substr(0, text.find_first_of("(,"));
}

/// "node[07-09,12],login" -> "node07".
std::string first_host(const std::string& list) {
  const std::size_t bracket = list.find('[');
  const std::size_t comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of("-,]", bracket);
  if (end == std::string::npos) return {};
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

std::string meeting_host(const ExternalRank& rank, const Environment& environment) {
  if (const auto host = environment("MASTER_ADDR")) return *host;
  if (rank.launcher == "Slurm") {
    const std::string host = first_host(environment("SLURM_STEP_NODELIST").value_or(""));
    if (!host.empty()) return host;
  }
  if (rank.local_count == rank.rank_count) return "127.0.0.1";
  throw Error(
      Failure::kBadInput,
      fmt::format("{} started {} ranks but MASTER_ADDR is not set", rank.launcher, rank.rank_count),
      "export MASTER_ADDR=<host of rank 0> (and MASTER_PORT)");
}

int meeting_port(const Environment& environment) {
  const auto text = environment("MASTER_PORT");
  const int port = text ? number("MASTER_PORT", *text, 1, kMostPort) : kDefaultPort;
  // torchrun's own agent already serves a store there; ours takes the next port.
  const bool taken = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return taken && port < kMostPort ? port + 1 : port;
}

}  // namespace

std::optional<ExternalRank> external_rank(const Environment& environment) {
  for (const Names& names : kLaunchers) {
    const auto rank_text = environment(names.rank);
    const auto count_text = environment(names.rank_count);
    if (!rank_text || !count_text) continue;
    ExternalRank result;
    result.launcher = names.launcher;
    result.rank_count = number(names.rank_count, *count_text, 1, kMostRanks);
    if (result.rank_count == 1) return std::nullopt;
    result.rank = number(names.rank, *rank_text, 0, result.rank_count - 1);
    if (const auto text = environment(names.local_count)) {
      result.local_count = number(names.local_count, first_count(*text), 1, result.rank_count);
    }
    if (const auto text = environment(names.local_rank)) {
      result.local_rank = number(names.local_rank, *text, 0, result.rank_count - 1);
      result.local_count = std::max(result.local_count, result.local_rank + 1);
    }
    result.host = meeting_host(result, environment);
    result.port = meeting_port(environment);
    return result;
  }
  return std::nullopt;
}

}  // namespace ppplan::launch
