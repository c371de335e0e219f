#include "reports/render/table.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string_view>
#include <utility>

namespace ppplan::render {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kShortest = 8;

bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// A cell may hold a path or a key of a hostile file: it must not move the cursor.
std::string printable(std::string text) {
  for (char& byte : text) {
    if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F) byte = '?';
  }
  return text;
}

/// The first `width` characters, the last of them "…" when some are lost.
std::string shorten(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  std::size_t kept = 0;
  std::size_t end = 0;
  while (end < text.size() && (continues_character(text[end]) || kept < width - 1)) {
    if (!continues_character(text[end])) ++kept;
    ++end;
  }
  return text.substr(0, end) + "…";
}

std::string pad(const std::string& text, std::size_t width, Align align) {
  const std::string blanks(width - std::min(width, display_width(text)), ' ');
  return align == Align::kLeft ? text + blanks : blanks + text;
}

std::string emphasized(std::string text, std::string_view code, Style style) {
  if (style == Style::kPlain || text.empty()) return text;
  return std::string(code) + std::move(text) + "\x1b[0m";
}

constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kDim = "\x1b[2m";

}  // namespace

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return !continues_character(byte); }));
}

Table::Table(std::vector<Column> columns, std::string title)
    : columns_(std::move(columns)), title_(std::move(title)) {}

Table& Table::row(std::vector<std::string> cells) {
  assert(cells.size() <= columns_.size());
  cells.resize(columns_.size());
  std::transform(cells.begin(), cells.end(), cells.begin(), printable);
  rows_.push_back({.cells = std::move(cells)});
  return *this;
}

Table& Table::rule() {
  rows_.push_back({.cells = {}, .is_rule = true});
  return *this;
}

std::vector<std::size_t> Table::widths(std::size_t limit) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const Row& row : rows_) {
    for (std::size_t column = 0; column < row.cells.size(); ++column) {
      widths[column] = std::max(widths[column], display_width(row.cells[column]));
    }
  }
  std::size_t total = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
  if (!columns_.empty()) total += kGap.size() * (columns_.size() - 1);
  while (total > limit) {
    std::size_t* widest = nullptr;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (columns_[column].fit != Fit::kShorten || widths[column] <= kShortest) continue;
      if (widest == nullptr || widths[column] > *widest) widest = &widths[column];
    }
    if (widest == nullptr) break;
    --*widest;
    --total;
  }
  return widths;
}

std::string Table::text(const TableOptions& options) const {
  const std::vector<std::size_t> widths = this->widths(options.width);
  const auto line = [&](auto&& cell_of) {
    std::string out;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (column > 0) out += kGap;
      out += pad(shorten(cell_of(column), widths[column]), widths[column], columns_[column].align);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  };
  std::string rule;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    if (column > 0) rule += kGap;
    for (std::size_t filled = 0; filled < widths[column]; ++filled) rule += "─";
  }
  rule = emphasized(std::move(rule), kDim, options.style) + "\n";

  std::string out;
  if (!title_.empty()) out += emphasized(printable(title_), kBold, options.style) + "\n";
  const auto column_title = [&](std::size_t column) { return columns_[column].title; };
  out += emphasized(line(column_title), kBold, options.style) + "\n" + rule;
  for (const Row& row : rows_) {
    out += row.is_rule ? rule : line([&](std::size_t column) { return row.cells[column]; }) + "\n";
  }
  return out;
}

}  // namespace ppplan::render
