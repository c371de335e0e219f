#include "cli/progress_bar.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <string>

namespace ppplan::cli {
namespace {

/// A pipe whose reading end is read once the writer is done.
class Sink {
 public:
  Sink() { REQUIRE(pipe(ends_.data()) == 0); }
  ~Sink() { ::close(ends_[0]); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  [[nodiscard]] int descriptor() const { return ends_[1]; }
  std::string text() {
    ::close(ends_[1]);
    std::string all(4096, '\0');
    const ssize_t got = ::read(ends_[0], all.data(), all.size());
    all.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return all;
  }

 private:
  std::array<int, 2> ends_{};
};

TEST_CASE("bar: shows share, time left and detail") {
  const BarState state{
      .what = "profile", .detail = "block 2 x 128", .fraction = 0.5, .remaining = Seconds(90.2)};
  CHECK(bar_line(state, 100) ==
        "profile [============>           ]  50 %, 1:31 left, block 2 x 128");
}

TEST_CASE("bar: is cut to the terminal, never inside a character") {
  const BarState state{.what = "é€x", .detail = {}, .fraction = 0.0, .remaining = {}};
  CHECK(bar_line(state, 1) == "é");
  CHECK(bar_line(state, 2) == "é€");
}

TEST_CASE("bar: 100 % only when all is done") {
  BarState state{.what = "run", .detail = {}, .fraction = 0.9999, .remaining = {}};
  CHECK(bar_line(state, 80).find(" 99 %") != std::string::npos);
  state.fraction = 1.0;
  CHECK(bar_line(state, 80) == "run [========================] 100 %");
}

TEST_CASE("bar: control characters cannot reach the terminal") {
  const BarState state{.what = "a\x1b[2Jb", .detail = {}, .fraction = 0.0, .remaining = {}};
  CHECK(bar_line(state, 6) == "a?[2Jb");
}

TEST_CASE("bar: without a terminal only notes are written") {
  Sink sink;
  {
    ProgressBar bar({.descriptor = sink.descriptor(),
                     .terminal = false,
                     .now = [] { return Seconds(0); },
                     .columns = [] { return 80; }});
    bar.start("run", 10);
    bar.advance(5, 10, "step 5");
    bar.note("warning: \x1b[31mred");
    bar.finish();
  }
  CHECK(sink.text() == "warning: ?[31mred\n");
}

TEST_CASE("bar: redraws at most once an interval and is cleared at the end") {
  Sink sink;
  Seconds now{0};
  {
    ProgressBar bar({.descriptor = sink.descriptor(),
                     .terminal = true,
                     .now = [&now] { return now; },
                     .columns = [] { return 10; }});
    bar.start("run", 10);
    bar.advance(1, 10, "");
    now = Seconds(0.05);
    bar.advance(2, 10, "");
    now = Seconds(0.2);
    bar.advance(3, 10, "");
  }
  CHECK(sink.text() == "\r\x1b[Krun [>   \r\x1b[Krun [====\r\x1b[K");
}

}  // namespace
}  // namespace ppplan::cli
