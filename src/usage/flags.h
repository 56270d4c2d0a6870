// Flags of commands whose values are checked here, and complaints in our own words instead of the
// parser's: what was given, what is allowed, what was meant. Shared by all commands of the program.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace falcon::usage {

// A whole number in [low, high]; both are named when it is none.
CLI::Option* add_number(CLI::App& app, const std::string& names, std::int64_t low,
                        std::int64_t high, const std::function<void(std::int64_t)>& take,
                        const std::string& what);

// One of `words`, whose place in the list is taken.
CLI::Option* add_choice(CLI::App& app, const std::string& names,
                        const std::vector<std::string>& words,
                        const std::function<void(std::size_t)>& take, const std::string& what);

// Why `error` came out of parsing `args` with `app`: one line without the command's name and end.
std::string complaint(const CLI::App& app, const CLI::ParseError& error,
                      std::span<const std::string> args);

// The command as far as it was understood ("falcon get"), and the app that it belongs to.
const CLI::App& innermost(const CLI::App& app, std::string& path);

// "; did you mean "--topology"?" for the first of `args` that the command does not know and that is
// close to one that it does; else empty.
std::string suggestion(const CLI::App& command, std::span<const std::string> args);

}  // namespace falcon::usage
