// Percent-encoding (RFC 3986), both ways. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace falcon::http {

// Everything but letters, digits and -._~ is encoded, slashes too: for one segment of a path, or a
// name or value of a query.
std::string encode_url(std::string_view text);
// "a%20b" -> "a b"; a broken escape stays as it is. `plus_is_blank` for queries.
std::string decode_url(std::string_view text, bool plus_is_blank);

}  // namespace falcon::http
