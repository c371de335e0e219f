#include "profiler/estimate/sharded_program.h"

#include "reports/documents/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>
#include <variant>

namespace ppplan::profiler {
namespace {

// Letters as in model.h; t devices, a bytes an activation.

constexpr int kTokenBytes = 8;                         // tokens are 64-bit integers
constexpr int kProbabilityBytes = 4;                   // the loss is computed in float32
constexpr std::int64_t kMost = std::int64_t{1} << 53;  // what a document holds as bytes

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (!__builtin_mul_overflow(a, b, &result) && result <= kMost) return result;
  throw Error(Failure::kBadInput, "the layer's sizes exceed 2^53 bytes a token",
              "check the configuration's sizes");
}

/// Walks a program and writes down each operator's share. A value is either divided by features or,
/// where its features are whole, by tokens.
class Walk {
 public:
  Walk(const Model& model, const LayerKind& kind, const ProgramOptions& options)
      : kind_(&kind),
        options_(&options),
        t_(options.tensor),
        a_(options.precision.activation_bytes) {
    program_.sharding = {.tensor = options.tensor, .context = options.context};
    const bool is_embedding = kind.role == LayerRole::kEmbedding;
    program_.input = is_embedding ? define("tokens", std::int64_t{kTokenBytes} * t_, 0)
                                  : define("x", model.hidden);
    for (const Operator& op : kind.program) {
      op_ = &op;
      std::visit([this](const auto& body) { visit(body); }, op.body);
    }
    if (is_embedding && options.dropout) drop_out("x");
    program_.output = current_.at(kind.role == LayerRole::kHead ? "loss" : "x");
    mark_kept();
    charge_gradient_sums();
  }

  [[nodiscard]] ShardedProgram take() { return std::move(program_); }
  [[nodiscard]] const std::optional<std::string>& obstacle() const { return obstacle_; }

 private:
  using Kind = ProgramStep::Kind;

  /// What a value's name stands for at this point of the walk.
  struct Traits {
    std::int64_t width = 0;
    bool by_features = false;
    bool is_branch = false;  ///< made by a product: what a residual addition adds
  };

  int define(const std::string& name, std::int64_t bytes, std::int64_t gradient_bytes,
             Traits traits) {
    program_.values.push_back({.bytes = bytes, .gradient_bytes = gradient_bytes});
    traits_.push_back(traits);
    return current_[name] = static_cast<int>(program_.values.size()) - 1;
  }
  int define(const std::string& name, std::int64_t bytes, std::int64_t gradient_bytes) {
    return define(name, bytes, gradient_bytes, {});
  }
  int define(const std::string& name, std::int64_t width) {
    return define(name, product(width, a_), product(width, a_), {.width = width});
  }
  ProgramStep& add(Kind kind, const std::vector<int>& inputs) {
    ProgramStep& step = program_.steps.emplace_back();
    step.kind = kind;
    step.inputs = inputs;
    return step;
  }
  [[nodiscard]] int input(std::size_t place) const { return current_.at(op_->inputs.at(place)); }
  [[nodiscard]] const Traits& traits(int value) const {
    return traits_[static_cast<std::size_t>(value)];
  }
  /// The operator's output, of `width` features.
  int output(std::size_t place, std::int64_t width, Traits traits) {
    traits.width = width;
    return define(op_->outputs.at(place), product(width, a_), product(width, a_), traits);
  }
  /// A tensor beside the outputs that only this step's backward reads.
  int hidden_output(ProgramStep& step, std::int64_t bytes, bool is_scores) {
    program_.values.push_back({.bytes = bytes, .is_scores = is_scores});
    traits_.emplace_back();
    const int value = static_cast<int>(program_.values.size()) - 1;
    step.outputs.push_back(value);
    step.keeps.push_back(value);
    return value;
  }
  [[nodiscard]] double share(std::int64_t width) const { return static_cast<double>(width) / t_; }
  std::int64_t divide(std::int64_t whole, const char* what) {
    if (whole % t_ != 0 && !obstacle_) obstacle_ = fmt::format("{} {}", whole, what);
    return whole / t_;
  }
  [[nodiscard]] std::int64_t divide_rounding_up(std::int64_t whole) const {
    return (whole + t_ - 1) / t_;
  }
  void collect(CollectiveKind kind, std::int64_t bytes, int count = 1) {
    if (t_ == 1) return;
    for (Collective& known : program_.collectives) {
      if (known.kind != kind || known.size.count != bytes) continue;
      known.count += count;
      return;
    }
    program_.collectives.push_back({kind, CollectiveGroup::kTensor, count, Bytes{bytes}});
  }
  [[nodiscard]] std::int64_t when_shared(std::int64_t bytes) const { return t_ > 1 ? bytes : 0; }
  void add_parameters(std::int64_t count) {
    constexpr std::int64_t kMostBytesEach = 16;  // of any role
    program_.parameter_count += count;
    product(program_.parameter_count, kMostBytesEach);
  }

