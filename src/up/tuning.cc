#include "up/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <variant>

#include "base/text.h"
#include "cli/spans.h"

namespace falcon::up {
namespace {

constexpr Duration kSecond{1'000};
constexpr Duration kMinute{60'000};
constexpr Duration kHour{3'600'000};
constexpr Duration kDay{24 * kHour};

struct Span {
  Duration& (*of)(Tuning&);
  Duration low;
  Duration high;
};
struct Number {
  std::uint32_t& (*of)(Tuning&);
  std::uint32_t low;
  std::uint32_t high;
};
struct Choice {
  bool& (*of)(Tuning&);
};
struct Tunable {
  std::string_view name;
  std::variant<Span, Number, Choice> value;
  std::string_view what;
};

#define FALCON_OF(member) [](Tuning& t) -> decltype(auto) { return (t.member); }

constexpr std::array kTunables{
    Tunable{"capacity-retry", Span{FALCON_OF(core.capacity_backoff.base), kSecond * 10, kDay},
            "after a stock-out a job asks again after this, twice as long each time"},
    Tunable{"capacity-retry-max", Span{FALCON_OF(core.capacity_backoff.cap), kSecond * 10, kDay},
            "... and at most after this"},
    Tunable{"delete-retry-max", Span{FALCON_OF(core.delete_backoff.cap), kMinute, kHour},
            "a deletion that fails is tried again at least this often, for ever"},
    Tunable{"disruptions-max", Number{FALCON_OF(core.disruptions_max), 0, 1'000},
            "so often a job that lost its machines runs again"},
    Tunable{"full-rotation", Choice{FALCON_OF(core.full_rotation)},
            "the actor served longest ago goes first, not only another than the last"},
    Tunable{"give-way-after", Span{FALCON_OF(core.give_way_after), kMinute, kDay},
            "so long a pool without its nodes is kept from a job of another shape"},
    Tunable{"give-way-for", Span{FALCON_OF(core.give_way_for), kMinute, kDay},
            "so long the queue of the pool that was given up makes none"},
    Tunable{"give-ways-an-hour", Number{FALCON_OF(core.give_ways_an_hour), 0, 60},
            "so often one job gives way"},
    Tunable{"idle-flex-start", Span{FALCON_OF(gke.idle_flex_start), kMinute, kDay},
            "GKE itself takes flex-start machines back that are idle for so long"},
    Tunable{"idle-on-demand", Span{FALCON_OF(gke.idle_on_demand), kMinute, kDay},
            "... and machines on demand"},
    Tunable{"idle-reservation", Span{FALCON_OF(gke.idle_reservation), kMinute, kDay},
            "... and machines of a reservation"},
    Tunable{"keep-limit", Span{FALCON_OF(core.keep_limit), kMinute, kDay},
            "a kept pool that its job has not taken by then is deleted"},
    Tunable{"move-waiting-jobs", Choice{FALCON_OF(core.move_waiting_jobs)},
            "a waiting job goes where it can be served at once"},
    Tunable{"node-lost-grace", Span{FALCON_OF(core.node_lost_grace), kMinute * 2, kDay},
            "a machine that nobody hears of for so long is lost"},
    Tunable{"orphan-grace", Span{FALCON_OF(core.orphan_grace), kMinute * 2, kDay},
            "a pool of ours that nothing explains is deleted after this"},
    Tunable{"pod-gone-margin", Span{FALCON_OF(core.pod_gone_margin), kSecond * 10, kHour},
            "pods that outlive their grace by this end with their pool"},
    Tunable{"pool-timeout", Span{FALCON_OF(core.pool_timeout), kMinute, kDay},
            "NodePoolTimeout, from the accepted create"},
    Tunable{"pool-timeout-per-4-hosts", Span{FALCON_OF(core.pool_timeout_per_4_hosts), {}, kHour},
            "... and this much more for every 4 hosts"},
    Tunable{"reservation-interval", Span{FALCON_OF(core.reservation_interval), kSecond * 5, kHour},
            "a busy reservation is read this often"},
    Tunable{"start-deadline", Span{FALCON_OF(core.start_deadline), kMinute, kDay},
            "pods that have not started so long after dispatch end the attempt"},
};

#undef FALCON_OF

std::string range_of(const Tunable& tunable) {
  if (const auto* span = std::get_if<Span>(&tunable.value))
    return fmt::format("{} to {}", cli::format_span(span->low), cli::format_span(span->high));
  if (const auto* number = std::get_if<Number>(&tunable.value))
    return fmt::format("{} to {}", number->low, number->high);
  return "true or false";
}

bool take(const Tunable& tunable, Tuning& tuning, std::string_view text) {
  if (const auto* span = std::get_if<Span>(&tunable.value)) {
    const auto given = cli::parse_span(text, span->high);
    if (!given || *given < span->low) return false;
    span->of(tuning) = *given;
    return true;
  }
  if (const auto* number = std::get_if<Number>(&tunable.value)) {
    std::uint32_t given = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), given);
    if (error != std::errc{} || end != text.data() + text.size() || given < number->low ||
        given > number->high)
      return false;
    number->of(tuning) = given;
    return true;
  }
  if (text != "true" && text != "false") return false;
  std::get<Choice>(tunable.value).of(tuning) = text == "true";
  return true;
}

std::string value_of(const Tunable& tunable, Tuning& tuning) {
  if (const auto* span = std::get_if<Span>(&tunable.value))
    return cli::format_span(span->of(tuning));
  if (const auto* number = std::get_if<Number>(&tunable.value))
    return std::to_string(number->of(tuning));
  return std::get<Choice>(tunable.value).of(tuning) ? "true" : "false";
}

}  // namespace

Result<std::monostate> set(Tuning& tuning, std::string_view assignment) {
  const auto refuse = [](const std::string& words) { return fail(ErrorKind::kInvalid, words); };
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos)
    return refuse(
        fmt::format("\"{}\" has no =; write it like pool-timeout=15m", clean_text(assignment, 80)));
  const std::string_view name = assignment.substr(0, equals);
  const std::string_view text = assignment.substr(equals + 1);
  const auto found = std::ranges::find(kTunables, name, &Tunable::name);
  if (found == kTunables.end()) {
    std::vector<std::string_view> known;
    for (const Tunable& tunable : kTunables) known.push_back(tunable.name);
    const std::string_view near = closest_word(name, known);
    return refuse(fmt::format("there is no setting \"{}\"{}", clean_text(name, 80),
                              near.empty() ? std::string("; --settings lists them")
                                           : fmt::format("; did you mean \"{}\"?", near)));
  }
  if (!take(*found, tuning, text))
    return refuse(
        fmt::format("{}: \"{}\" is not {}", name, clean_text(text, 80), range_of(*found)));
  return std::monostate{};
}

std::string contradiction(const Tuning& tuning) {
  const core::Backoff& capacity = tuning.core.capacity_backoff;
  if (capacity.base <= capacity.cap) return {};
  return fmt::format("capacity-retry ({}) is longer than capacity-retry-max ({})",
                     cli::format_span(capacity.base), cli::format_span(capacity.cap));
}

std::vector<TunableRow> tunable(const Tuning& tuning) {
  Tuning copy = tuning;
  std::vector<TunableRow> rows;
  for (const Tunable& each : kTunables)
    rows.push_back(
        {std::string(each.name), value_of(each, copy), range_of(each), std::string(each.what)});
  return rows;
}

}  // namespace falcon::up
