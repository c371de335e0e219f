// The JSON half of explain_view.h.
#include "reports/documents/json_writer.h"
#include "reports/render/explain_view.h"
#include "reports/render/explanation_parts.h"
#include "reports/render/plan_in_words.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace ppplan::render {
namespace {

void write_parts(JsonWriter& json, const std::vector<NamedTime>& parts) {
  for (const NamedTime& part : parts) json.member(part.key, part.time);
}

void write_lack(JsonWriter& json, const std::optional<MemoryLack>& lack) {
  json.key("memory_lack");
  if (!lack) {
    json.null();
    return;
  }
  json.begin_object()
      .member("rank", lack->rank)
      .member("needed_bytes", lack->needed)
      .member("allowed_bytes", lack->allowed)
      .end_object();
}

void write_move(JsonWriter& json, std::string_view key, const std::optional<MovedBoundary>& move) {
  json.key(key);
  if (!move) {
    json.null();
    return;
  }
  json.begin_object().member("step_s", move->step);
  write_lack(json, move->lack);
  json.end_object();
}

void write_moves(JsonWriter& json, const Explanation& explanation) {
  json.key("boundaries").begin_array();
  for (const BoundaryMoves& move : explanation.moves) {
    json.begin_object().member("stage", move.stage).member("layer", move.layer);
    write_move(json, "earlier", move.earlier);
    write_move(json, "later", move.later);
    json.end_object();
  }
  json.end_array();
}

void write_losses(JsonWriter& json, const Explanation& explanation) {
  json.key("runners_up").begin_array();
  for (const Loss& loss : explanation.losses) {
    const RunnerUp& runner_up = loss.runner_up;
    json.begin_object();
    write_layout(json, runner_up.layout);
    json.member("rank_count", runner_up.rank_count)
        .member("schedule", runner_up.schedule)
        .member("micro_batch", runner_up.micro_batch)
        .member("micro_batch_count", runner_up.micro_batch_count)
        .member("recompute_chunk_size", runner_up.recompute_chunk)
        .member("layer_counts", runner_up.layer_counts)
        .member("step_s", runner_up.step)
        .member("reason", runner_up.reason);
    json.key("parts");
    if (loss.parts) {
      json.begin_object();
      write_parts(json, parts_of(*loss.parts));
      json.end_object();
    } else {
      json.null();
    }
    write_lack(json, loss.lack);
    json.end_object();
  }
  json.end_array();
}

void write_defaults(JsonWriter& json, const Explanation& explanation) {
  json.key("default_splits").begin_array();
  for (const DefaultSplit& split : explanation.defaults) {
    json.begin_object()
        .member("trainer", split.trainer)
        .member("rule", split.rule)
        .member("layer_counts", split.layer_counts)
        .member("refusal", split.refusal);
    const bool made = !split.layer_counts.empty();
    json.member("step_s", made ? std::optional(split.step) : std::nullopt)
        .member("ratio", made ? std::optional(split.step / explanation.step) : std::nullopt);
    write_lack(json, split.lack);
    json.end_object();
  }
  json.end_array();
}

void write_what_ifs(JsonWriter& json, const Explanation& explanation) {
  json.key("changes").begin_array();
  for (const WhatIf& what_if : explanation.what_ifs) {
    json.begin_object()
        .member("change", what_if.change)
        .member("refusal", what_if.refusal)
        .member("same_plan", what_if.same_plan);
    json.key("plan");
    if (what_if.plan) {
      const Plan& plan = *what_if.plan;
      json.begin_object();
      write_layout(json, plan.layout);
      json.member("rank_count", plan.ranks.size())
          .member("stage_count", plan.stages.size())
          .member("schedule", plan.schedule)
          .member("micro_batch", plan.micro_batch)
          .member("micro_batch_count", plan.micro_batches.size())
          .member("recompute_chunk_size", plan.recompute_chunk)
          .member("step_s", plan.predicted.step)
          .member("tokens_per_s", plan.predicted.tokens_per_s)
          .end_object();
    } else {
      json.null();
    }
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string explanation_json(const Plan& plan, const Explanation& explanation) {
  JsonWriter json;
  json.begin_object()
      .member("model", plan.model.name)
      .member("step_s", explanation.step)
      .member("tokens_per_s", plan.predicted.tokens_per_s)
      .member("binding_rank", explanation.path.rank)
      .member("binding_obstacle", obstacle_key(explanation.reliefs.front().obstacle));
  write_parts(json.key("critical_path").begin_object(), parts_of(explanation.path));
  write_parts(json.end_object().key("parts").begin_object(), parts_of(explanation.parts));
  json.end_object().key("reliefs").begin_array();
  for (const Relief& relief : explanation.reliefs) {
    json.begin_object()
        .member("without", obstacle_key(relief.obstacle))
        .member("step_s", relief.step)
        .end_object();
  }
  json.end_array();
  write_moves(json, explanation);
  write_losses(json, explanation);
  write_defaults(json, explanation);
  write_what_ifs(json, explanation);
  return json.end_object().take();
}

}  // namespace ppplan::render
