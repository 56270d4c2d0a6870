#include "words/words.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "words/catalog.h"

namespace falcon::words {
namespace {

using Arguments = std::vector<std::pair<std::string_view, std::string_view>>;

const Catalog& catalog_of(Language language) {
  return language == Language::kZh ? catalog_zh() : catalog_en();
}

std::string_view value_of(const Arguments& arguments, std::string_view name) {
  const auto found =
      std::ranges::find_if(arguments, [&](const auto& argument) { return argument.first == name; });
  return found == arguments.end() ? std::string_view() : found->second;
}

// One pass over the template; arguments are copied, never read as template.
std::string fill(std::string_view form, const Arguments& arguments) {
  std::string text;
  std::size_t section_begin = 0;
  bool section_has_gap = false;
  for (std::size_t at = 0; at < form.size(); ++at) {
    if (form[at] == '[') {
      section_begin = text.size();
      section_has_gap = false;
    } else if (form[at] == ']') {
      if (section_has_gap) text.resize(section_begin);
    } else if (form[at] == '{') {
      const std::size_t end = form.find('}', at);
      const std::string_view value = value_of(arguments, form.substr(at + 1, end - at - 1));
      section_has_gap = section_has_gap || value.empty();
      text += value;
      at = end;
    } else {
      text += form[at];
    }
  }
  return text;
}

}  // namespace

std::optional<Language> language_from_string(std::string_view text) {
  const std::string_view primary = text.substr(0, text.find_first_of("-_."));
  if (primary == "zh") return Language::kZh;
  if (primary == "en") return Language::kEn;
  return std::nullopt;
}

std::string render(const model::Message& message, Language language) {
  const std::vector<std::string_view> names = model::argument_names(message.code);
  Arguments arguments;
  for (std::size_t i = 0; i < names.size() && i < message.arguments.size(); ++i)
    arguments.emplace_back(names[i], message.arguments[i]);
  return fill(catalog_of(language).message(message.code), arguments);
}

std::string render_with_cleanup(const model::JobState& state, Language language) {
  std::string text = render(state.message, language);
  if (state.cleanup != model::Cleanup::kFailed) return text;
  if (!text.empty()) text += "; ";
  return text + fill(catalog_of(language).cleanup_failed, {{"error", state.cleanup_error}});
}

std::string render_names(std::span<const QueuedJob> first, std::size_t ahead, Language language) {
  std::string text;
  for (const QueuedJob& job : first) {
    if (!text.empty()) text += ", ";
    text += job.actor;
    text += ": ";
    text += job.name;
  }
  if (ahead <= first.size()) return text;
  const std::string all = std::to_string(ahead);
  const std::string rest = std::to_string(ahead - first.size());
  return text + fill(catalog_of(language).names_cut, {{"ahead", all}, {"rest", rest}});
}

}  // namespace falcon::words
