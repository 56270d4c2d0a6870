// Text from outside made safe to store and show.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace falcon {

// Valid UTF-8 without control characters other than tab and newline: bad bytes become U+FFFD,
// zero bytes and other controls go. Longer than `bytes_max` is cut at a character's border and
// ends in "…" (3 bytes, counted). Never fails: no state change may depend on a text fitting.
std::string clean_text(std::string_view text, std::size_t bytes_max);

// True when the bytes are well-formed UTF-8 (no overlong forms, no surrogates).
bool is_utf8(std::string_view text);

// Number of Unicode code points in well-formed UTF-8.
std::size_t code_points(std::string_view text);

// The known word that is closest to `word`, or empty: for "did you mean". Typing slips (a letter
// more, less, another, or two swapped) count one each; at most 1/3 of the length, within 1 to 3.
std::string_view closest_word(std::string_view word, std::span<const std::string_view> known);

}  // namespace falcon