  /// One kernel that reads and writes whole tensors: `passes` of the input's width.
  void stream(double forward_passes, double backward_passes, bool keeps_input) {
    const int from = input(0);
    const Traits made = traits(from);
    ProgramStep& step = add(Kind::kStream, {from});
    if (keeps_input) step.keeps = {from};
    step.forward_bytes = forward_passes * share(made.width) * a_;
    step.backward_bytes = backward_passes * share(made.width) * a_;
    step.outputs = {output(0, made.width, {.by_features = made.by_features})};
  }

  // Per operator: what backward keeps is counts.cc's, less statistics (a few bytes a token and
  // head).

  void visit(const EmbeddingOp& body) {
    const Parameter& table = parameter(body.weight);
    const std::int64_t width = table.shape.at(1);
    ProgramStep& step = add(Kind::kStream, {input(0)});
    step.keeps = step.inputs;
    // Each device looks all tokens up in its rows of the vocabulary.
    const auto row = static_cast<double>(width);
    step.forward_bytes = 2.0 * row * a_;
    step.weight_bytes = row * (a_ + 2.0 * options_->precision.gradient_bytes);
    step.forward_workspace = when_shared(product(width, a_));
    step.backward_workspace = when_shared(product(width, a_));
    step.outputs = {output(0, width, {})};
    collect(CollectiveKind::kReduceScatter, product(width, a_));
    add_parameters(product(divide_rounding_up(table.shape.at(0)), width));
  }
  void visit(const PositionEmbeddingOp& body) {
    stream(2.0, 0.0, false);
    ProgramStep& step = program_.steps.back();
    step.kind = Kind::kAddition;
    step.weight_bytes = step.forward_bytes / 2.0;
    add_parameters(element_count(body.weight));
  }
  void visit(const LinearOp& body) {
    if (traits(input(0)).by_features) {
      row_product(body);
    } else {
      column_product(body);
    }
  }
  void column_product(const LinearOp& body) {
    const int from = input(0);
    const std::int64_t columns = divide(body.out_features, "features");
    const std::int64_t gathered = product(body.in_features, a_);
    const auto [known, is_new] = product_of_.try_emplace(from, program_.steps.size());
    if (is_new) {
      ProgramStep& first = add(Kind::kProduct, {from});
      first.keeps = {from};
      first.product.inner = body.in_features;
      first.forward_workspace = when_shared(gathered);
      first.backward_workspace = when_shared(2 * gathered);  // the input again, and its gradient
      collect(CollectiveKind::kAllGather, gathered);
    }
    const int made = output(0, body.out_features, {.by_features = true});
    ProgramStep& step = program_.steps[known->second];
    step.product.columns += columns;
    step.outputs.push_back(made);
    if (body.bias) step.weight_bytes += share(body.out_features) * a_;
    add_parameters(product(body.in_features, columns));
    if (body.bias) add_parameters(columns);
  }
  void row_product(const LinearOp& body) {
    ProgramStep& step = add(Kind::kProduct, {input(0)});
    step.keeps = step.inputs;
    step.product = {divide(body.in_features, "features"), body.out_features};
    step.forward_workspace = when_shared(product(body.out_features, a_));
    step.backward_workspace = step.forward_workspace;
    if (body.bias) step.weight_bytes = share(body.out_features) * a_;
    step.outputs = {output(0, body.out_features, {.is_branch = true})};
    collect(CollectiveKind::kReduceScatter, product(body.out_features, a_));
    add_parameters(product(step.product.inner, body.out_features));
    if (body.bias) add_parameters(body.out_features);
  }
  void visit(const RmsNormOp& body) {
    stream(2.0, 3.0, true);
    add_parameters(element_count(body.weight));
  }
  void visit(const LayerNormOp& body) {
    stream(2.0, 3.0, true);
    add_parameters(element_count(body.weight) + element_count(body.bias));
  }
  void visit(const RopeOp& /*body*/) { stream(2.0, 2.0, false); }
  void visit(const ActivationOp& /*body*/) { stream(2.0, 3.0, true); }
  void visit(const GatedActivationOp& /*body*/) {
    stream(3.0, 5.0, true);
    program_.steps.back().inputs.push_back(input(1));
    program_.steps.back().keeps.push_back(input(1));
  }
  void visit(const AttentionOp& body) {
    ProgramStep& step = add(Kind::kAttention, {input(0), input(1), input(2)});
    step.keeps = step.inputs;
    step.attention = {.heads = divide(body.head_count, "heads"),
                      .head_size = body.head_size,
                      .context = mean_context(options_->sequence, body.window)};
    divide(body.kv_head_count, "key/value heads");
    gather_context(step, 2 * product(product(body.kv_head_count, body.head_size), a_));
    const int made = output(0, product(body.head_count, body.head_size), {.by_features = true});
    step.outputs = {made};
    if (options_->attention == AttentionKernel::kFlash) {
      step.keeps.push_back(made);
    } else {
      store_scores(step, product(body.head_count, options_->sequence));
    }
  }
  /// Keys and values of whole samples; a token's have `bytes` over the tensor-parallel devices.
  void gather_context(ProgramStep& step, std::int64_t bytes) {
    if (options_->context == 1) return;
    const std::int64_t gathered = product(divide_rounding_up(bytes), options_->context);
    step.forward_workspace += gathered;
    step.backward_workspace += 2 * gathered;  // their gradients too
    program_.collectives.push_back(
        {CollectiveKind::kAllGather, CollectiveGroup::kContext, 1, Bytes{gathered}});
  }
  /// Korthikanti et al. 2022, section 4.1: the softmax's output, a mask, and what the mask lets
  /// through.
  void store_scores(ProgramStep& step, std::int64_t scores) {
    step.attention.context = static_cast<double>(options_->sequence);  // no pair is skipped
    const std::int64_t bytes = product(scores, a_);
    hidden_output(step, bytes, true);
    step.forward_bytes = 2.0 * share(bytes);
    step.backward_bytes = 3.0 * share(bytes);
    step.forward_workspace += divide_rounding_up(bytes);
    step.backward_workspace += divide_rounding_up(2 * bytes);
    if (!options_->dropout) return;
    hidden_output(step, scores, true);
    hidden_output(step, bytes, true);
    step.forward_bytes += share(2 * bytes + scores);
    step.backward_bytes += share(2 * bytes + scores);
  }
  void visit(const AddOp& /*body*/) {
    std::vector<int> terms{input(0), input(1)};
    if (options_->dropout) {
      for (std::size_t place = 0; place < 2; ++place) {
        if (traits(terms[place]).is_branch) terms[place] = drop_out(op_->inputs[place]);
      }
    }
    const Traits made = traits(terms[0]);
    ProgramStep& step = add(Kind::kAddition, terms);
    step.forward_bytes = 3.0 * share(made.width) * a_;
    step.outputs = {output(0, made.width, {.by_features = made.by_features})};
  }
  /// One pass with whatever comes next; backward applies the mask by itself.
  int drop_out(const std::string& name) {
    const int whole = current_.at(name);
    const std::int64_t width = traits(whole).width;
    ProgramStep& step = add(Kind::kStream, {whole});
    step.forward_bytes = share(width);
    step.backward_bytes = share(width) * (2.0 * a_ + 1.0);
    const int dropped = define(name, width);
    step.outputs = {dropped};
    hidden_output(step, width, false);
    return dropped;
  }
  void visit(const SplitOp& body) {
    ProgramStep& step = add(Kind::kView, {input(0)});
    const bool by_features = traits(input(0)).by_features;
    for (std::size_t place = 0; place < body.widths.size(); ++place) {
      step.outputs.push_back(output(place, body.widths[place], {.by_features = by_features}));
    }
  }
  /// The vocabulary is cut, padded to a multiple of t; three numbers a token are reduced: the
  /// largest logit, the sum of exponentials, the label's logit.
  void visit(const LinearCrossEntropyOp& body) {
    const std::int64_t columns = divide_rounding_up(body.vocabulary);
    ProgramStep& step = add(Kind::kCrossEntropy, {input(0)});
    step.keeps = step.inputs;
    step.product = {body.in_features, columns};
    const std::int64_t logits = when_shorter_than_float(product(columns, a_));
    const std::int64_t gathered = product(body.in_features, a_);
    step.forward_workspace = logits + when_shared(gathered);
    step.backward_workspace = logits + when_shared(2 * gathered);
    // Forward: largest, exponentials and sum; backward: the gradient; and conversions if any.
    const double conversion = logits == 0 ? 0.0 : a_ + kProbabilityBytes;
    step.forward_bytes = static_cast<double>(columns) * (3.0 * kProbabilityBytes + conversion);
    step.backward_bytes = static_cast<double>(columns) * (2.0 * kProbabilityBytes + conversion);
    step.outputs = {define(op_->outputs.at(0), 0, 0)};
    hidden_output(step, product(product(columns, t_), kProbabilityBytes), true);
    collect(CollectiveKind::kAllGather, gathered);
    collect(CollectiveKind::kAllReduce, kProbabilityBytes, 3);
    add_parameters(product(columns, body.in_features));
  }
  [[nodiscard]] std::int64_t when_shorter_than_float(std::int64_t bytes) const {
    return a_ < kProbabilityBytes ? bytes : 0;
  }

