// ppplan explain: why a plan is as it is, and what a change would bring.
#include "planner/explain.h"

#include "cli/shell.h"
#include "reports/documents/error.h"
#include "reports/documents/file.h"
#include "reports/documents/plan.h"
#include "reports/documents/profile.h"
#include "reports/render/explain_view.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>

namespace ppplan::cli {
namespace {

struct Arguments {
  std::string plan;
  std::string profile;
  bool json = false;
};

/// Both documents, of which the plan names the profile by its hash.
void require_same_profile(const Arguments& arguments, const Plan& plan, const std::string& text) {
  if (sha256(text) == plan.input_sha256) return;
  throw Error(Failure::kBadInput,
              fmt::format("{}: made from another profile than {}: its input_sha256 is {:.12}…, the "
                          "file's {:.12}…",
                          arguments.plan, arguments.profile, plan.input_sha256, sha256(text)),
              "give the profile that the plan was made from, unchanged, or plan again: "
              "ppplan partition");
}

void run(const Arguments& arguments, const Shell& shell) {
  if (arguments.plan == "-" && arguments.profile == "-") {
    throw Error(Failure::kBadInput, "both documents are read from standard input",
                "give one of them as a file");
  }
  const Plan plan = load_plan(arguments.plan);
  const std::string text = read_file(arguments.profile);
  require_same_profile(arguments, plan, text);
  const Profile profile = read_profile(text, arguments.profile);
  const std::unique_ptr<Progress> progress = shell.progress();
  const Explanation explanation = planner::explain(profile, plan, *progress);
  if (std::abs(explanation.step / plan.predicted.step - 1.0) > 1e-6) {
    progress->note(
        fmt::format("warning: {} says {} a step; priced again it takes {}: edited, or "
                    "made by another version",
                    arguments.plan, human(plan.predicted.step), human(explanation.step)));
  }
  print(arguments.json ? render::explanation_json(plan, explanation)
                       : render::explanation_text(plan, explanation, shell.table_options()));
}

}  // namespace

void add_explain(CLI::App& app, Shell& shell) {
  CLI::App* verb = app.add_subcommand(
      "explain", "Say why a plan is as it is: what binds, why others lost, what a change brings");
  const auto arguments = std::make_shared<Arguments>();
  verb->add_option("plan", arguments->plan, "plan.yaml of 'ppplan partition'; - is standard input")
      ->option_text("PLAN")
      ->required();
  verb->add_option("profile", arguments->profile, "The profile that it was made from")
      ->option_text("PROFILE")
      ->required();
  verb->add_flag("--json", arguments->json, "The same figures as JSON");
  verb->callback([arguments, &shell] { run(*arguments, shell); });
}

}  // namespace ppplan::cli
