#include "filters/settings.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "filters/quoted.h"

namespace refrain::filters {
namespace {

template <auto Member>
void* field(Settings& settings) {
  return &(settings.*Member);
}

using enum SettingType;

constexpr SettingInfo kTable[] = {
    {"enabled", kBool, "", "yes or no", "trace at all",
     "With no, the library is loaded and does nothing.", "", 0, 0,
     field<&Settings::enabled>},
    {"limit", kCount, "iterations", "0 or more", "iterations of each loop to write in full",
     "The first N iterations of what repeats are written, later ones only marked and "
     "timed, until the program does something new. 0 writes everything.",
     "", 0, 1e15, field<&Settings::limit>},
    {"archive", kText, "", "path", "folder of the archive",
     "Empty: refrain-<program>-<date> in the folder where the program starts. An existing "
     "folder is not replaced: the next free of NAME.2, NAME.3, ... is taken.",
     "", 0, 0, field<&Settings::archive>},
    {"overwrite", kBool, "", "yes or no", "replace an archive that exists",
     "Only a folder that holds an archive or a spool of Refrain is ever removed.", "", 0, 0,
     field<&Settings::overwrite>},
    {"quiet", kBool, "", "yes or no", "no summary on stderr at the end",
     "Warnings about things lost are still printed.", "", 0, 0, field<&Settings::quiet>},
    {"budget", kBytes, "bytes", "0 (none) or 64K and more",
     "size of the archive: how many iterations are written follows",
     "In the place of limit: of each loop so many iterations are written that the archive "
     "has this size, the same number on all processes, at least one, and those in which a "
     "pattern broke or that were slow in any case. It is found at the end of the run; "
     "until "
     "then the spool has some eight times as many bytes, and more where there are many "
     "different loops.",
     "", 64 << 10, 1e15, field<&Settings::budget_bytes>, true},
    {"symbols", kChoice, "", "auto, parallel or functions", "what feeds the loop detector",
     "parallel: outermost parallel regions, as in the trace-scaling agent paper. auto: "
     "also the worksharing constructs and explicit barriers that the primary thread "
     "meets, for programs that keep one parallel region open; and regions of refrain.h. "
     "functions: also functions compiled with -finstrument-functions, for programs that "
     "have nothing else.",
     "auto|parallel|functions", 0, 0, field<&Settings::symbols>},
    {"mpi_frames", kCount, "frames", "0 to 16", "callers that tell MPI calls apart",
     "How many frames of the stack above the place of an MPI call are part of what the "
     "call "
     "is to the loop detector, for programs that call MPI through functions of their own. "
     "0: a call is its place, procedure and communicator. A frame costs some instructions "
     "a call.",
     "", 0, 16, field<&Settings::mpi_frames>},
    {"clock_every", kCount, "collectives", "0 (never) or more",
     "how often the clocks of MPI processes are compared on the way",
     "After every so many blocking collectives over MPI_COMM_WORLD all processes measure "
     "their "
     "clocks against that of process 0, as they do when MPI starts and ends, for clocks "
     "that do "
     "not drift evenly. It takes as long as some hundred messages.",
     "", 0, 1e15, field<&Settings::clock_every>},
    {"detector", kChoice, "", "nested, exact or matrix", "how loops are found",
     "nested: the loop nest itself, whatever the length of its bodies. matrix: one loop at "
     "a time by the paper's circular distance matrix (cost grows with max_period). exact: "
     "matrix' answers in constant time.",
     "nested|exact|matrix", 0, 0, field<&Settings::detector>},
    {"nested", kChoice, "", "first, each or once", "what limit counts in a nest of loops",
     "first: the iterations of a loop's body in the whole run; of further visits of it, in "
     "a "
     "written iteration of the loop around it, the first one is written, too, so that each "
     "written iteration can be read on its own. each: the first iterations of every visit "
     "of "
     "a loop in a written iteration of the loop around it (in a nest of k loops N^k). "
     "once: "
     "the iterations of a loop's body in the whole run; written iterations of outer loops "
     "lack their inner ones then.",
     "first|each|once", 0, 0, field<&Settings::nested>},
    {"window", kCount, "events", "1 to 1000000", "how long a repetition must have lasted",
     "N of the paper's equation 1: the last N symbols must equal those a period before. "
     "A loop is found after N events and one period. For the detectors matrix and exact.",
     "", 1, 1e6, field<&Settings::window_events>},
    {"max_period", kCount, "events", "1 to window", "longest period looked for",
     "M of the paper's equation 1: a loop whose body has more events is not found. For the "
     "detectors matrix and exact.",
     "", 1, 1e6, field<&Settings::max_period_events>},
    {"marks", kChoice, "", "all or summary", "marks of iterations that are not written",
     "all: begin and end of every iteration. summary: one count, total, least and "
     "greatest duration a gap.",
     "all|summary", 0, 0, field<&Settings::marks>},
    {"slow_factor", kNumber, "MAD", "0 (off) or more",
     "how far from its loop's median a kept iteration lies",
     "An iteration that would not be written is, if its duration differs from the median "
     "of "
     "its loop by more than so many median absolute deviations (after 20 iterations).",
     "", 0, 1e9, field<&Settings::slow_factor>},
    {"slow_share", kNumber, "", "0 to 1", "most events to write for such iterations",
     "As a share of all events. Those that differ most, in time, come first. In short runs "
     "the first that took twice, or half, as long as usual are kept beyond the share, up "
     "to "
     "20 times the share in all. 0: none.",
     "", 0, 1, field<&Settings::slow_share>},
    {"min_gap", kSeconds, "s", "0 or more", "shortest stretch worth leaving out",
     "Writing goes on until a gap would be so long; then it is made, from its begin on.",
     "", 0, 1e9, field<&Settings::min_gap_s>},
    {"from", kSeconds, "s", "0 or more", "begin to write so long after the start", "", "",
     0, 1e9, field<&Settings::from_s>},
    {"until", kSeconds, "s", "0 (never) or more", "write no more so long after the start",
     "Marks of iterations go on.", "", 0, 1e9, field<&Settings::until_s>},
    {"filter", kText, "", "path", "file of regions to leave out",
     "In the syntax of Score-P's filter files. Applied when the archive is written.", "", 0,
     0, field<&Settings::filter_file>},
    {"functions", kBool, "", "yes or no", "record functions",
     "Of programs compiled with -finstrument-functions.", "", 0, 0,
     field<&Settings::functions>},
    {"function_calls", kCount, "calls", "0 (never) or more",
     "switch a function off that was called so often and is short",
     "After so many calls a function is not recorded any more, if they took less than "
     "function_mean on average. Which ones were is told at the end.",
     "", 0, 1e15, field<&Settings::function_calls>},
    {"function_mean", kSeconds, "s", "0 or more", "a function that takes less is short", "",
     "", 0, 1e9, field<&Settings::function_mean_s>},
    {"counters", kText, "", "names with commas between", "counters to record",
     "Events of PAPI: presets (PAPI_TOT_INS), native ones, software-defined ones (sde:::). "
     "And what the system counts of each thread: page_faults (minor_faults, "
     "major_faults), context_switches (voluntary_switches, involuntary_switches), "
     "migrations, user_time, system_time.",
     "", 0, 0, field<&Settings::counters>},
    {"counters_at", kChoice, "", "boundaries or all", "where counters are read",
     "boundaries: where iterations, phases and parallel regions begin and end. all: at "
     "every "
     "recorded enter and leave.",
     "boundaries|all", 0, 0, field<&Settings::counters_at>},
    {"ring", kBytes, "bytes", "24K to 1G",
     "most memory of a location to keep held iterations in",
     "Holds the latest iterations until they are written or forgotten; only as much of it "
     "is used as they need. An iteration that does not fit keeps its latest part.",
     "", 24 << 10, 1 << 30, field<&Settings::ring_bytes>},
    {"chunk", kBytes, "bytes", "4K to 1G", "how much a spool file grows at a time", "", "",
     4096, 1 << 30, field<&Settings::chunk_bytes>},
    {"memory_limit", kBytes, "bytes", "1M or more",
     "most memory of rings and chunks in the process",
     "When half of it is used, further threads get smaller rings. A thread that would "
     "exceed "
     "it is not recorded; its events are counted as lost.",
     "", 1 << 20, 1e15, field<&Settings::memory_limit_bytes>},
    {"disk_limit", kBytes, "bytes", "0 (none) or 1M and more",
     "most bytes of the spool of a process", "What happens then: see limit_policy.", "",
     1 << 20, 1e18, field<&Settings::disk_limit_bytes>, true},
    {"limit_policy", kChoice, "", "hold or stop", "what happens when disk_limit is reached",
     "hold: events are no longer written, iterations are still marked. stop: nothing is "
     "recorded any more.",
     "hold|stop", 0, 0, field<&Settings::limit_policy>},
    {"keep_spool", kBool, "", "yes or no", "leave the spool beside the archive", "", "", 0,
     0, field<&Settings::keep_spool>},
    {"format", kChoice, "", "otf2, paraver, or both with a comma between",
     "what is written at the end",
     "otf2: the archive. paraver: also .prv, .pcf and .row, made from the archive and "
     "beside "
     "it; alone, they take its place.",
     "otf2|paraver|otf2,paraver|paraver,otf2", 0, 0, field<&Settings::format>},
    {"clock", kChoice, "", "auto, tsc, monotonic or logical", "clock of the time stamps",
     "auto: the time stamp counter where the kernel uses it itself, else "
     "CLOCK_MONOTONIC_RAW. logical: the same, and in archives of MPI jobs the clocks of "
     "ranks are corrected so that no message arrives before it was sent.",
     "auto|tsc|monotonic|logical", 0, 0, field<&Settings::clock>},
    {"writer_threads", kCount, "threads", "0 (as many as cores) to 1024",
     "threads that write the archive at the end", "", "", 0, 1024,
     field<&Settings::writer_threads>},
    {"libomp", kText, "", "path", "LLVM's OpenMP runtime, for programs linked with libgomp",
     "Used by refrain run. Empty: the one that the system finds.", "", 0, 0,
     field<&Settings::libomp>},
};

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
  return variable_name(info) + ": " + quoted(text) + " is not " +
         (info.type == kBool ? "yes or no" : std::string(type_name(info.type))) + " (" +
         info.range + ")";
}

std::string set_number(Settings& settings, const SettingInfo& info, std::string_view text) {
  const auto parsed = number_and_unit(text);
  if (!parsed) return complaint(info, text);
  const auto scale = scale_of(info.type, parsed->second);
  if (!scale) return complaint(info, text);
  const double value = parsed->first * *scale;
  const bool is_zero = info.or_zero && value == 0;
  if (!is_zero && (value < info.least || value > info.greatest))
    return complaint(info, text);
  if (info.type == kSeconds || info.type == kNumber) {
    *static_cast<double*>(info.field(settings)) = value;
    return {};
  }
  if (info.type == kCount && value != std::floor(value)) return complaint(info, text);
  *static_cast<std::uint64_t*>(info.field(settings)) = static_cast<std::uint64_t>(value);
  return {};
}

std::string set_bool(Settings& settings, const SettingInfo& info, std::string_view text) {
  const std::string word = lower(text);
  for (const char* yes : {"yes", "true", "on", "1"})
    if (word == yes) return *static_cast<bool*>(info.field(settings)) = true, std::string();
  for (const char* no : {"no", "false", "off", "0"})
    if (word == no) return *static_cast<bool*>(info.field(settings)) = false, std::string();
  return complaint(info, text);
}

std::string set_choice(Settings& settings, const SettingInfo& info, std::string_view text) {
  std::string_view rest = info.choices;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('|'));
    if (word == text) {
      *static_cast<std::string*>(info.field(settings)) = text;
      return {};
    }
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return complaint(info, text);
}

}  // namespace

