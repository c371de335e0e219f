// A plan of two stages of a tiny model, for tests that need some plan.
#pragma once

#include "reports/documents/plan.h"

namespace ppplan::test {

/// Embedding and head of 8 x 4, nothing in between; two micro-batches of one sample of 16 tokens.
Plan small_plan();

}  // namespace ppplan::test
