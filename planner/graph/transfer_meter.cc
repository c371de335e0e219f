#include "planner/graph/transfer_meter.h"

namespace ppplan::planner {

TransferMeter::TransferMeter(const ItemGraph& graph)
    : read_by_(graph.items.size()),
      made_by_(graph.items.size()),
      inside_readers_(graph.tensors.size(), 0),
      place_(graph.items.size(), Place::kOutside) {
  for (std::size_t tensor = 0; tensor < graph.tensors.size(); ++tensor) {
    const Tensor& made = graph.tensors[tensor];
    if (made.cost <= 0.0) continue;
    const Use use{tensor, static_cast<std::size_t>(made.home), made.cost,
                  static_cast<int>(made.readers.size())};
    made_by_[use.home].push_back(use);
    for (const int reader : made.readers) read_by_[static_cast<std::size_t>(reader)].push_back(use);
  }
}

TransferMeter::Cost TransferMeter::add(std::size_t item, Cost cost) {
  for (const Use& use : read_by_[item]) {
    const int inside = ++inside_readers_[use.tensor];
    if (place_[use.home] == Place::kInside) {
      if (inside == use.reader_count) cost.total -= use.cost;
    } else if (inside == 1) {
      cost.total += use.cost;
      if (place_[use.home] == Place::kBefore) cost.settled += use.cost;
    }
  }
  place_[item] = Place::kInside;
  for (const Use& use : made_by_[item]) {
    const int inside = inside_readers_[use.tensor];
    if (inside > 0) cost.total -= use.cost;
    if (inside < use.reader_count) cost.total += use.cost;
  }
  return cost;
}

void TransferMeter::remove(std::size_t item) {
  for (const Use& use : read_by_[item]) --inside_readers_[use.tensor];
  place_[item] = Place::kOutside;
}

}  // namespace ppplan::planner
