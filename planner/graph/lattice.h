// The ideals of a precedence relation and how they grow into each other: the states between which a
// graph is cut. An ideal holds, with an item, all that must come before it; what one stage takes is
// the difference of two nested ideals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ppplan::planner {

/// By item: the items that must not come in an earlier stage than it. Items are numbered
/// topologically: every successor has a larger number.
using Successors = std::vector<std::vector<int>>;

/// How large a lattice may become; a growing one is given up beyond.
struct LatticeLimits {
  std::size_t ideals = 1'000'000;
  std::size_t edges = 12'000'000;  ///< pairs of ideals that differ by one item
};

/// All ideals, numbered as if each were the binary number whose highest bit is item 0: ideal 0 is
/// empty, the last one holds everything, and a subset always has a smaller number than its
/// supersets. Each ideal but the empty one has a parent: itself without its largest item; the tree
/// of parents is walked depth-first by ascending numbers.
class Lattice {
 public:
  using Ideal = std::uint32_t;

  /// An ideal one item larger.
  struct Step {
    std::uint32_t item;
    Ideal ideal;
  };

  /// Empty when the lattice exceeds `limits`. No ideal is ever compared with another or looked up
  /// by its content: O(steps log width) time, 8 bytes a step.
  static std::optional<Lattice> build(const Successors& successors, const LatticeLimits& limits);

  [[nodiscard]] std::size_t size() const { return parent_.size(); }
  [[nodiscard]] Ideal full() const { return static_cast<Ideal>(size() - 1); }
  /// The steps from an ideal, largest item first.
  [[nodiscard]] std::span<const Step> steps(Ideal ideal) const {
    return {steps_.data() + first_step_[ideal], first_step_[ideal + 1] - first_step_[ideal]};
  }
  [[nodiscard]] Ideal parent(Ideal ideal) const { return parent_[ideal]; }
  /// The largest item. Precondition: not the empty ideal.
  [[nodiscard]] std::size_t last(Ideal ideal) const { return last_[ideal]; }
  /// What an ideal one item larger is called. Precondition: the item can be added.
  [[nodiscard]] Ideal grown(Ideal ideal, std::size_t item) const;

  /// By ideal: the sum over its items.
  [[nodiscard]] std::vector<double> sums(const std::vector<double>& of_item) const;
  /// The items that `larger` has and `smaller` lacks. Precondition: smaller is a subset.
  [[nodiscard]] std::vector<std::size_t> items_between(Ideal smaller, Ideal larger) const;

 private:
  class Builder;

  std::vector<Ideal> parent_;
  std::vector<std::uint32_t> last_;
  std::vector<std::size_t> first_step_;
  std::vector<Step> steps_;
};

/// Items that are comparable to every other one, ascending. The ideal that ends with one of them
/// (all items up to it) is comparable to every ideal: what lies before it and what lies behind it
/// can be cut independently. O(items + relations).
std::vector<std::size_t> bottleneck_items(const Successors& successors);

}  // namespace ppplan::planner
