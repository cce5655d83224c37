#include "analysis/archive_info.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/archive_files.h"
#include "base/result.h"
#include "reader/archive_stream.h"
#include "reader/trace.h"

namespace refrain::analysis {
namespace {

using nlohmann::json;
using reader::EventKind;
using reader::TraceEvent;

// Adds up the marks of iterations, location by location and loop by loop.
//
// Thread-safety: none. Ownership: plain values; refers to the definitions.
// Units: ticks of the location's clock. Errors: none; unmatched begins and ends
// are left out. Cost: O(1) an event; memory for the loops and the open iterations of a location.

// Sums of the marks of a loop's complete iterations on one location.
struct MarkSums {
  std::uint64_t iterations = 0;
  std::uint64_t written = 0;  // whole
  std::uint64_t partial = 0;
  double ticks = 0;
  double squares = 0;  // of ticks
  std::uint64_t least_ticks = 0;
  std::uint64_t greatest_ticks = 0;
};

class MarkSumsSink final : public reader::TraceSink {
 public:
  // Called for each location that has marks, when all of them are known, with its index and
  // the region's index of each loop that has begun there.
  using Take = std::function<void(std::uint32_t location, std::uint32_t region,
                                  const MarkSums& sums)>;
  explicit MarkSumsSink(Take take) : take_(std::move(take)) {}

  base::Result<> begin(const reader::TraceDefinitions& definitions) override;
  void event(const reader::TraceEvent& event) override;
  std::string error() const override { return {}; }
  base::Result<> finish(std::uint64_t end_ns) override;

 private:
  struct Open {
    std::uint32_t region;
    std::uint64_t ticks;
    bool written;
    bool partial;
    bool complete;
  };
  void begin_iteration(const reader::TraceEvent& event);
  void end_iteration(const reader::TraceEvent& event);
  void hand_over();

