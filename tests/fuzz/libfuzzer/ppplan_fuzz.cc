// libFuzzer's entry: the first byte chooses the reader, the rest is its text.
#include "reports/documents/error.h"
#include "tests/fuzz/readers.h"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto& readers = ppplan::test::readers();
  const auto& reader = readers[data[0] % readers.size()];
  try {
    (void)reader.rewrite(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  } catch (const ppplan::Error&) {
  }
  return 0;
}
