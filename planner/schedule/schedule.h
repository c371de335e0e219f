// The one schedule language: for each rank a list of actions. Generators write it; the checker, the
// simulator, the memory timeline, the executor, the pictures and the exporters read it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ppplan::planner {

/// What an action does to one (stage, micro-batch). Letters as in torch.distributed.pipelining.
enum class ActionKind : std::uint8_t {
  kForward,            ///< F
  kBackward,           ///< B: input and weight gradients
  kBackwardInput,      ///< I
  kBackwardWeight,     ///< W
  kSendActivation,     ///< SEND_F: this stage's output to the next stage
  kReceiveActivation,  ///< RECV_F: this stage's input from the previous stage
  kSendGradient,       ///< SEND_B: this stage's input gradient to the previous stage
  kReceiveGradient,    ///< RECV_B: this stage's output gradient from the next stage
};

struct Action {
  ActionKind kind = ActionKind::kForward;
  bool overlapped = false;  ///< first half of an (a;b)OVERLAP_F_B pair with the action after it
  std::int32_t stage = 0;
  std::int32_t micro_batch = 0;

  auto operator<=>(const Action&) const = default;
};

/// The name of the one schedule without backwards: inference.
inline constexpr std::string_view kForwardOnly = "forward-only";

/// A schedule. Compute-only, or with communication after `with_communication` (lowering.h).
struct Schedule {
  std::string name;
  int micro_batch_count = 0;
  std::vector<int> rank_of_stage;          ///< size = number of stages
  std::vector<std::vector<Action>> ranks;  ///< size = number of ranks

  [[nodiscard]] int rank_count() const { return static_cast<int>(ranks.size()); }
  [[nodiscard]] int stage_count() const { return static_cast<int>(rank_of_stage.size()); }
  bool operator==(const Schedule&) const = default;
};

}  // namespace ppplan::planner
