#include "profiler/measure/links.h"

#include "executor/layers/parameters.h"
#include "executor/transport/shared_weights.h"
#include "profiler/measure/statistics.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>

namespace ppplan::profiler {
namespace {

using Clock = std::chrono::steady_clock;
using executor::Transport;

constexpr int kWarmUps = 2;

/// Enough repeats for a median of small transfers, few of large ones.
int repeats_of(Bytes size) {
  constexpr std::int64_t kBudgetBytes = 256LL << 20;
  return static_cast<int>(std::clamp<std::int64_t>(kBudgetBytes / (size.count + 1), 5, 40));
}

std::vector<double> timed(int repeats, const std::function<void()>& work) {
  std::vector<double> samples_s;
  for (int repeat = -kWarmUps; repeat < repeats; ++repeat) {
    const Clock::time_point start = Clock::now();
    work();
    const double taken_s = std::chrono::duration<double>(Clock::now() - start).count();
    if (repeat >= 0) samples_s.push_back(taken_s);
  }
  return samples_s;
}

at::Tensor buffer(Bytes size) {
  return at::zeros({std::max<std::int64_t>(1, size.count / 4)}, at::TensorOptions(at::kFloat));
}

}  // namespace

void fit(Link& link) {
  // Weights 1 / t^2 make every sample's relative error count alike.
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const LinkSample& sample : link.samples) {
    const double x = static_cast<double>(sample.size.count);
    const double y = sample.transfer.median.count();
    const double weight = 1.0 / (y * y);
    w += weight, wx += weight * x, wy += weight * y, wxx += weight * x * x, wxy += weight * x * y;
  }
  const double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  const double latency_s = (wy - slope * wx) / w;
  const LinkSample& largest = link.samples.back();
  const double rate = static_cast<double>(largest.size.count) / largest.transfer.median.count();
  link.bandwidth = {slope > 0 ? 1.0 / slope : rate};
  link.latency = Seconds(std::max(latency_s, 0.0));
  link.fit_error = 0.0;
  for (const LinkSample& sample : link.samples) {
    const Seconds fitted = link.latency + sample.size / link.bandwidth;
    link.fit_error = std::max(link.fit_error, std::abs(fitted / sample.transfer.median - 1.0));
  }
}

Link measure_link(Transport& transport, const std::vector<Bytes>& sizes) {
  Link link{.name = "loopback", .backend = "gloo"};
  const int rank = transport.rank();
  int tag = 1;
  for (const Bytes size : sizes) {
    ++tag;
    const at::Tensor tensor = buffer(size);
    const auto round_trip = [&] {
      if (rank == 0) {
        transport.send(tensor, 1, tag)->wait();
        transport.receive(tensor, 1, tag)->wait();
      } else {
        transport.receive(tensor, 0, tag)->wait();
        transport.send(tensor, 0, tag)->wait();
      }
    };
    transport.sum({0.0});
    if (rank > 1) continue;
    std::vector<double> samples_s = timed(repeats_of(size), round_trip);
    for (double& sample : samples_s) sample *= 0.5;
    link.samples.push_back({size, summarize(std::move(samples_s))});
  }
  transport.sum({0.0});
  if (rank == 0) fit(link);
  return link;
}

Link measure_exchange(Transport& transport, const std::vector<Bytes>& sizes) {
  Link link{.name = "exchange", .backend = "gloo"};
  for (const Bytes size : sizes) {
    executor::ParameterStore store(/*seed=*/0, at::kCPU);
    const Parameter parameter{
        "shared", {std::max<std::int64_t>(1, size.count / 4)}, Init::kZeros, 0};
    store.get("shared", parameter, /*frozen=*/false);
    transport.sum({0.0});
    if (transport.rank() > 1) continue;
    const std::vector<executor::SharedWeight> shared{{"shared", 1 - transport.rank()}};
    std::vector<double> samples_s = timed(
        repeats_of(size), [&] { executor::reduce_shared_gradients(shared, store, transport); });
    link.samples.push_back({size, summarize(std::move(samples_s))});
  }
  transport.sum({0.0});
  if (transport.rank() == 0) fit(link);
  return link;
}

Seconds measure_posting(Transport& transport, Bytes size) {
  transport.sum({0.0});
  std::vector<double> samples_s;
  if (transport.rank() < 2) {
    const int peer = 1 - transport.rank();
    const at::Tensor out = buffer(size);
    const at::Tensor in = buffer(size);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Clock::time_point start = Clock::now();
      const std::unique_ptr<executor::Transfer> receive = transport.receive(in, peer, /*tag=*/1);
      const std::unique_ptr<executor::Transfer> send = transport.send(out, peer, /*tag=*/1);
      samples_s.push_back(0.5 * std::chrono::duration<double>(Clock::now() - start).count());
      receive->wait();
      send->wait();
    }
  }
  transport.sum({0.0});
  return summarize(std::move(samples_s)).median;
}

}  // namespace ppplan::profiler
