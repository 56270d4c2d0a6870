// Columns of text that line up on a terminal, Chinese characters (two cells wide) included.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace falcon::cli {

// Cells that a terminal gives to the text. Combining marks take none, East Asian wide and
// full-width characters and emoji two (Unicode 15, EastAsianWidth.txt, classes W and F).
std::size_t display_width(std::string_view text);

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}
  // REQUIRES: as many cells as the header has. An empty cell is shown as "-"; of a text with
  // several lines the first is shown.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // Two blanks between columns, none at a line's end.
  void print(std::ostream& out) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace falcon::cli
