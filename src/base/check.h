// FALCON_CHECK: a broken invariant of our own ends the process, in release builds too.
//
// A controller that restarts and looks again is safer than one that goes on with a wrong
// picture. Never use it on input, network or database content: those are the world, not us.
#pragma once

namespace falcon {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}  // namespace falcon

#define FALCON_CHECK(expression) \
  ((expression) ? void(0) : ::falcon::check_failed(#expression, __FILE__, __LINE__))
