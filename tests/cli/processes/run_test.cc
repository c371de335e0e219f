// `ppplan run` and `ppplan profile` with a stand-in for the worker.
#include "reports/documents/plan.h"
#include "reports/documents/profile.h"
#include "reports/documents/run_report.h"
#include "tests/support/command.h"
#include "tests/support/small_plan.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

namespace ppplan::test {
namespace {

const std::string kProgram = PPPLAN_PROGRAM;

/// A folder with a plan, and the command that runs it.
struct Workshop {
  explicit Workshop(const Plan& plan = small_plan()) {
    folder.write("plan.yaml", write_plan(plan));
  }

  [[nodiscard]] std::string command(const std::string& options = "",
                                    const std::string& fault = "") const {
    return fmt::format("{} {} run {} --worker {} {}", fault.empty() ? "" : "PPPLAN_FAKE=" + fault,
                       kProgram, (folder.path() / "plan.yaml").string(), PPPLAN_FAKE_WORKER,
                       options);
  }
  [[nodiscard]] std::filesystem::path result(const std::string& name) const {
    return folder.path() / "run" / name;
  }
  /// No worker of a run is there any more.
  [[nodiscard]] bool nobody_left() const {
    for (const char* name : {"process0", "process1"}) {
      const std::string number = content_of(result(name));
      if (!number.empty() && ::kill(static_cast<pid_t>(std::stol(number)), 0) == 0) return false;
    }
    return true;
  }

