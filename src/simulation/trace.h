// Events and commands in words, for a replay's trace and for counting calls. Pure.
#pragma once

#include <string>
#include <string_view>

#include "core/command.h"
#include "core/event.h"

namespace falcon::simulation {

// What a call is about: a job, a pool, a cluster.
std::string object_of(const core::CommandBody& body);
std::string_view name_of(const core::Command& command);
std::string_view name_of(const core::Event& event);
std::string describe(const core::Event& event);
std::string describe(const core::Command& command);

}  // namespace falcon::simulation
