// Small random graphs for comparisons with brute force.
#pragma once

#include "reports/documents/graph_profile.h"

#include <random>

namespace ppplan::testing {

struct RandomGraphOptions {
  int node_count = 6;
  double edge_probability = 0.35;
  double idle_probability = 0.2;  ///< of nodes that take no time
  double backward_probability =
      0.0;                         ///< of nodes with a partner in the backward pass, or only there
  double color_probability = 0.0;  ///< of forward nodes that share a device with another one
  bool blocks = false;             ///< branches between single nodes, as in convolutional nets
};

/// A graph as dnn-partitioning states them: times of transfers, memory, CPU times.
GraphProfile random_max_load_graph(std::mt19937& random, const RandomGraphOptions& options);
/// A graph as PipeDream states them: bytes of outputs and parameters.
GraphProfile random_pipedream_graph(std::mt19937& random, const RandomGraphOptions& options);

}  // namespace ppplan::testing