  Take take_;
  std::optional<MarkAttributes> attributes_;
  std::uint32_t location_ = reader::kNone;  // whose marks come
  std::vector<Open> open_;
  std::map<std::uint32_t, MarkSums> sums_;  // by region
};

base::Result<> MarkSumsSink::begin(const reader::TraceDefinitions& definitions) {
  attributes_.emplace(definitions);
  return {};
}

void MarkSumsSink::event(const TraceEvent& event) {
  if (!attributes_->is_mark(event)) return;
  if (event.location != location_) hand_over();
  location_ = event.location;
  if (event.kind == EventKind::kEnter)
    begin_iteration(event);
  else
    end_iteration(event);
}

void MarkSumsSink::begin_iteration(const TraceEvent& event) {
  open_.push_back({event.ref, event.ticks, attributes_->written(event),
                   attributes_->partial(event), attributes_->complete(event)});
  sums_.try_emplace(event.ref);
}

void MarkSumsSink::end_iteration(const TraceEvent& event) {
  if (open_.empty() || open_.back().region != event.ref) return;
  const Open mark = open_.back();
  open_.pop_back();
  if (!mark.complete || event.uncertain) return;
  const std::uint64_t ticks = event.ticks - mark.ticks;
  MarkSums& sums = sums_[mark.region];
  sums.least_ticks = sums.iterations == 0 ? ticks : std::min(sums.least_ticks, ticks);
  sums.greatest_ticks = std::max(sums.greatest_ticks, ticks);
  ++sums.iterations;
  sums.written += mark.written && !mark.partial;
  sums.partial += mark.partial;
  const auto value = static_cast<double>(ticks);
  sums.ticks += value;
  sums.squares += value * value;
}

void MarkSumsSink::hand_over() {
  for (const auto& [region, sums] : sums_) take_(location_, region, sums);
  sums_.clear();
  open_.clear();
}

base::Result<> MarkSumsSink::finish(std::uint64_t) {
  hand_over();
  return {};
}

constexpr const char* kPrefix = "REFRAIN::";

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class InfoReader {
 public:
  explicit InfoReader(const std::string& path) : path_(path) {}

  base::Result<ArchiveInfo> read() {
    if (const auto done = open(); !done) return done.failure();
    take_properties();
    take_definitions();
    take_loops();
    if (const auto done = take_marks(); !done) return done.failure();
    stream_.note_cut_files();
    info_.events_unreadable = stream_.missing_events();
    sort_phases();
    const base::ArchiveBytes bytes = base::archive_bytes(base::archive_folder(path_));
    info_.archive_bytes = bytes.all;
    info_.event_bytes = bytes.events;
    info_.totals = read_run_totals(base::archive_folder(path_), definitions_);
    info_.properties = definitions_.properties;
    return std::move(info_);
  }

 private:
  base::Result<> open() {
    if (const auto done = stream_.open_anchor(path_); !done) return done;
    if (!definitions_.is_refrain())
      return base::Failure{
          path_ +
          ": not an archive of Refrain; 'refrain profile' and 'refrain analyze' read those of other tools"};
    return stream_.read_definitions(reader::DefinitionChoice::kWithoutGroups);
  }

  const std::string& property(const std::string& name) const {
    static const std::string kEmpty;
    const auto found = definitions_.properties.find(kPrefix + name);
    return found == definitions_.properties.end() ? kEmpty : found->second;
  }

  void take_properties() {
    info_.machine = definitions_.machine;
    info_.version = property("VERSION");
    info_.command = property("COMMAND");
    info_.events_seen = number(property("EVENTS_SEEN"));
    info_.events_written = number(property("EVENTS_WRITTEN"));
    info_.events_filtered = number(property("EVENTS_FILTERED"));
    info_.locks_left_out = number(property("LOCKS_LEFT_OUT"));
    info_.gaps = number(property("GAPS"));
    info_.mark_records = number(property("MARK_RECORDS"));
    info_.threads_missing = number(property("THREADS_MISSING"));
    info_.threads_unrecorded = number(property("THREADS_UNRECORDED"));
    info_.records_damaged = number(property("RECORDS_DAMAGED"));
    info_.structure = property("STRUCTURE");
    info_.recovered = property("RECOVERED") == "1";
    take_mpi();
    const std::string lost = std::string(kPrefix) + "LOST::";
    for (const auto& [name, value] : definitions_.properties) {
      if (!name.starts_with(lost)) continue;
      std::string cause = name.substr(lost.size());
      std::transform(cause.begin(), cause.end(), cause.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      info_.lost[cause] = number(value);
    }
  }

  void take_mpi() {
    MpiInfo& mpi = info_.mpi;
    mpi.used = !property("MESSAGES").empty();
    const std::pair<const char*, std::uint64_t*> values[] = {
        {"MESSAGES", &mpi.messages},
        {"SENDS_DROPPED", &mpi.sends_dropped},
        {"RECEIVES_DROPPED", &mpi.receives_dropped},
        {"MESSAGE_BYTES", &mpi.bytes},
        {"COLLECTIVES", &mpi.collectives},
        {"COLLECTIVES_DROPPED", &mpi.collectives_dropped},
        {"ONE_SIDED", &mpi.one_sided},
        {"ONE_SIDED_DROPPED", &mpi.one_sided_dropped},
        {"POLLS_TOGETHER", &mpi.polls_together},
        {"CLOCK_CHECKED", &mpi.clock_checked},
        {"CLOCK_VIOLATIONS", &mpi.clock_violations},
        {"CLOCK_REPAIRED", &mpi.clock_repaired},
        {"ITERATIONS_GIVEN_UP", &mpi.iterations_given_up},
        {"ITERATIONS_ALONE", &mpi.iterations_alone}};
    for (const auto& [name, value] : values) *value = number(property(name));
  }

  void take_definitions() {
    ns_ = 1e9 / static_cast<double>(definitions_.ticks_per_second);
    info_.duration_s =
        static_cast<double>(definitions_.end_ticks - definitions_.base_ticks) * ns_ / 1e9;
    info_.start_epoch_ns = definitions_.realtime_ns;
    info_.processes = definitions_.location_groups;
    info_of_.assign(definitions_.locations.size(), 0);
    for (std::uint32_t i = 0; i < definitions_.locations.size(); ++i) {
      const reader::LocationInfo& from = definitions_.locations[i];
      info_.archive_events += from.events;
      if (from.type == OTF2_LOCATION_TYPE_ACCELERATOR_STREAM) {
        // Those of a device are a group of their own; the first one's upper half is 0.
        if (from.ref >> 32 == 0) --info_.processes;
        continue;
      }
      const reader::ProcessInfo& process = definitions_.processes[from.process];
      info_of_[i] = static_cast<std::uint32_t>(info_.locations.size());
      threads_.push_back(i);
      LocationInfo& location = info_.locations.emplace_back();
      location.reference = from.ref;
      location.name = from.name;
      location.process = process.name;
      location.archive_events = from.events;
      location.helper = from.helper;
      location.group = process.ref;
      for (const reader::ExtraValue& property : from.properties)
        if (property.type == OTF2_TYPE_UINT64)
          take_location_property(definitions_.text(property.ref), property.bits, location);
    }
  }

  static void take_location_property(std::string_view name, std::uint64_t value,
                                     LocationInfo& location) {
    if (!name.starts_with(kPrefix)) return;
    name.remove_prefix(std::string_view(kPrefix).size());
    if (name == "EVENTS_SEEN") location.events_seen = value;
    if (name == "EVENTS_WRITTEN") location.events_written = value;
    if (name == "PRIMARY") location.primary = value != 0;
    if (name == "SENDS") location.sends = value;
    if (name == "SENDS_DROPPED") location.sends_dropped = value;
    if (name == "RECEIVES") location.receives = value;
    if (name == "RECEIVES_DROPPED") location.receives_dropped = value;
    if (name == "BYTES_SENT") location.bytes_sent = value;
    if (name == "BYTES_RECEIVED") location.bytes_received = value;
    if (name.starts_with("LOST::")) location.lost[std::string(name.substr(6))] = value;
  }

  // json::value() of the wrong type throws; an archive may contain anything.
  template <typename Value>
  static Value field(const json& object, const char* name, Value fallback) {
    const auto found = object.find(name);
    if (found == object.end()) return fallback;
    try {
      return found->get<Value>();
    } catch (const json::exception&) {
      return fallback;
    }
  }

  void take_loops() {
    const json loops = json::parse(property("LOOPS"), nullptr, false);
    if (!loops.is_array()) return;
    for (const json& loop : loops) {
      if (!loop.is_object()) continue;
      PhaseInfo phase;
      phase.name = field(loop, "name", std::string());
      phase.named = field(loop, "named", false);
      phase.function = field(loop, "function", std::string());
      phase.file = field(loop, "file", std::string());
      phase.line = field<std::uint32_t>(loop, "line", 0);
      phase.last_line = field<std::uint32_t>(loop, "last_line", 0);
      phase.region = field(loop, "region", std::string());
      phase.process = field<std::uint32_t>(loop, "process", 0);
      phase.id = field<std::uint32_t>(loop, "id", 0);
      phase.level = field<std::uint16_t>(loop, "level", 0);
      phase.parent = field<std::int64_t>(loop, "parent", -1);
      phase.body_events = field<std::uint32_t>(loop, "body_events", 0);
      phase.body = field(loop, "body", std::vector<std::string>());
      phase.visits = field<std::uint64_t>(loop, "visits", 0);
      phase.iterations = field<std::uint64_t>(loop, "iterations", 0);
      phase.written = field<std::uint64_t>(loop, "written", 0);
      phase.partly = field<std::uint64_t>(loop, "partly", 0);
      phase.total_ns = field(loop, "total_ns", 0.0);
      phase.mean_ns = field(loop, "mean_ns", 0.0);
      phase.min_ns = field(loop, "min_ns", 0.0);
      phase.max_ns = field(loop, "max_ns", 0.0);
      phase.sigma_ns = field(loop, "sigma_ns", 0.0);
      take_counters(loop, phase);
      phase_of_.try_emplace({phase.process, phase.name}, info_.phases.size());
      info_.phases.push_back(std::move(phase));
    }
  }

  static void take_counters(const json& loop, PhaseInfo& phase) {
    const auto counters = loop.find("counters");
    if (counters == loop.end() || !counters->is_array()) return;
    for (const json& counter : *counters) {
      CounterInfo info{field(counter, "name", std::string()),
                       field<std::uint64_t>(counter, "iterations", 0),
                       field(counter, "total", 0.0), field(counter, "ns", 0.0)};
      if (info.iterations != 0) phase.counters.push_back(std::move(info));
    }
  }

  base::Result<> take_marks() {
    std::vector<LocationId> primary;
    for (std::uint32_t i = 0; i < info_.locations.size(); ++i)
      if (info_.locations[i].primary) primary.emplace_back(threads_[i]);
    MarkSumsSink sink(
        [this](std::uint32_t location, std::uint32_t region, const MarkSums& sums) {
          take_marks(info_.locations[info_of_[location]].group,
                     definitions_.regions[region], sums);
        });
    return stream_.run_in_turn(primary, reader::EventChoice::kMarks, sink);
  }

  // Events override the property, but only the property counts iterations without marks.
  void take_marks(std::uint32_t process, const reader::RegionInfo& region,
                  const MarkSums& sums) {
    const auto [at, is_new] =
        phase_of_.try_emplace({process, region.name}, info_.phases.size());
    if (is_new) {
      PhaseInfo& phase = info_.phases.emplace_back();
      phase.name = region.name;
      phase.process = process;
    }
    PhaseInfo* const phase = &info_.phases[at->second];
    if (!is_new && sums.iterations < phase->iterations) return;
    phase->file = region.file;
    phase->line = region.line;
    phase->iterations = sums.iterations;
    phase->written = sums.written;
    phase->partly = sums.partial;
    if (sums.iterations == 0) return;
    const auto count = static_cast<double>(sums.iterations);
    const double mean = sums.ticks / count;
    phase->total_ns = sums.ticks * ns_;
    phase->mean_ns = mean * ns_;
    phase->min_ns = static_cast<double>(sums.least_ticks) * ns_;
    phase->max_ns = static_cast<double>(sums.greatest_ticks) * ns_;
    phase->sigma_ns = std::sqrt(std::max(0.0, sums.squares / count - mean * mean)) * ns_;
  }

  // Tree order: outermost loops by their number, each before its inner ones. Of loops whose parents are in a circle,
  // or are not there, the first ones come as if they were outermost.
  void sort_phases() {
    std::vector<PhaseInfo>& phases = info_.phases;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<std::size_t>> inside;
    for (std::size_t i = 0; i < phases.size(); ++i)
      if (phases[i].parent >= 0) inside[{phases[i].process, phases[i].parent}].push_back(i);
    std::vector<PhaseInfo> sorted;
    std::vector<bool> taken(phases.size(), false);
    std::vector<std::size_t> next;  // the first one last
    const auto take = [&](std::size_t outermost) {
      next.push_back(outermost);
      while (!next.empty()) {
        const std::size_t index = next.back();
        next.pop_back();
        if (taken[index]) continue;
        taken[index] = true;
        const auto inner =
            inside.find({phases[index].process, std::int64_t{phases[index].id}});
        if (inner != inside.end())
          next.insert(next.end(), inner->second.rbegin(), inner->second.rend());
        sorted.push_back(std::move(phases[index]));
      }
    };
    for (std::size_t i = 0; i < phases.size(); ++i)
      if (!taken[i] && phases[i].parent < 0) take(i);
    for (std::size_t i = 0; i < phases.size(); ++i)
      if (!taken[i]) take(i);
    phases = std::move(sorted);
  }

  std::string path_;
  reader::ArchiveStream stream_;
  const reader::TraceDefinitions& definitions_ = stream_.definitions();
  double ns_ = 1;  // of a tick
  ArchiveInfo info_;
  std::vector<std::uint32_t> threads_;  // definition of each of info_.locations
  std::vector<std::uint32_t> info_of_;  // the reverse
  // The first of info_.phases with this process and name.
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> phase_of_;
};

}  // namespace

base::Result<std::map<std::string, std::string>> read_archive_properties(
    const std::string& path) {
  reader::ArchiveStream stream;
  if (const auto done = stream.open_anchor(path); !done) return done.failure();
  return stream.definitions().properties;
}

base::Result<ArchiveInfo> read_archive_info(const std::string& path) {
  try {
    return InfoReader(path).read();
  } catch (const std::exception& exception) {
    return base::Failure{path + ": " + exception.what()};
  }
}

using reader::EventKind;
using reader::TraceDefinitions;
using reader::TraceEvent;

namespace {
constexpr std::uint64_t kPartial = 2;  // of `written`; 1: whole
}

MarkAttributes::MarkAttributes(const TraceDefinitions& definitions)
    : definitions_(definitions) {
  for (const auto& [ref, attribute] : definitions.attributes) {
    if (attribute.name == "written") written_ = ref;
    if (attribute.name == "complete") complete_ = ref;
  }
}

bool MarkAttributes::is_mark(const TraceEvent& event) const noexcept {
  return (event.kind == EventKind::kEnter || event.kind == EventKind::kLeave) &&
         event.ref < definitions_.regions.size() && definitions_.regions[event.ref].is_loop;
}

bool MarkAttributes::written(const TraceEvent& event) const noexcept {
  return value(event, written_, 0) != 0;
}

bool MarkAttributes::partial(const TraceEvent& event) const noexcept {
  return value(event, written_, 0) == kPartial;
}

bool MarkAttributes::complete(const TraceEvent& event) const noexcept {
  return value(event, complete_, 1) != 0;
}

const reader::ExtraValue* MarkAttributes::completeness(
    const TraceEvent& event) const noexcept {
  return find(event, complete_);
}

const reader::ExtraValue* MarkAttributes::find(const TraceEvent& event,
                                               std::uint32_t attribute) noexcept {
  const unsigned end = unsigned{event.metrics} + event.attributes;
  for (unsigned i = event.metrics; i < end; ++i)
    if (event.extras[i].ref == attribute) return &event.extras[i];
  return nullptr;
}

std::uint64_t MarkAttributes::value(const TraceEvent& event, std::uint32_t attribute,
                                    std::uint64_t otherwise) noexcept {
  const reader::ExtraValue* const found = find(event, attribute);
  return found == nullptr ? otherwise : found->bits;
}

}  // namespace refrain::analysis

namespace refrain::analysis {
namespace {

using Key =
    std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint16_t, std::uint64_t,
               std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t>;

// `number`: among the rank's loops that agree in everything else.
Key key_of(const PhaseInfo& phase, std::uint32_t number) {
  return {phase.file,       phase.line,    phase.id,     phase.level, phase.visits,
          phase.iterations, phase.written, phase.partly, number};
}

// Durations of the iterations of both.
void add(PhaseInfo& to, const PhaseInfo& from) {
  const auto a = static_cast<double>(to.iterations);
  const auto b = static_cast<double>(from.iterations);
  if (b == 0) return;
  const double squares = a * (to.sigma_ns * to.sigma_ns + to.mean_ns * to.mean_ns) +
                         b * (from.sigma_ns * from.sigma_ns + from.mean_ns * from.mean_ns);
  to.min_ns = a == 0 ? from.min_ns : std::min(to.min_ns, from.min_ns);
  to.max_ns = std::max(to.max_ns, from.max_ns);
  to.mean_ns = (a * to.mean_ns + b * from.mean_ns) / (a + b);
  to.sigma_ns = std::sqrt(std::max(0.0, squares / (a + b) - to.mean_ns * to.mean_ns));
  to.total_ns += from.total_ns;
  to.iterations += from.iterations;
}

}  // namespace

std::vector<RankPhase> rank_phases(const ArchiveInfo& info) {
  std::vector<RankPhase> out;
  std::map<Key, std::size_t> index_of;
  std::map<std::pair<std::uint32_t, Key>, std::uint32_t> numbers;
  for (const PhaseInfo& phase : info.phases) {
    const std::uint32_t number = numbers[{phase.process, key_of(phase, 0)}]++;
    const auto [at, is_new] = index_of.try_emplace(key_of(phase, number), out.size());
    if (is_new) {
      RankPhase& row = out.emplace_back();
      row.phase = phase;
      row.least_body = row.most_body = phase.body_events;
      row.ranks.push_back(phase.process);
      continue;
    }
    RankPhase& row = out[at->second];
    add(row.phase, phase);
    row.least_body = std::min(row.least_body, phase.body_events);
    row.most_body = std::max(row.most_body, phase.body_events);
    row.ranks.push_back(phase.process);
  }
  for (RankPhase& row : out) {
    row.phase.iterations /= row.ranks.size();  // all of them have as many
    std::sort(row.ranks.begin(), row.ranks.end());
  }
  return out;
}

bool ranks_agree(const std::vector<RankPhase>& phases, std::uint64_t ranks) {
  return std::all_of(phases.begin(), phases.end(), [ranks](const RankPhase& phase) {
    return phase.ranks.size() == ranks;
  });
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks, std::uint64_t of) {
  if (ranks.size() == of) return "all";
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (end - i > 1) text += (end - i > 2 ? "-" : ",") + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace refrain::analysis
