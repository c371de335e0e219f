// DualPipeV: DeepSeek's bidirectional DualPipe folded into a V, so that one copy of the parameters
// serves; forwards of one chunk overlap with backwards of the other.
#include "planner/schedule/generators/catalogue.h"
#include "planner/schedule/generators/v_shaped.h"

#include <algorithm>
#include <deque>

namespace ppplan::planner {
namespace {

/// The eight steps of a rank. Weight gradients split off in steps 3 and 6 wait in a queue.
class DualPipeRank {
 public:
  DualPipeRank(Schedule& schedule, int rank, int micro_batch_count)
      : v_(schedule, rank),
        rank_(rank),
        below_(schedule.rank_count() - rank - 1),
        steady_(micro_batch_count - schedule.rank_count() - below_) {}

  void append() {
    warm_up();
    steady();
    drain();
  }

 private:
  void warm_up() {
    for (int pass = 0; pass < 2 * below_; ++pass) v_.forward(0);  // 1: F0
    for (int pass = 0; pass <= rank_; ++pass) {                   // 2: F0 F1
      v_.forward(0);
      v_.forward(1);
    }
    for (int pass = 0; pass < below_; ++pass) {  // 3: I1 W1 F1
      split_input(1);
      oldest_weight();
      v_.forward(1);
    }
  }

  void steady() {
    for (int pass = 0; pass < steady_; ++pass) {  // 4: (F0 B1) (F1 B0)
      if (pass == 0 && below_ == 0) {  // the V's foot starts without overlap: a shorter bubble
        v_.forward(0);
        v_.backward(1);
      } else {
        v_.pair(0, 1);
      }
      v_.pair(1, 0);
    }
    for (int pass = 0; pass < below_; ++pass) {  // 5: B1 (F1 B0)
      v_.backward(1);
      v_.pair(1, 0);
    }
  }

  void drain() {
    // 6: B1 B0; the later half splits its weight gradients off. Counted in single backwards, the
    // change comes after rank + 1.
    const int full = rank_ + 1;
    for (int pass = 0; pass < 2 * (rank_ + 1); ++pass) {
      const int chunk = pass % 2 == 0 ? 1 : 0;
      if (pass < full) {
        v_.backward(chunk);
      } else {
        split_input(chunk);
      }
    }
    for (int pass = 0; pass < below_; ++pass) {  // 7: W I0
      oldest_weight();
      split_input(0);
    }
    while (!pending_.empty()) oldest_weight();  // 8: W
  }

  void split_input(int chunk) {
    v_.input(chunk);
    pending_.push_back(chunk);
  }
  void oldest_weight() {
    v_.weight(pending_.front());
    pending_.pop_front();
  }

  VRank v_;
  int rank_;
  int below_;   ///< ranks between this one and the V's foot
  int steady_;  ///< rounds of step 4
  std::deque<int> pending_;
};

}  // namespace

std::variant<Schedule, Unschedulable> dualpipe_v(const ScheduleShape& shape) {
  if (shape.rank_count > kMostUnfoldedRanks) return too_many_ranks(shape);
  Schedule schedule = empty_schedule("dualpipe-v", shape, 2, Placement::kV);
  // The pattern needs 2p micro-batches to unfold; of fewer the surplus is left out again.
  const int unfolded = std::max(shape.micro_batch_count, 2 * shape.rank_count);
  for (int rank = 0; rank < shape.rank_count; ++rank) {
    DualPipeRank(schedule, rank, unfolded).append();
  }
  return schedule;
}

}  // namespace ppplan::planner