std::span<const SettingInfo> setting_table() { return kTable; }

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
    case kText:
      return "a text";
  }
  return "";
}

std::string set_value(Settings& settings, const SettingInfo& info, std::string_view text) {
  switch (info.type) {
    case kBool:
      return set_bool(settings, info, text);
    case kChoice:
      return set_choice(settings, info, text);
    case kText:
      *static_cast<std::string*>(info.field(settings)) = text;
      return {};
    default:
      return set_number(settings, info, text);
  }
}

std::string value_text(const Settings& settings, const SettingInfo& info) {
  const void* at = info.field(const_cast<Settings&>(settings));
  switch (info.type) {
    case kBool:
      return *static_cast<const bool*>(at) ? "yes" : "no";
    case kChoice:
    case kText:
      return *static_cast<const std::string*>(at);
    case kSeconds:
    case kNumber: {
      std::array<char, 32> text{};
      const auto end =
          std::to_chars(text.begin(), text.end(), *static_cast<const double*>(at));
      return {text.begin(), end.ptr};
    }
    default:
      return std::to_string(*static_cast<const std::uint64_t*>(at));
  }
}

std::string check_together(const Settings& settings) {
  if (settings.max_period_events > settings.window_events)
    return "REFRAIN_MAX_PERIOD: " + std::to_string(settings.max_period_events) +
           " is more than REFRAIN_WINDOW, " + std::to_string(settings.window_events);
  if (settings.until_s > 0 && settings.until_s <= settings.from_s)
    return "REFRAIN_UNTIL: the time window ends before it begins";
  return {};
}

std::vector<std::string> read_settings(Settings& settings,
                                       const char* (*lookup)(const char* variable)) {
  std::vector<std::string> complaints;
  bool window_given = false;
  bool period_given = false;
  for (const SettingInfo& info : kTable) {
    const char* text = lookup(variable_name(info).c_str());
    if (text == nullptr || *text == 0) continue;
    window_given |= std::string_view(info.name) == "window";
    period_given |= std::string_view(info.name) == "max_period";
    if (std::string wrong = set_value(settings, info, text); !wrong.empty())
      complaints.push_back(std::move(wrong));
  }
  // Who sets one of the pair means the other to fit.
  if (window_given && !period_given)
    settings.max_period_events =
        std::min(settings.max_period_events, settings.window_events);
  if (period_given && !window_given)
    settings.window_events = std::max(settings.max_period_events, settings.window_events);
  if (std::string wrong = check_together(settings); !wrong.empty()) {
    complaints.push_back(std::move(wrong));
    settings.max_period_events =
        std::min(settings.max_period_events, settings.window_events);
    if (settings.until_s <= settings.from_s) settings.until_s = 0;
  }
  return complaints;
}

}  // namespace refrain::filters
