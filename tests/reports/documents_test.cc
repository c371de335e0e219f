#include "reports/documents/job.h"
#include "reports/documents/plan.h"
#include "reports/documents/profile.h"
#include "tests/support/errors.h"
#include "tests/support/random_documents.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

namespace {

using ppplan::Plan;
using ppplan::Profile;
using ppplan::test::hint_of;
using ppplan::test::message_of;
using ppplan::test::RandomDocuments;

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  REQUIRE(place != std::string::npos);
  return text.replace(place, from.size(), to);
}

/// A plan of three stages on two ranks that is valid.
Plan plan() {
  Plan plan = RandomDocuments(1).plan();
  const auto layers = static_cast<int>(plan.model.layers.size());
  plan.schedule = "1f1b";
  plan.actions.clear();
  plan.stages.assign(3, {});
  plan.stages[0] = {0, 0, 1, {}, {}, {}, {}, {}};
  plan.stages[1] = {1, 1, 0, {}, {}, {}, {}, {}};
  plan.stages[2] = {1, 1, layers - 1, {}, {}, {}, {}, {}};
  plan.ranks.assign(2, {});
  plan.layout = {};
  plan.export_only = false;
  plan.micro_batch = 4;
  plan.micro_batches = {4, 4, 2};
  plan.constraints.global_batch = 10;
  return plan;
}

std::string refusal(const Plan& document) {
  return message_of([&] { ppplan::read_plan(write_plan(document), "p"); });
}

std::string refusal(const Profile& document) {
  return message_of([&] { ppplan::read_profile(write_profile(document), "p"); });
}

TEST_CASE("documents: another kind, another version or no schema is refused") {
  const std::string text = write_plan(plan());
  CHECK(ppplan::read_plan(text, "p") == plan());
  const auto message = [&](const std::string& to) {
    return message_of([&] { ppplan::read_plan(changed(text, "schema: ppplan.plan/1", to), "p"); });
  };
  CHECK(message("schema: ppplan.plan/2")
            .find("p:1:9: schema: expected ppplan.plan/1, found ppplan.plan/2: ppplan ") == 0);
  CHECK(message("schema: ppplan.plan/2").find("reads version 1") != std::string::npos);
  CHECK(message("schema: ppplan.profile/1") ==
        "p:1:9: schema: expected ppplan.plan/1, found ppplan.profile/1");
  CHECK(message("{}").find("p:") == 0);
  CHECK(message("other: 1") == "p:1:1: schema: expected ppplan.plan/1, found no such key");
  CHECK(message_of([] { ppplan::read_plan("- 1\n", "p"); }) ==
        "p:1:1: document: expected a mapping (key: value), found a list");
}

TEST_CASE("documents: an unknown key is refused with the one meant") {
  const std::string text = changed(write_plan(plan()), "lower_bound_s:", "lower_bund_s:");
  CHECK(hint_of([&] { ppplan::read_plan(text, "p"); }) ==
        "there is lower_bund_s; is lower_bound_s meant?");
  const std::string more = changed(write_plan(plan()), "{rank: 0,", "{rank: 0, layer_cuont: 1,");
  CHECK(message_of([&] {
          ppplan::read_plan(more, "p");
        }).find("stages[0].layer_cuont: expected a known key, found an unknown one") !=
        std::string::npos);
  CHECK(hint_of([&] { ppplan::read_plan(more, "p"); }) == "did you mean layer_count?");
}

TEST_CASE("documents: a plan's stages hold every layer once and in order") {
  Plan gap = plan();
  gap.stages[2].first_layer = 2;
  CHECK(refusal(gap).find("stages[2].first_layer: expected 1, found 2") != std::string::npos);
  Plan more = plan();
  more.stages[2].layer_count += 1;
  CHECK(refusal(more).find("stages[2].layer_count: expected at most") != std::string::npos);
  Plan fewer = plan();
  fewer.stages[2].layer_count -= 1;
  CHECK(refusal(fewer).find("layers in all stages") != std::string::npos);
  Plan none = plan();
  none.stages.clear();
  CHECK(refusal(none).find("stages: expected 1 to 65536 stages, found 0") != std::string::npos);
}

TEST_CASE("documents: a plan's stages and ranks belong together") {
  Plan absent = plan();
  absent.stages[2].rank = 2;
  CHECK(refusal(absent).find("stages[2].rank: expected a rank from 0 to 1, found 2") !=
        std::string::npos);
  Plan idle = plan();
  idle.ranks.emplace_back();
  CHECK(refusal(idle).find("ranks: expected a stage on every rank, found none on rank 2") !=
        std::string::npos);
  Plan slow = plan();
  slow.link.bandwidth.value = 0.0;
  CHECK(refusal(slow).find("link.bandwidth_bytes_per_s: expected a number above 0") !=
        std::string::npos);
}