  void mark_kept() {
    for (const ProgramStep& step : program_.steps) {
      for (const int value : step.keeps)
        program_.values[static_cast<std::size_t>(value)].is_kept = true;
    }
  }
  /// A value with several readers gets a gradient from each: all but one are added up, two reads
  /// and a write, when the first reader's backward, the last to come, has run.
  void charge_gradient_sums() {
    std::vector<ProgramStep*> first_reader(program_.values.size(), nullptr);
    for (ProgramStep& step : program_.steps) {
      for (const int value : step.inputs) {
        ProgramStep*& first = first_reader[static_cast<std::size_t>(value)];
        if (first == nullptr) {
          first = &step;
        } else {
          first->backward_bytes +=
              3.0 * share(program_.values[static_cast<std::size_t>(value)].gradient_bytes);
        }
      }
    }
  }

  [[nodiscard]] const Parameter& parameter(const std::string& name) const {
    return *std::find_if(kind_->parameters.begin(), kind_->parameters.end(),
                         [&](const Parameter& candidate) { return candidate.name == name; });
  }
  [[nodiscard]] std::int64_t element_count(const std::string& name) const {
    std::int64_t count = 1;
    for (const std::int64_t size : parameter(name).shape) count = product(count, size);
    return count;
  }

  const LayerKind* kind_;
  const ProgramOptions* options_;
  const Operator* op_ = nullptr;
  int t_;
  int a_;
  ShardedProgram program_;
  std::vector<Traits> traits_;  ///< by value
  std::map<std::string, int> current_;
  std::map<int, std::size_t> product_of_;  ///< step of the products of a value
  std::optional<std::string> obstacle_;
};

}  // namespace

std::optional<std::string> indivisible(const LayerKind& kind, int tensor) {
  const Model any{};
  const ProgramOptions options{.tensor = tensor};
  return Walk(any, kind, options).obstacle();
}

ShardedProgram shard_program(const Model& model, const LayerKind& kind,
                             const ProgramOptions& options) {
  Walk walk(model, kind, options);
  assert(!walk.obstacle());
  return walk.take();
}

}  // namespace ppplan::profiler
