#include "reports/render/rivals_view.h"

#include "tests/support/small_plan.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

namespace ppplan::render {
namespace {

Plan plan_with_rivals() {
  Plan plan = test::small_plan();
  plan.predicted.tokens_per_s = 8000.0;
  plan.predicted.tokens_per_s_per_device = 4000.0;
  plan.predicted.mfu = 0.4;
  plan.rivals = {{.way = "one device",
                  .device_count = 1,
                  .layout = "1 device",
                  .micro_batch = 1,
                  .step = Seconds(2.0),
                  .tokens_per_s = 5000.0,
                  .peak = Bytes{std::int64_t{90} << 30},
                  .fits = false},
                 {.way = "tensor parallel, fully sharded",
                  .device_count = 2,
                  .layout = "tensor 8, data 16, fully sharded",
                  .micro_batch = 1,
                  .step = Seconds(1.5),
                  .tokens_per_s = 6000.0,
                  .peak = Bytes{1024}}};
  return plan;
}

RivalsView view_of(const Plan& plan) {
  return {.plan = &plan,
          .own = {.way = "this plan",
                  .device_count = 2,
                  .layout = "pipeline 2",
                  .micro_batch = 1,
                  .step = Seconds(1.0),
                  .tokens_per_s = 8000.0},
          .price = 3.6};
}

}  // namespace

TEST_CASE("rivals view: a billion tokens cost device-hours at their price") {
  CHECK(cost_per_billion_tokens(3.6, 2, 8000.0) == doctest::Approx(250.0));
}

TEST_CASE("rivals view: layouts in short") {
  CHECK(short_layout("pipeline 4, tensor 8, data 2, optimizer sharded") == "pp4 tp8 dp2 zero-1");
  CHECK(short_layout("data 32, fully sharded") == "dp32 zero-3");
  CHECK(short_layout("1 device") == "1 device");
  CHECK(short_layout("").empty());
}

TEST_CASE("rivals view: the plan first, utilization in proportion, within 100 columns") {
  const Plan plan = plan_with_rivals();
  const std::string text = rivals_text(view_of(plan));
  CHECK(text.find("this plan") < text.find("one device"));
  CHECK(text.find("50.0 %") != std::string::npos);  // 5000 of one device against 4000 at 40 %
  CHECK(text.find("90.00 GiB*") != std::string::npos);
  CHECK(text.find("does not fit") != std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 100);
}

TEST_CASE("rivals view: nothing without rivals") {
  const Plan plan = test::small_plan();
  CHECK(rivals_text(view_of(plan)).empty());
}

}  // namespace ppplan::render
