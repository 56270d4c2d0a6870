// Answers that say what went wrong: application/problem+json, as docs/design/rest-api.md has it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/server.h"
#include "wire/wire.h"

namespace falcon::api {

http::ServerResponse problem(int status, std::string_view code, std::string_view detail,
                             const std::vector<model::FieldError>& errors = {});
http::ServerResponse problem(const wire::Refusal& refusal);  // 400 invalid
http::ServerResponse problem(const Error& error);            // by its kind
// 400 invalid, for one field or query parameter.
http::ServerResponse invalid_field(std::string field, std::string what);
std::string_view status_text(int status);

}  // namespace falcon::api