  TemporaryFolder folder;
};

TEST_CASE("run: writes its report beside the plan and prints it") {
  const Workshop workshop;
  const CommandResult result = run_command(workshop.command("--steps 3 --warmup 1"));
  CAPTURE(result.error);
  REQUIRE(result.exit_code == 0);
  const RunReport report = load_run_report(workshop.result("report.yaml"));
  CHECK(report.step_count == 3);
  CHECK(report.losses.size() == 4);
  CHECK(report.measured_step == Seconds(1.0));
  REQUIRE(report.gradients);
  CHECK(report.gradients->passed);
  CHECK(result.out.find("peak memory") != std::string::npos);
  CHECK(result.out.find("gradients: equal to the single process's") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(workshop.result("reference.safetensors")));
  CHECK(content_of(workshop.result("data.txt")).starts_with("A Calendar"));
  CHECK(workshop.nobody_left());
}

TEST_CASE("run: without a terminal there is no bar, and a note is shown once") {
  const Workshop workshop;
  const CommandResult result = run_command(workshop.command());
  CHECK(result.error.find('\r') == std::string::npos);
  const std::size_t first = result.error.find("all ranks say this\n");
  CHECK(first != std::string::npos);
  CHECK(result.error.find("all ranks say this", first + 1) == std::string::npos);
}

TEST_CASE("run: gradients that are not the reference's exit 4 with their ratio, after the report") {
  const Workshop workshop;
  const CommandResult result = run_command(workshop.command("", "gradients:8"));
  CHECK(result.exit_code == 4);
  CHECK(result.error.find("error: gradients are 8.00 x the reference's") != std::string::npos);
  CHECK(result.out.find("NOT equal") != std::string::npos);
  const std::filesystem::path gradients = workshop.result("reference.safetensors");
  CHECK(std::filesystem::exists(gradients));
  CHECK(result.error.find("gradients are in " + gradients.string()) != std::string::npos);
  CHECK(std::filesystem::exists(workshop.result("report.yaml")));
}

TEST_CASE("run: a missed prediction warns, and exits 4 only when a limit is given") {
  Plan plan = small_plan();
  plan.predicted.step = Seconds(1.5);
  const Workshop workshop(plan);
  const CommandResult warned = run_command(workshop.command());
  CHECK(warned.exit_code == 0);
  CHECK(warned.error.find("warning: step time was predicted 50.0 % too high") != std::string::npos);
  CHECK(run_command(workshop.command("--max-error 60")).exit_code == 0);
  CHECK(run_command(workshop.command("--max-error 40")).exit_code == 4);
}

TEST_CASE("run: kernels other than the profile's warn") {
  Plan plan = small_plan();
  plan.kernels.attention = "flash-cpu";
  const Workshop workshop(plan);
  CHECK(run_command(workshop.command())
            .error.find("warning: attention kernel: profiled with flash-cpu, run with math") !=
        std::string::npos);
}

TEST_CASE(
    "run: a killed rank is named first, with its stage, and nobody is left, no report appears") {
  for (const int rank : {0, 1}) {
    const Workshop workshop;
    const CommandResult result = run_command(workshop.command("", fmt::format("kill:{}", rank)));
    CAPTURE(result.error);
    CHECK(result.exit_code == 1);
    CHECK(result.error.find(fmt::format(
              "error: rank {} (stage {}, layers {}-{}) was killed by signal 9 (SIGKILL)", rank,
              rank, rank, rank)) != std::string::npos);
    CHECK(result.error.find("--memory") != std::string::npos);
    CHECK(workshop.nobody_left());
    CHECK_FALSE(std::filesystem::exists(workshop.result("report.yaml")));
  }
}

TEST_CASE("run: a rank's own failure is told in its words") {
  const Workshop workshop;
  const CommandResult result = run_command(workshop.command("", "fail:1"));
  CHECK(result.exit_code == 1);
  CHECK(result.error.find("error: rank 1 (stage 1, layers 1-1): stage 1, 1F0: no such luck\nhint: "
                          "this is a test") != std::string::npos);
}

TEST_CASE("run: a failure of an earlier run is not taken for one of this run") {
  const Workshop workshop;
  CHECK(run_command(workshop.command("", "fail:1")).exit_code == 1);
  CHECK(run_command(workshop.command()).exit_code == 0);
}

TEST_CASE("run: Ctrl-C leaves no process and no report, and exits 130") {
  const Workshop workshop;
  const std::string line = "exec " + workshop.command("--no-verify").substr(1) + " 2>/dev/null";
  const pid_t child = fork();
  if (child == 0) {
    setenv("PPPLAN_FAKE", "hang:all", 1);
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  while (!std::filesystem::exists(workshop.result("process0")) ||
         !std::filesystem::exists(workshop.result("process1"))) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ::kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(workshop.nobody_left());
  CHECK_FALSE(std::filesystem::exists(workshop.result("report.yaml")));
}

TEST_CASE("run: bad input is exit 2 and starts nothing") {
  Plan plan = small_plan();
  plan.export_only = true;
  const Workshop workshop(plan);
  const CommandResult refused = run_command(workshop.command());
  CHECK(refused.exit_code == 2);
  CHECK(refused.error.find("export only") != std::string::npos);
  workshop.folder.write("plan.yaml", "schema: ppplan.plan/1\nmodel: [\n");
  CHECK(run_command(workshop.command()).exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(workshop.folder.path() / "run"));
}

TEST_CASE("run: as one rank of another launcher") {
  const Workshop workshop;
  const std::string launcher =
      "RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "
      "MASTER_PORT=29555 ";
  CHECK(run_command(launcher + workshop.command("--steps 1")).exit_code == 0);
  CHECK(load_rank_report(workshop.result("rank1.yaml")).rank == 1);
  const CommandResult wrong =
      run_command("RANK=0 WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 " + workshop.command());
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.error.find("torchrun started 3 ranks, but the plan has 2") != std::string::npos);
}

TEST_CASE("profile: writes the workers' document and shows it in short") {
  const TemporaryFolder folder;
  folder.write("tiny/config.json",
               R"({"model_type": "llama", "hidden_size": 16, "intermediate_size": 32,
                   "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 64})");
  const std::string output = (folder.path() / "profile.yaml").string();
  const CommandResult result =
      run_command(fmt::format("{} profile {} -o {} --worker {} --micro-batches 2,1,2", kProgram,
                              (folder.path() / "tiny").string(), output, PPPLAN_FAKE_WORKER));
  CAPTURE(result.error);
  REQUIRE(result.exit_code == 0);
  const Profile profile = load_profile(output);
  CHECK(profile.devices.size() == 2);
  CHECK(profile.measurements.size() == 6);
  CHECK(result.out.find("unstable") != std::string::npos);
  CHECK(result.out.find("link loopback (gloo)") != std::string::npos);
  CHECK(result.error.ends_with(fmt::format(
      "wrote {}; next: ppplan partition {} --global-batch B -o plan.yaml\n", output, output)));
}

TEST_CASE("profile: sequences longer than the model was made for warn") {
  const TemporaryFolder folder;
  folder.write("tiny/config.json",
               R"({"model_type": "llama", "hidden_size": 16, "intermediate_size": 32,
                   "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 64,
                   "max_position_embeddings": 256})");
  const CommandResult result =
      run_command(fmt::format("{} profile {} -o {} --worker {} --sequence-lengths 256,1024",
                              kProgram, (folder.path() / "tiny").string(),
                              (folder.path() / "out.yaml").string(), PPPLAN_FAKE_WORKER));
  CHECK(result.exit_code == 0);
  CHECK(result.error.find(
            "warning: sequence 1024 is more than the 256 positions tiny was made for") !=
        std::string::npos);
  CHECK(result.error.find("sequence 256") == std::string::npos);
}

TEST_CASE("profile: an unwritable place is told before any work") {
  const TemporaryFolder folder;
  folder.write("config.json",
               R"({"model_type": "llama", "hidden_size": 16, "intermediate_size": 32,
                   "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 64})");
  const CommandResult result =
      run_command(fmt::format("{} profile {} -o /nowhere/profile.yaml --worker {}", kProgram,
                              folder.path().string(), PPPLAN_FAKE_WORKER));
  CHECK(result.exit_code == 1);
  CHECK(result.error.find("/nowhere") != std::string::npos);
}

}  // namespace
}  // namespace ppplan::test
