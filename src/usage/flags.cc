#include "usage/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace falcon::usage {
namespace {

std::string shown(std::string_view text) { return "\"" + clean_text(text, 80) + "\""; }

bool all(const CLI::App*) { return true; }

// "-o,--output" is called --output, a positional by what stands for it in the help.
std::string name_of(const CLI::Option& option) {
  if (!option.get_lnames().empty()) return "--" + option.get_lnames().front();
  std::string name = option.get_name();
  if (option.get_positional())
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    });
  return name;
}

std::string list_of(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::vector<std::string> subcommands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands(all)) names.push_back(sub->get_name());
  return names;
}

// What has to be given and was not.
std::string what_is_missing(const CLI::App& command) {
  std::vector<std::string> missing;
  for (const CLI::Option* option : command.get_options())
    if (option->get_required() && option->count() == 0) missing.push_back(name_of(*option));
  if (!missing.empty())
    return fmt::format("{} {} missing", list_of(missing), missing.size() == 1 ? "is" : "are");
  return fmt::format("say which: {}", list_of(subcommands_of(command)));
}

// The first word that nobody took.
std::string what_is_too_much(const CLI::App& app, const CLI::App& command,
                             std::span<const std::string> args) {
  const std::vector<std::string> left = app.remaining(true);
  const std::string word = left.empty() ? "" : left.front();
  const std::string near = suggestion(command, args);
  if (word.starts_with('-')) return fmt::format("there is no flag {}{}", shown(word), near);
  const std::vector<std::string> known = subcommands_of(command);
  if (!known.empty())
    return fmt::format("there is no {}{}", shown(word),
                       near.empty() ? "; there are " + list_of(known) : near);
  return fmt::format("{} is one word too many{}", shown(word), near);
}

// The option that the parser's words begin with or name.
const CLI::Option* option_in(const CLI::App& command, const std::string& words) {
  const std::string name = words.substr(0, words.find_first_of(": "));
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent())
    for (const CLI::Option* option : app->get_options())
      if (option->check_name(name)) return option;
  return nullptr;
}

std::string wrong_count(const CLI::App& command, const std::string& words) {
  const CLI::Option* option = option_in(command, words);
  if (option == nullptr) return clean_text(words, 300);
  if (option->get_items_expected_max() == 0) return name_of(*option) + " takes no value";
  if (option->count() > 1) return name_of(*option) + " is given twice";
  return name_of(*option) + " needs a value";
}

// "Could not convert: --speed = fast", or a value for a flag that takes none.
std::string no_number(const CLI::App& command, const std::string& words) {
  const std::size_t colon = words.find(": ");
  const std::string rest =
      words.starts_with('-') || colon == std::string::npos ? words : words.substr(colon + 2);
  const CLI::Option* option = option_in(command, rest);
  if (option == nullptr) return clean_text(words, 300);
  if (option->get_items_expected_max() == 0) return name_of(*option) + " takes no value";
  return fmt::format("{}: {} is no number", name_of(*option),
                     shown(option->results().empty() ? "" : option->results().front()));
}

}  // namespace

CLI::Option* add_number(CLI::App& app, const std::string& names, std::int64_t low,
                        std::int64_t high, const std::function<void(std::int64_t)>& take,
                        const std::string& what) {
  const std::string name = names.substr(names.find("--"));
  return app.add_option_function<std::string>(
      names,
      [=](const std::string& text) {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc::invalid_argument || end != text.data() + text.size())
          throw CLI::ValidationError(
              name, fmt::format("{} is no whole number; {} to {}", shown(text), low, high));
        if (error != std::errc() || value < low || value > high)
          throw CLI::ValidationError(name,
                                     fmt::format("{} is not in {} to {}", shown(text), low, high));
        take(value);
      },
      what);
}

CLI::Option* add_choice(CLI::App& app, const std::string& names,
                        const std::vector<std::string>& words,
                        const std::function<void(std::size_t)>& take, const std::string& what) {
  const std::string name = names.substr(names.find("--"));
  return app.add_option_function<std::string>(
      names,
      [=](const std::string& text) {
        const auto found = std::ranges::find(words, text);
        if (found == words.end()) {
          const std::vector<std::string_view> known(words.begin(), words.end());
          const std::string_view near = closest_word(text, known);
          throw CLI::ValidationError(
              name, fmt::format("{} is not one of {}{}", shown(text), list_of(words),
                                near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
        }
        take(static_cast<std::size_t>(found - words.begin()));
      },
      what);
}

const CLI::App& innermost(const CLI::App& app, std::string& path) {
  const CLI::App* inner = &app;
  path = app.get_name();
  while (!inner->get_subcommands().empty()) {
    inner = inner->get_subcommands().front();
    path += " " + inner->get_name();
  }
  return *inner;
}

std::string suggestion(const CLI::App& command, std::span<const std::string> args) {
  std::vector<std::string> names = subcommands_of(command);
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const std::string& arg : args) {
    const std::string word = arg.substr(0, arg.find('='));
    if (std::ranges::find(names, word) != names.end()) continue;
    std::string_view near = closest_word(word, known);
    // The first words of a longer flag: --tpu for --tpu-type.
    for (const std::string_view longer : known)
      if (near.empty() && word.starts_with("--") && longer.starts_with(word + "-")) near = longer;
    if (!near.empty()) return fmt::format("; did you mean \"{}\"?", near);
  }
  return {};
}

std::string complaint(const CLI::App& app, const CLI::ParseError& error,
                      std::span<const std::string> args) {
  std::string path;
  const CLI::App& command = innermost(app, path);
  std::string words = error.what();
  std::ranges::replace(words, '\n', ' ');
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::RequiredError:  // also when the word for it is none of ours
      if (!app.remaining(true).empty()) return what_is_too_much(app, command, args);
      return what_is_missing(command);
    case CLI::ExitCodes::ExtrasError:
      return what_is_too_much(app, command, args);
    case CLI::ExitCodes::ConversionError:
      return no_number(command, words);
    case CLI::ExitCodes::ArgumentMismatch:
      return wrong_count(command, words);
    default:  // our own words: checks of values throw them
      return clean_text(words, 500);
  }
}

}  // namespace falcon::usage
