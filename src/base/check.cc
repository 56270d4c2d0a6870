#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace falcon {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "falcon: broken invariant: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace falcon
