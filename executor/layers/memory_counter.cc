#include "executor/layers/memory_counter.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <malloc.h>
#include <sys/resource.h>

#include <atomic>
#include <cstring>
#include <limits>

namespace ppplan::executor {
namespace {

// Process-wide by nature: LibTorch has one CPU allocator, and calls its deleter with a pointer
// alone.
struct Counters {
  std::atomic<std::int64_t> current{0};
  std::atomic<std::int64_t> peak{0};
};

Counters& counters() {
  static Counters instance;
  return instance;
}

void release(void* data) {
  if (data == nullptr) return;
  counters().current -= static_cast<std::int64_t>(malloc_usable_size(data));
  c10::free_cpu(data);
}

/// The DataPtr's context is the data itself and its deleter a plain function: oneDNN's kernels take
/// ownership apart and abort otherwise.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    void* const data = c10::alloc_cpu(size);
    if (data != nullptr) {
      const auto usable = static_cast<std::int64_t>(malloc_usable_size(data));
      const std::int64_t now = counters().current += usable;
      std::int64_t peak = counters().peak;
      while (now > peak && !counters().peak.compare_exchange_weak(peak, now)) {
      }
    }
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    std::memcpy(to, from, size);
  }
};

}  // namespace

void count_cpu_memory() {
  mallopt(M_MMAP_MAX, 0);  // large tensors on the heap too, so that they are reused
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_ARENA_MAX, 1);
  static CountingAllocator allocator;
  constexpr std::uint8_t kPriority = 100;
  c10::SetCPUAllocator(&allocator, kPriority);
}

Bytes current_memory() {
  return {counters().current};
}
Bytes peak_memory() {
  return {counters().peak};
}
void reset_peak_memory() {
  counters().peak = counters().current.load();
}

Bytes peak_resident() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Bytes{usage.ru_maxrss} * 1024;
}

}  // namespace ppplan::executor
