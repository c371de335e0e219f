// A rank's peak memory under a schedule, as the largest of a few linear forms of its stage's costs:
// what memory_peaks says, but in constant time for every stage that could stand there.
#pragma once

#include "planner/schedule/schedule.h"
#include "planner/schedule/simulator.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ppplan::planner {

/// Peak memory of one rank that runs one stage. At any moment the rank holds whole multiples of its
/// stage's quantities (three times `saved`, once `forward_peak`, ...); moments that another one
/// exceeds in every quantity are dropped, and few remain (1F1B: about four).
class MemoryForms {
 public:
  static constexpr std::size_t kMaxClasses = 2;  ///< full micro-batches and a smaller last one

  /// Precondition: `rank` runs stage `rank` and no other; at most kMaxClasses classes. O(its
  /// actions).
  MemoryForms(const Schedule& schedule, std::span<const int> class_of_micro_batch, int rank);

  /// Equals memory_peaks(...)[rank].total(). `costs` and `received` by class; `received` is the
  /// boundary tensor before the stage. O(remaining forms).
  [[nodiscard]] Bytes peak(std::span<const StageCost> costs, std::span<const Bytes> received) const;

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
