// What a stage needs of its rank's memory under a schedule, as the largest of a few linear forms of
// its costs: what memory_peaks says, but in constant time for every stage that could stand there.
#pragma once

#include "planner/schedule/schedule.h"
#include "planner/schedule/simulator.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ppplan::planner {

/// Peak memory that one stage takes on its rank. At any moment the rank holds whole multiples of
/// the stage's quantities (three times `saved`, once `forward_peak`, ...); moments that another one
/// exceeds in every quantity are dropped, and few remain (1F1B: about four).
class MemoryForms {
 public:
  static constexpr std::size_t kMaxClasses = 2;  ///< full micro-batches and a smaller last one

  /// Precondition: at most kMaxClasses classes. O(actions of the stage's rank).
  MemoryForms(const Schedule& schedule, std::span<const int> class_of_micro_batch, int stage);

  /// Equals memory_peaks(...)[its rank].total() where the rank has no other stage, and is at most
  /// that where it has. `costs` and `received` by class; `received` is the
  /// boundary tensor before the stage. O(remaining forms).
  [[nodiscard]] Bytes peak(std::span<const StageCost> costs, std::span<const Bytes> received) const;

  bool operator==(const MemoryForms&) const = default;

 private:
  enum Quantity : std::size_t {
    kSaved,
    kForwardPeak,
    kBackwardPeak,
    kWeightPending,
    kOutput,
    kReceived,
    kQuantityCount
  };
  /// Multiples of quantity q of class c at [c * kQuantityCount + q].
  using Form = std::array<std::int32_t, kMaxClasses * kQuantityCount>;

  static std::size_t slot(Quantity quantity, int class_index) {
    return static_cast<std::size_t>(class_index) * kQuantityCount + quantity;
  }
  void keep(const Form& form);

  std::vector<Form> forms_;
};

}  // namespace ppplan::planner
