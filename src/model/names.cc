#include "model/names.h"

#include <fmt/format.h>

#include <string_view>

#include "base/digest.h"

namespace falcon::model {
namespace {

// The parts are joined by a character that none of them may contain.
std::string name_of(std::string_view kind, const Installation& installation, const JobId& job,
                    std::uint32_t number) {
  const Sha256 digest =
      sha256(fmt::format("{}\n{}\n{}\n{}", kind, installation.value(), job.value(), number));
  return std::string(kPoolPrefix) + base32_lower(digest).substr(0, 26);
}

}  // namespace

PoolName pool_name(const Installation& installation, const JobId& job, std::uint32_t provision) {
  return PoolName(name_of("pool", installation, job, provision));
}

WorkloadName workload_name(const Installation& installation, const JobId& job,
                           std::uint32_t attempt) {
  return WorkloadName(name_of("job", installation, job, attempt));
}

}  // namespace falcon::model
