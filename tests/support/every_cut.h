// Every way to cut a small chain into stages.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace ppplan::testing {

/// Calls visit for every cut of `layer_count` layers whose end stages are not empty.
inline void for_each_cut(int layer_count, int stage_count,
                         const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> cut{0};
  const std::function<void()> extend = [&] {
    if (static_cast<int>(cut.size()) == stage_count) {
      cut.push_back(layer_count);
      visit(cut);
      cut.pop_back();
      return;
    }
    for (int next = std::max(1, cut.back()); next < layer_count; ++next) {
      cut.push_back(next);
      extend();
      cut.pop_back();
    }
  };
  extend();
}

}  // namespace ppplan::testing
