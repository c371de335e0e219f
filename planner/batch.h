// How a global batch falls into micro-batches.
#pragma once

#include <cstdint>
#include <vector>

namespace ppplan::planner {

/// Full micro-batches and, where the batch does not divide, one smaller at the end (8 in threes: 3,
/// 3, 2), as trainers cut it. Micro-batches of equal size form a class: class 0 is the full size,
/// class 1 the smaller last one where there is one.
struct BatchSplit {
  std::vector<int> class_size;            ///< samples, by class
  std::vector<int> class_of_micro_batch;  ///< size = number of micro-batches

  [[nodiscard]] int micro_batch_count() const {
    return static_cast<int>(class_of_micro_batch.size());
  }
  [[nodiscard]] int class_count() const { return static_cast<int>(class_size.size()); }
  /// Class of the last micro-batch.
  [[nodiscard]] int last_class() const { return class_count() - 1; }
  /// Samples of each micro-batch.
  [[nodiscard]] std::vector<int> sizes() const;
};

/// Precondition: 1 <= micro_batch <= global_batch, and fewer than 2^31 micro-batches.
BatchSplit split_batch(std::int64_t global_batch, int micro_batch);

}  // namespace ppplan::planner
