// The templates of each language; private to this folder.
//
// "{name}" stands for an argument of the code (model::argument_names). "[...]" is left out when an
// argument in it is empty. There is no way to write a bare brace or bracket, and no need.
#pragma once

#include <string_view>

#include "model/message.h"

namespace falcon::words {

struct Catalog {
  std::string_view (*message)(model::MessageCode code);
  std::string_view cleanup_failed;  // "{error}"; goes behind the message
  std::string_view names_cut;       // "{ahead}" of all, "{rest}" of those not shown
};

const Catalog& catalog_zh();
const Catalog& catalog_en();

}  // namespace falcon::words
