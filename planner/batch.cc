#include "planner/batch.h"

#include <cassert>
#include <cstddef>

namespace ppplan::planner {

std::vector<int> BatchSplit::sizes() const {
  std::vector<int> sizes;
  for (const int index : class_of_micro_batch) {
    sizes.push_back(class_size[static_cast<std::size_t>(index)]);
  }
  return sizes;
}

BatchSplit split_batch(std::int64_t global_batch, int micro_batch) {
  assert(micro_batch >= 1 && micro_batch <= global_batch);
  BatchSplit split;
  split.class_size.push_back(micro_batch);
  split.class_of_micro_batch.assign(static_cast<std::size_t>(global_batch / micro_batch), 0);
  if (const auto rest = static_cast<int>(global_batch % micro_batch); rest > 0) {
    split.class_size.push_back(rest);
    split.class_of_micro_batch.push_back(1);
  }
  return split;
}

}  // namespace ppplan::planner
