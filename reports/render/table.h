// Tables of text for people: columns aligned, a rule under the titles, nothing wider than asked.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ppplan::render {

enum class Align { kLeft, kRight };

/// What happens to a column when the table would be too wide.
enum class Fit { kKeep, kShorten };

struct Column {
  std::string title;
  Align align = Align::kRight;
  Fit fit = Fit::kKeep;
};

/// ANSI emphasis of titles and rules; Shell::colored_output() decides.
enum class Style { kPlain, kColored };

struct TableOptions {
  std::size_t width = 100;  ///< columns of the terminal
  Style style = Style::kPlain;
};

/// Collects rows, then renders them.
///
///   Table table({{"stage", Align::kLeft}, {"forward"}}, "Stages");
///   table.row({"0", human(stage.forward)});
///   table.rule();
///   table.row({"sum", human(sum)});
///   print(table.text({.style = Style::kPlain}));
class Table {
 public:
  /// `title` stands above the table; none when empty.
  explicit Table(std::vector<Column> columns, std::string title = {});

  /// Adds a row; missing cells at its end are empty. More cells than columns is our bug.
  Table& row(std::vector<std::string> cells);
  /// A line across, for instance above totals.
  Table& rule();

  /// Lines without trailing blanks, each ended by a new line. While the table is wider than
  /// `options.width`, columns of Fit::kShorten lose their ends to "…", the widest first, down to
  /// eight; columns of Fit::kKeep are never cut. Control characters in cells show as '?'. A
  /// character counts as one column. O(cells).
  [[nodiscard]] std::string text(const TableOptions& options = {}) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool is_rule = false;
  };

  [[nodiscard]] std::vector<std::size_t> widths(std::size_t limit) const;

  std::vector<Column> columns_;
  std::string title_;
  std::vector<Row> rows_;
};

/// Columns that a UTF-8 text takes on a terminal when every character takes one.
std::size_t display_width(const std::string& text);

}  // namespace ppplan::render
