#include "filters/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/texts.h"

namespace refrain::filters {
namespace {

using enum SettingType;

template <typename T>
T& value_of(Settings& settings, const SettingInfo& info) {
  return settings.*std::get<T Settings::*>(info.field);
}

template <typename T>
const T& value_of(const Settings& settings, const SettingInfo& info) {
  return settings.*std::get<T Settings::*>(info.field);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Splits "12.5ms" into the number and what follows it; nothing if there is no number.
std::optional<std::pair<double, std::string_view>> number_and_unit(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return std::pair{value, text};
}

std::optional<double> scale_of(SettingType type, std::string_view unit) {
  struct Unit {
    const char* name;
    double scale;
  };
  static constexpr Unit kSeconds[] = {{"", 1},      {"s", 1},  {"ms", 1e-3}, {"us", 1e-6},
                                      {"ns", 1e-9}, {"m", 60}, {"min", 60},  {"h", 3600}};
  static constexpr Unit kBytes[] = {{"", 1},
                                    {"b", 1},
                                    {"k", 1 << 10},
                                    {"kib", 1 << 10},
                                    {"kb", 1 << 10},
                                    {"m", 1 << 20},
                                    {"mib", 1 << 20},
                                    {"mb", 1 << 20},
                                    {"g", 1 << 30},
                                    {"gib", 1 << 30},
                                    {"gb", 1 << 30},
                                    {"t", 1ULL << 40},
                                    {"tib", 1ULL << 40}};
  static constexpr Unit kPlain[] = {{"", 1}};
  const auto find = [&](std::span<const Unit> units) -> std::optional<double> {
    for (const Unit& u : units)
      if (lower(unit) == u.name) return u.scale;
    return std::nullopt;
  };
  if (type == SettingType::kSeconds) return find(kSeconds);
  if (type == SettingType::kBytes) return find(kBytes);
  return find(kPlain);
}

std::string complaint(const SettingInfo& info, std::string_view text) {
  return variable_name(info) + ": " + base::quoted(text) + " is not " +
         (info.type == kBool ? "yes or no" : std::string(type_name(info.type))) + " (" +
         info.range + ")";
}

base::Result<> set_number(Settings& settings, const SettingInfo& info,
                          std::string_view text) {
  const auto parsed = number_and_unit(text);
  if (!parsed) return base::Failure{complaint(info, text)};
  const auto scale = scale_of(info.type, parsed->second);
  if (!scale) return base::Failure{complaint(info, text)};
  const double value = parsed->first * *scale;
  const bool is_zero = info.or_zero && value == 0;
  if (!is_zero && (value < info.minimum || value > info.maximum))
    return base::Failure{complaint(info, text)};
  if (info.type == kSeconds || info.type == kNumber) {
    value_of<double>(settings, info) = value;
    return {};
  }
  if (info.type == kCount && value != std::floor(value))
    return base::Failure{complaint(info, text)};
  value_of<std::uint64_t>(settings, info) = static_cast<std::uint64_t>(value);
  return {};
}

base::Result<> set_bool(Settings& settings, const SettingInfo& info,
                        std::string_view text) {
  const std::string word = lower(text);
  for (const char* yes : {"yes", "true", "on", "1"})
    if (word == yes) return value_of<bool>(settings, info) = true, base::Result<>();
  for (const char* no : {"no", "false", "off", "0"})
    if (word == no) return value_of<bool>(settings, info) = false, base::Result<>();
  return base::Failure{complaint(info, text)};
}

// The last choice of a setting that is counted, "choice=N": N. 0: it is something else.
std::uint64_t count_of(const SettingInfo& info, std::string_view text) {
  constexpr std::uint64_t kMax = 1'000'000;
  if (!info.counted) return 0;
  std::string_view last = info.choices;
  last.remove_prefix(last.rfind('|') + 1);
  if (text == last) return 1;
  if (!text.starts_with(last)) return 0;
  text.remove_prefix(last.size());
  std::uint64_t count = 0;
  const char* const end = text.data() + text.size();
  if (!text.starts_with('=')) return 0;
  const auto parsed = std::from_chars(text.data() + 1, end, count);
  if (parsed.ec != std::errc() || parsed.ptr != end) return 0;
  return count <= kMax ? count : 0;
}

base::Result<> set_choice(Settings& settings, const SettingInfo& info,
                          std::string_view text) {
  if (!text.empty() && text == info.old_choice.name) text = info.old_choice.now;
  std::string_view rest = info.choices;
  const bool counted = count_of(info, text) != 0;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('|'));
    if (word == text || counted) {
      value_of<std::string>(settings, info) = text;
      return {};
    }
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return base::Failure{complaint(info, text)};
}

// The word up to the next separator, which is taken off with it.
std::string_view take_word(std::string_view& rest, char separator) {
  const std::string_view word = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  return word;
}

base::Result<> set_list(Settings& settings, const SettingInfo& info,
                        std::string_view text) {
  const std::string_view choices = info.choices;
  const std::string_view alone = choices.substr(choices.rfind('|') + 1);
  std::string_view rest = text;
  bool good = !text.empty() && text.back() != ',';
  while (good && !rest.empty()) {
    const std::string_view word = take_word(rest, ',');
    good = false;
    for (std::string_view known = choices; !known.empty() && !good;)
      good = take_word(known, '|') == word && (word != alone || text == alone);
  }
  if (!good) return base::Failure{complaint(info, text)};
  value_of<std::string>(settings, info) = text;
  return {};
}

}  // namespace

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty())
    if (take_word(list, ',') == word) return true;
  return false;
}

