// When torchrun, Slurm or mpirun has already started one process a rank, `ppplan run` becomes that
// rank.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace ppplan::launch {

/// A rank given by another launcher, and where rank 0 serves the store.
struct ExternalRank {
  std::string launcher;  ///< "torchrun", "Slurm", "mpirun"
  int rank = 0;
  int rank_count = 1;
  int local_rank = 0;  ///< among the ranks on this machine
  int local_count = 1;
  std::string host;
  int port = 0;
};

/// Looks a variable up; empty when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The rank that the environment gives this process; empty when no launcher started it or it is the
/// only one. Throws Error(kBadInput) naming the variable that is missing or makes no sense.
std::optional<ExternalRank> external_rank(const Environment& environment);

}  // namespace ppplan::launch
