#include "cli/table.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.h"
#include "base/text.h"

namespace falcon::cli {
namespace {

constexpr std::size_t kCellBytesMax = 16u << 10;

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

constexpr std::array kZeroWidth{Range{0x0300, 0x036F}, Range{0x200B, 0x200F}, Range{0x20D0, 0x20FF},
                                Range{0xFE00, 0xFE0F}, Range{0xFEFF, 0xFEFF}};
constexpr std::array kDoubleWidth{
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},
    Range{0x3400, 0x4DBF},   Range{0x4E00, 0x9FFF},   Range{0xA000, 0xA4CF},
    Range{0xA960, 0xA97C},   Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},   Range{0xFF01, 0xFF60},   Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F64F}, Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF},
    Range{0x20000, 0x3FFFD}};

template <std::size_t n>
bool is_in(const std::array<Range, n>& ranges, std::uint32_t point) {
  return std::ranges::any_of(
      ranges, [&](const Range& range) { return point >= range.first && point <= range.last; });
}

// Reads one code point and moves `at` behind it. A byte that is no UTF-8 counts as one character.
std::uint32_t next_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(at);
  const std::size_t length = lead < 0xC0 || lead > 0xF4 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  std::uint32_t point = length == 1 ? lead : lead & (0xFFu >> (length + 1));
  std::size_t i = at + 1;
  for (; i < at + length && i < text.size() && (byte(i) & 0xC0u) == 0x80u; ++i)
    point = (point << 6) | (byte(i) & 0x3Fu);
  at = i;
  return point;
}

std::string cell_text(std::string text) {
  if (const std::size_t end = text.find('\n'); end != std::string::npos) text.resize(end);
  return text.empty() ? "-" : clean_text(text, kCellBytesMax);  // no escape sequences
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t point = next_point(text, at);
    if (point < 0x20 || is_in(kZeroWidth, point)) continue;
    width += is_in(kDoubleWidth, point) ? 2 : 1;
  }
  return width;
}

void Table::add(std::vector<std::string> cells) {
  FALCON_CHECK(cells.size() == header_.size());
  for (std::string& cell : cells) cell = cell_text(std::move(cell));
  rows_.push_back(std::move(cells));
}

void Table::print(std::ostream& out) const {
  std::vector<std::size_t> widths;
  widths.reserve(header_.size());
  for (const std::string& title : header_) widths.push_back(display_width(title));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  const auto print_row = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out << row[i];
      if (i + 1 < row.size()) out << std::string(widths[i] - display_width(row[i]) + 2, ' ');
    }
    out << '\n';
  };
  print_row(header_);
  for (const auto& row : rows_) print_row(row);
}

}  // namespace falcon::cli