std::uint64_t representatives(const Settings& settings) {
  for (const SettingInfo& info : setting_table())
    if (std::string_view(info.name) == "ranks") return count_of(info, settings.ranks);
  return 0;
}

std::string variable_name(const SettingInfo& info) {
  std::string out = "REFRAIN_";
  for (const char* c = info.name; *c != 0; ++c)
    out += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  return out;
}

const char* type_name(SettingType type) {
  switch (type) {
    case kBool:
      return "a switch";
    case kCount:
      return "a number";
    case kBytes:
      return "a size";
    case kSeconds:
      return "a time";
    case kNumber:
      return "a factor";
    case kChoice:
      return "a choice";
    case kList:
      return "a list";
    case kText:
      return "a text";
  }
  return "";
}

base::Result<> set_value(Settings& settings, const SettingInfo& info,
                         std::string_view text) {
  switch (info.type) {
    case kBool:
      return set_bool(settings, info, text);
    case kChoice:
      return set_choice(settings, info, text);
    case kList:
      return set_list(settings, info, text);
    case kText:
      value_of<std::string>(settings, info) = text;
      return {};
    default:
      return set_number(settings, info, text);
  }
}

std::string value_text(const Settings& settings, const SettingInfo& info) {
  switch (info.type) {
    case kBool:
      return value_of<bool>(settings, info) ? "yes" : "no";
    case kChoice:
    case kList:
    case kText:
      return value_of<std::string>(settings, info);
    case kSeconds:
    case kNumber: {
      std::array<char, 32> text{};
      const auto end =
          std::to_chars(text.begin(), text.end(), value_of<double>(settings, info));
      return {text.begin(), end.ptr};
    }
    default:
      return std::to_string(value_of<std::uint64_t>(settings, info));
  }
}

base::Result<> check_together(const Settings& settings) {
  if (settings.max_period_events > settings.window_events)
    return base::Failure{
        "REFRAIN_MAX_PERIOD: " + std::to_string(settings.max_period_events) +
        " is more than REFRAIN_WINDOW, " + std::to_string(settings.window_events)};
  if (settings.until_s > 0 && settings.until_s <= settings.from_s)
    return base::Failure{"REFRAIN_UNTIL: the time window ends before it starts"};
  if (settings.summary_only && settings.summary_bytes == 0)
    return base::Failure{
        "REFRAIN_SUMMARY_ONLY: without a summary (REFRAIN_SUMMARY_MEMORY is 0) nothing "
        "would be recorded"};
  if (settings.report && settings.format == "paraver")
    return base::Failure{
        "REFRAIN_REPORT: a report is made from the archive, which REFRAIN_FORMAT=paraver "
        "leaves out; use otf2,paraver"};
  if (settings.summary_only && settings.format != "otf2")
    return base::Failure{
        "REFRAIN_SUMMARY_ONLY: without events there is no trace for Paraver "
        "(REFRAIN_FORMAT)"};
  return {};
}

std::vector<std::string> read_settings(Settings& settings,
                                       const char* (*lookup)(const char* variable)) {
  std::vector<std::string> complaints;
  bool window_given = false;
  bool period_given = false;
  for (const SettingInfo& info : setting_table()) {
    const char* text = lookup(variable_name(info).c_str());
    if (text == nullptr || *text == 0) continue;
    window_given |= std::string_view(info.name) == "window";
    period_given |= std::string_view(info.name) == "max_period";
    if (const auto done = set_value(settings, info, text); !done)
      complaints.push_back(done.error());
  }
  // If only one of the pair is set, the other is fitted to it.
  if (window_given && !period_given)
    settings.max_period_events =
        std::min(settings.max_period_events, settings.window_events);
  if (period_given && !window_given)
    settings.window_events = std::max(settings.max_period_events, settings.window_events);
  if (const auto done = check_together(settings); !done) {
    complaints.push_back(done.error());
    settings.max_period_events =
        std::min(settings.max_period_events, settings.window_events);
    if (settings.until_s <= settings.from_s) settings.until_s = 0;
    if (settings.format == "paraver") settings.report = false;
    if (settings.summary_only) {
      settings.format = "otf2";
      settings.summary_only = settings.summary_bytes != 0;
    }
  }
  return complaints;
}

}  // namespace refrain::filters
