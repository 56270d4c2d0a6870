#include "simserver/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "simserver/kube_json.h"

namespace falcon::simserver {
namespace {

constexpr std::array<std::string_view, 10> kFields{"metadata.name",
                                                   "metadata.namespace",
                                                   "spec.nodeName",
                                                   "status.phase",
                                                   "involvedObject.kind",
                                                   "involvedObject.namespace",
                                                   "involvedObject.name",
                                                   "involvedObject.uid",
                                                   "reason",
                                                   "type"};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// At commas outside of parentheses.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    const std::string_view part = trimmed(text.substr(start, i - start));
    if (!part.empty()) parts.push_back(part);
    start = i + 1;
  }
  return parts;
}

std::optional<std::string> field_of(const cloudsim::Object& object, std::string_view key) {
  if (key == "metadata.name") return object.name;
  if (key == "metadata.namespace") return object.kube_namespace;
  if (const auto* pod = std::get_if<cloudsim::PodObject>(&object.body)) {
    if (key == "spec.nodeName") return pod->node.value();
    if (key == "status.phase") return std::string(to_string(pod->phase));
  }
  if (const auto* event = std::get_if<cloudsim::EventObject>(&object.body)) {
    if (key == "involvedObject.name") return event->about_name;
    if (key == "involvedObject.uid") return event->about_uid.value();
    if (key == "involvedObject.kind") return std::string(names_of(event->about_kind).name);
    if (key == "involvedObject.namespace") return event->about_namespace;
    if (key == "reason") return event->reason;
    if (key == "type") return std::string(event->warning ? "Warning" : "Normal");
  }
  return std::nullopt;
}

}  // namespace

Result<Selector::Term> Selector::label_term(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorKind::kInvalid, fmt::format("unable to parse requirement: \"{}\"", text));
  };
  const auto with = [](std::string_view key, Operator what, std::vector<std::string> values) {
    return Term{std::string(trimmed(key)), what, std::move(values)};
  };
  if (const std::size_t at = text.find("!="); at != std::string_view::npos)
    return with(text.substr(0, at), Operator::kNotIn, {std::string(trimmed(text.substr(at + 2)))});
  if (const std::size_t at = text.find('='); at != std::string_view::npos) {
    const std::size_t skip = text.substr(at).starts_with("==") ? 2 : 1;
    return with(text.substr(0, at), Operator::kIn, {std::string(trimmed(text.substr(at + skip)))});
  }
  if (const std::size_t open = text.find('('); open != std::string_view::npos) {
    const std::string_view head = trimmed(text.substr(0, open));
    const std::size_t space = head.rfind(' ');
    if (space == std::string_view::npos || !text.ends_with(')')) return bad();
    const std::string_view word = head.substr(space + 1);
    if (word != "in" && word != "notin") return bad();
    std::vector<std::string> values;
    for (const std::string_view value : split(text.substr(open + 1, text.size() - open - 2)))
      values.emplace_back(value);
    return with(head.substr(0, space), word == "in" ? Operator::kIn : Operator::kNotIn,
                std::move(values));
  }
  if (text.starts_with('!')) return with(text.substr(1), Operator::kAbsent, {});
  if (text.find(' ') != std::string_view::npos) return bad();
  return with(text, Operator::kExists, {});
}

Result<Selector::Term> Selector::field_term(std::string_view text) {
  FALCON_TRY(term, label_term(text));
  const bool compares = term.what == Operator::kIn || term.what == Operator::kNotIn;
  if (!compares || std::ranges::find(kFields, term.key) == kFields.end())
    return fail(ErrorKind::kInvalid, fmt::format("field label not supported: {} (known here: {})",
                                                 term.key, fmt::join(kFields, ", ")));
  return term;
}

Result<Selector> Selector::parse(std::string_view labels, std::string_view fields) {
  Selector selector;
  for (const std::string_view part : split(labels)) {
    FALCON_TRY(term, label_term(part));
    selector.labels_.push_back(std::move(term));
  }
  for (const std::string_view part : split(fields)) {
    FALCON_TRY(term, field_term(part));
    selector.fields_.push_back(std::move(term));
  }
  return selector;
}

bool Selector::holds(const Term& term, const std::string* value) {
  const bool listed =
      value != nullptr && std::ranges::find(term.values, *value) != term.values.end();
  switch (term.what) {
    case Operator::kIn:
      return listed;
    case Operator::kNotIn:
      return !listed;
    case Operator::kExists:
      return value != nullptr;
    case Operator::kAbsent:
      return value == nullptr;
  }
  std::abort();
}

bool Selector::matches(const cloudsim::Object& object, const Calendar& calendar) const {
  for (const Term& term : fields_) {
    const auto value = field_of(object, term.key);
    if (!holds(term, value ? &*value : nullptr)) return false;
  }
  if (labels_.empty()) return true;
  const cloudsim::Labels labels = labels_of(object, calendar);
  return std::ranges::all_of(labels_, [&](const Term& term) {
    const auto found = labels.find(term.key);
    return holds(term, found == labels.end() ? nullptr : &found->second);
  });
}

}  // namespace falcon::simserver
