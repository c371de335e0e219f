#include "executor/launch/external_launcher.h"

#include "reports/documents/error.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

namespace ppplan::launch {
namespace {

std::optional<ExternalRank> rank_in(const std::map<std::string, std::string>& variables) {
  return external_rank([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST_CASE("external launcher: none, or one that started a single process, leaves the run local") {
  CHECK_FALSE(rank_in({}));
  CHECK_FALSE(rank_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  // The shell of a Slurm batch script has a task number but is no step of several.
  CHECK_FALSE(rank_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}));
}

TEST_CASE("external launcher: torchrun's own store keeps its port") {
  const auto rank = rank_in({{"RANK", "3"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"MASTER_ADDR", "10.0.0.1"},
                             {"MASTER_PORT", "29400"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  REQUIRE(rank);
  CHECK(rank->rank == 3);
  CHECK(rank->local_rank == 1);
  CHECK(rank->local_count == 2);
  CHECK(rank->host == "10.0.0.1");
  CHECK(rank->port == 29401);
}

TEST_CASE("external launcher: Slurm's first host serves") {
  const auto rank = rank_in({{"SLURM_PROCID", "1"},
                             {"SLURM_STEP_NUM_TASKS", "4"},
                             {"SLURM_LOCALID", "1"},
                             {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                             {"SLURM_STEP_NODELIST", "node[07-08],login"}});
  REQUIRE(rank);
  CHECK(rank->launcher == "Slurm");
  CHECK(rank->host == "node07");
  CHECK(rank->local_count == 2);
  CHECK(rank->port == 29500);
}

TEST_CASE("external launcher: mpirun on one machine needs no address, on several it does") {
  std::map<std::string, std::string> variables{{"OMPI_COMM_WORLD_RANK", "0"},
                                               {"OMPI_COMM_WORLD_SIZE", "2"},
                                               {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  CHECK(rank_in(variables)->host == "127.0.0.1");
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  CHECK_THROWS_WITH_AS(rank_in(variables), "mpirun started 2 ranks but MASTER_ADDR is not set",
                       Error);
}

TEST_CASE("external launcher: nonsense names its variable") {
  CHECK_THROWS_WITH_AS(rank_in({{"RANK", "4"}, {"WORLD_SIZE", "4"}}),
                       "environment variable RANK: expected a whole number from 0 to 3, found '4'",
                       Error);
  CHECK_THROWS_AS(rank_in({{"RANK", "0"}, {"WORLD_SIZE", "many"}}), Error);
}

}  // namespace
}  // namespace ppplan::launch
