#include "reports/documents/worker_versions.h"

#include "reports/documents/error.h"

#include <doctest/doctest.h>

#include <string>

namespace ppplan {
namespace {

WorkerVersions full() {
  return {.tool_version = "0.1.0",
          .torch = "2.11.0+cu130",
          .cuda_runtime = "13.0",
          .nccl = "2.27.5",
          .cupti = "13.0.48",
          .cuda_device_count = 0,
          .cuda_error = "no \"device\"\n: none\\",
          .kernels = {.torch = "2.11.0",
                      .attention = "flash-cpu",
                      .blas = "mkl",
                      .precision = "float32",
                      .threads = 2,
                      .pinned = true}};
}

TEST_CASE("worker versions: are read back as written, with and without CUDA") {
  CHECK(read_worker_versions(write_worker_versions(full()), "x") == full());
  WorkerVersions plain = full();
  plain.cuda_runtime.reset();
  plain.nccl.reset();
  plain.cupti.reset();
  plain.cuda_error.reset();
  CHECK(read_worker_versions(write_worker_versions(plain), "x") == plain);
}

TEST_CASE("worker versions: what another program answers is refused") {
  for (const char* text : {"", "hello", "schema: ppplan.plan/1\n", "- 1\n",
                           "schema: ppplan.versions/1\ntool_version: 1\n"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(read_worker_versions(text, "worker version"), Error);
  }
  CHECK_THROWS_AS(read_worker_versions(write_worker_versions(full()) + "more: 1\n", "x"), Error);
}

}  // namespace
}  // namespace ppplan
