// Runs a schedule on threads over the in-memory transport and gathers every rank's gradients.
#pragma once

#include "executor/layers/parameters.h"
#include "executor/rank/batch.h"
#include "executor/rank/interpreter.h"
#include "executor/rank/reference.h"
#include "executor/transport/shared_weights.h"
#include "executor/transport/transport.h"
#include "planner/schedule/lowering.h"
#include "planner/schedule/schedule.h"
#include "reports/documents/plan.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <exception>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace ppplan::tests {

inline constexpr std::int64_t kSequence = 12;
inline constexpr std::uint64_t kSeed = 7;

/// Random tokens for micro-batches of these sizes; some labels are not counted.
inline std::vector<executor::Batch> random_batches(const std::vector<int>& sizes,
                                                   std::int64_t vocabulary) {
  std::vector<executor::Batch> batches;
  at::manual_seed(11);
  for (const int size : sizes) {
    executor::Batch batch{at::randint(vocabulary, {size, kSequence}, at::kLong),
                          at::randint(vocabulary, {size, kSequence}, at::kLong)};
    batch.labels.select(1, 0).fill_(-1);
    batches.push_back(batch);
  }
  return batches;
}

/// Even cut of a model's layers into stages, and a plan that says so.
inline Plan plan_of(const Model& model, const planner::Schedule& schedule) {
  Plan plan;
  plan.model = model;
  const auto layers = static_cast<int>(model.layers.size());
  const int stages = schedule.stage_count();
  for (int stage = 0; stage < stages; ++stage) {
    const int first = layers * stage / stages;
    const int next = layers * (stage + 1) / stages;
    plan.stages.push_back({.rank = schedule.rank_of_stage[static_cast<std::size_t>(stage)],
                           .first_layer = first,
                           .layer_count = next - first});
  }
  return plan;
}

struct PipelineResult {
  double loss = 0.0;
  std::map<std::string, at::Tensor> gradients;
  bool shared_equal = true;  ///< tensors on two ranks got the same bits
};

/// One pass of a compute-only schedule on as many threads as it has ranks.
inline PipelineResult run_pipeline(const Model& model, const planner::Schedule& compute,
                                   const std::vector<int>& sizes) {
  const planner::Schedule schedule = planner::with_communication(compute);
  const Plan plan = plan_of(model, schedule);
  const std::vector<executor::Batch> batches = random_batches(sizes, model.vocabulary);
  const double tokens = std::accumulate(sizes.begin(), sizes.end(), 0) * double(kSequence - 1);
  auto transports = executor::make_memory_transports(schedule.rank_count());
  std::vector<std::unique_ptr<executor::ParameterStore>> stores;
  std::vector<std::exception_ptr> faults(transports.size());
  std::vector<double> losses(transports.size());
  for (std::size_t rank = 0; rank < transports.size(); ++rank) {
    stores.push_back(std::make_unique<executor::ParameterStore>(kSeed, at::kCPU));
  }
  const auto work = [&](std::size_t rank) {
    const c10::InferenceMode no_autograd;
    at::set_num_threads(1);
    const auto tables = std::make_shared<executor::RopeTables>(at::kCPU);
    std::map<int, std::unique_ptr<executor::StageModule>> stages;
    for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
      const PlanStage& part = plan.stages[stage];
      if (part.rank != static_cast<int>(rank)) continue;
      stages[static_cast<int>(stage)] = std::make_unique<executor::StageModule>(
          model, part.first_layer, part.layer_count, *stores[rank], tables);
    }
    executor::Interpreter interpreter(schedule, stages, *transports[rank],
                                      {sizes, kSequence, model.hidden});
    interpreter.run([&](int mb) -> const executor::Batch& { return batches[std::size_t(mb)]; },
                    1.0 / tokens);
    executor::reduce_shared_gradients(executor::shared_weights(plan, static_cast<int>(rank)),
                                      *stores[rank], *transports[rank]);
    losses[rank] = interpreter.loss();
  };
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < transports.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(rank);
      } catch (...) {
        faults[rank] = std::current_exception();
        transports[rank].reset();  // wakes the others
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& fault : faults) {
    if (fault) std::rethrow_exception(fault);
  }
  PipelineResult result;
  result.loss = std::accumulate(losses.begin(), losses.end(), 0.0) / tokens;
  for (const auto& store : stores) {
    for (const auto& [name, tensor] : store->all()) {
      const auto [found, fresh] = result.gradients.emplace(name, tensor->gradient);
      if (!fresh && !at::equal(found->second, tensor->gradient)) result.shared_equal = false;
    }
  }
  return result;
}

/// The single process on the same weights and batches, by LibTorch's autograd.
inline executor::ReferenceResult run_single(const Model& model, const std::vector<int>& sizes) {
  executor::ParameterStore store(kSeed, at::kCPU);
  executor::make_all_parameters(model, store);
  return executor::run_reference(model, store, random_batches(sizes, model.vocabulary));
}

/// Largest ||g - ref|| / ||ref|| over all tensors; infinite when a tensor is missing.
inline double worst_error(const std::map<std::string, at::Tensor>& gradients,
                          const std::map<std::string, at::Tensor>& reference) {
  double worst = gradients.size() == reference.size() ? 0.0 : INFINITY;
  for (const auto& [name, expected] : reference) {
    const auto found = gradients.find(name);
    if (found == gradients.end()) return INFINITY;
    const double size = expected.norm().item<double>();
    const double error = (found->second - expected).norm().item<double>();
    worst = std::max(worst, size > 1e-8 ? error / size : error);
  }
  return worst;
}

}  // namespace ppplan::tests