TEST_CASE("documents: a plan's micro-batches add up to the global batch") {
  Plan sum = plan();
  sum.constraints.global_batch = 12;
  CHECK(refusal(sum).find("micro_batches: expected 12 samples in all (global_batch), found 10") !=
        std::string::npos);
  Plan large = plan();
  large.micro_batches = {6, 4};
  CHECK(refusal(large).find("expected at most 4 samples each (micro_batch), found 6") !=
        std::string::npos);
  Plan none = plan();
  none.micro_batches = {};
  CHECK(refusal(none).find("micro_batches: expected 1 to 1000000") != std::string::npos);
}

TEST_CASE("documents: a custom schedule brings a line for each rank") {
  Plan custom = plan();
  custom.schedule = "custom";
  CHECK(refusal(custom).find("expected actions with a custom schedule") != std::string::npos);
  custom.actions = {"0F0"};
  CHECK(refusal(custom).find("actions: expected one line for each of 2 ranks, found 1") !=
        std::string::npos);
}

TEST_CASE("documents: a plan with tensor parallelism is for export only") {
  Plan wide = plan();
  wide.layout.sharding.tensor = 2;
  CHECK(refusal(wide).find("export_only: expected true") != std::string::npos);
}

TEST_CASE("documents: a profile has each cell once, devices, and links between them") {
  Profile twice = RandomDocuments(1).profile();
  twice.measurements.push_back(twice.measurements.front());
  CHECK(refusal(twice).find(
            "measurements: expected each shape of a kind once, found rows 0 and 8 alike") !=
        std::string::npos);
  Profile bare = RandomDocuments(1).profile();
  bare.devices.clear();
  CHECK(refusal(bare).find("devices: expected at least one device, found none") !=
        std::string::npos);
  Profile endless = RandomDocuments(1).profile();
  endless.cluster = {65'536, 65'536};
  CHECK(refusal(endless).find("cluster.nodes: expected at most 1000000 devices in all") !=
        std::string::npos);
  Profile apart = RandomDocuments(1).profile();
  apart.devices.resize(2);
  apart.links.clear();
  CHECK(refusal(apart).find("links: expected at least one link between 2 devices") !=
        std::string::npos);
}

TEST_CASE("documents: values out of range are refused in every key") {
  const std::string text = write_profile(RandomDocuments(1).profile());
  const auto message = [&](const std::string& from, const std::string& to) {
    return message_of([&] { ppplan::read_profile(changed(text, from, to), "p"); });
  };
  CHECK(message("median_s: ", "median_s: -1")
            .find("measurements[0].forward.median_s: expected a finite number from 0") !=
        std::string::npos);
  CHECK(message("target_spread: ", "target_spread: .nan # ")
            .find("target_spread: expected a finite number of at least 0, found .nan") !=
        std::string::npos);
  CHECK(message("memory_bytes: ", "memory_bytes: 99999999999")
            .find("devices[0].memory_bytes: expected a whole number from 0") != std::string::npos);
  CHECK(message("micro_batch: ", "micro_batch: 0.5, x: ")
            .find("micro_batch: expected a whole number from 1 to 1000000, found 0.5") !=
        std::string::npos);
  CHECK(message("origin: ", "origin: x")
            .find("origin: expected one of measured, imported, estimated") != std::string::npos);
}

TEST_CASE("documents: a job of another build is refused") {
  const ppplan::test::TemporaryFolder folder;
  const std::string line = std::string("tool_version: \"") + PPPLAN_VERSION;
  std::ofstream(folder / "job.yaml")
      << changed(write_run_job(RandomDocuments(1).run_job()), line, "tool_version: \"0.0.0");
  const auto load = [&] { ppplan::load_run_job(folder / "job.yaml"); };
  CHECK(message_of(load).find(std::string("tool_version: expected ") + PPPLAN_VERSION +
                              ", found 0.0.0") != std::string::npos);
  CHECK(hint_of(load) == "ppplan and ppplan-worker must come from one build");
}

TEST_CASE("documents: a rank's failure is written even when its message is no UTF-8") {
  const ppplan::test::TemporaryFolder folder;
  std::ofstream(folder / "failure.yaml") << ppplan::write_rank_failure({.rank = 1,
                                                                        .where = "start-up",
                                                                        .message = "bad \xFF byte",
                                                                        .hint = "",
                                                                        .exit_code = 1,
                                                                        .time_s = 0.0,
                                                                        .caused_by_peer = false});
  CHECK(ppplan::load_rank_failure(folder / "failure.yaml").message == "bad \xEF\xBF\xBD byte");
}

}  // namespace
