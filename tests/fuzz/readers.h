// Every reader of ppplan's documents, by name: what the corpus, the mutations and libFuzzer feed.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ppplan::test {

struct Reader {
  std::string name;  ///< its folder under tests/fuzz/corpus
  /// Reads the text and writes what it understood. Throws Error for what it refuses.
  std::function<std::string(const std::string& text)> rewrite;
};

const std::vector<Reader>& readers();

}  // namespace ppplan::test
