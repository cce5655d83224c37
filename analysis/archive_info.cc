#include "analysis/archive_info.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/archive_definitions.h"
#include "analysis/archive_marks.h"
#include "base/archive_files.h"
#include "reader/anchor_file.h"

namespace refrain::analysis {
namespace {

using nlohmann::json;

constexpr const char* kPrefix = "REFRAIN::";

// Keeps libotf2 from printing what it thinks of an archive.
class SilentOtf2 {
 public:
  SilentOtf2() : previous_(OTF2_Error_RegisterCallback(ignore, nullptr)) {}
  ~SilentOtf2() { OTF2_Error_RegisterCallback(previous_, nullptr); }
  SilentOtf2(const SilentOtf2&) = delete;
  SilentOtf2& operator=(const SilentOtf2&) = delete;

 private:
  static OTF2_ErrorCode ignore(void*, const char*, std::uint64_t, const char*,
                               OTF2_ErrorCode code, const char*, va_list) {
    return code;
  }
  OTF2_ErrorCallback previous_;
};

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string taken(char* text) {
  std::string result = text != nullptr ? text : "";
  std::free(text);
  return result;
}

class InfoReader {
 public:
  explicit InfoReader(const std::string& path) : path_(path) {
    std::error_code error;
    std::filesystem::path anchor(path);
    if (std::filesystem::is_directory(anchor, error)) anchor /= "traces.otf2";
    anchor_ = anchor.string();
    folder_ = anchor.parent_path().empty() ? "." : anchor.parent_path().string();
  }
  ~InfoReader() {
    if (reader_ != nullptr) OTF2_Reader_Close(reader_);
  }
  InfoReader(const InfoReader&) = delete;
  InfoReader& operator=(const InfoReader&) = delete;

  ArchiveInfo read() {
    info_.error = open();
    if (!info_.error.empty()) return std::move(info_);
    if (read_definitions(reader_, definitions_) != OTF2_SUCCESS) {
      info_.error = path_ + ": the definitions of the archive cannot be read";
      return std::move(info_);
    }
    take_properties();
    take_definitions();
    take_loops();
    if (!read_marks()) info_.error = path_ + ": the events of the archive cannot be read";
    sort_phases();
    info_.archive_bytes = base::archive_bytes(folder_);
    return std::move(info_);
  }

 private:
  std::string open() {
    std::error_code error;
    if (!std::filesystem::exists(anchor_, error)) return path_ + ": no archive there";
    if (const std::string wrong = reader::anchor_complaint(anchor_); !wrong.empty())
      return path_ + ": " + wrong;
    reader_ = OTF2_Reader_Open(anchor_.c_str());
    if (reader_ == nullptr) return path_ + ": not an OTF2 archive";
    if (OTF2_Reader_SetSerialCollectiveCallbacks(reader_) != OTF2_SUCCESS)
      return path_ + ": the archive cannot be read";
    read_properties();
    if (!info_.properties.contains(std::string(kPrefix) + "VERSION"))
      return path_ + ": not an archive of Refrain";
    return {};
  }

  void read_properties() {
    std::uint32_t count = 0;
    char** names = nullptr;
    if (OTF2_Reader_GetPropertyNames(reader_, &count, &names) != OTF2_SUCCESS) return;
    for (std::uint32_t i = 0; i < count; ++i) {
      char* value = nullptr;
      if (OTF2_Reader_GetProperty(reader_, names[i], &value) == OTF2_SUCCESS)
        info_.properties[names[i]] = taken(value);
    }
    std::free(names);
    char* machine = nullptr;
    if (OTF2_Reader_GetMachineName(reader_, &machine) == OTF2_SUCCESS)
      info_.machine = taken(machine);
  }

  std::string property(const std::string& name) const {
    const auto found = info_.properties.find(kPrefix + name);
    return found == info_.properties.end() ? std::string() : found->second;
  }

  void take_properties() {
    info_.version = property("VERSION");
    info_.command = property("COMMAND");
    info_.events_seen = number(property("EVENTS_SEEN"));
    info_.events_written = number(property("EVENTS_WRITTEN"));
    info_.events_filtered = number(property("EVENTS_FILTERED"));
    info_.gaps = number(property("GAPS"));
    info_.structure = property("STRUCTURE");
    info_.recovered = property("RECOVERED") == "1";
    take_mpi();
    const std::string lost = std::string(kPrefix) + "LOST::";
    for (const auto& [name, value] : info_.properties) {
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
    if (definitions_.ticks_per_second != 0) {
      ns_ = 1e9 / static_cast<double>(definitions_.ticks_per_second);
      info_.duration_s = static_cast<double>(definitions_.length_ticks) * ns_ / 1e9;
    }
    if (definitions_.realtime_ns != OTF2_UNDEFINED_TIMESTAMP)
      info_.start_epoch_ns = definitions_.realtime_ns;
    info_.processes = definitions_.groups.size();
    for (const auto& [ref, from] : definitions_.locations) {
      LocationInfo location;
      location.reference = ref;
      location.name = definitions_.text(from.name);
      const auto group = definitions_.groups.find(from.group);
      if (group != definitions_.groups.end())
        location.process = definitions_.text(group->second);
      location.archive_events = from.events;
      location.group = from.group;
      info_.archive_events += from.events;
      for (const auto& [name, value] : from.properties)
        take_location_property(definitions_.text(name), value, location);
      info_.locations.push_back(std::move(location));
    }
    // References count threads first; people look for processes.
    std::stable_sort(info_.locations.begin(), info_.locations.end(),
                     [](const auto& a, const auto& b) { return a.group < b.group; });
  }

  static void take_location_property(std::string name, std::uint64_t value,
                                     LocationInfo& location) {
    if (!name.starts_with(kPrefix)) return;
    name.erase(0, std::string(kPrefix).size());
    if (name == "EVENTS_SEEN") location.events_seen = value;
    if (name == "EVENTS_WRITTEN") location.events_written = value;
    if (name == "PRIMARY") location.primary = value != 0;
    if (name == "SENDS") location.sends = value;
    if (name == "SENDS_DROPPED") location.sends_dropped = value;
    if (name == "RECEIVES") location.receives = value;
    if (name == "RECEIVES_DROPPED") location.receives_dropped = value;
    if (name == "BYTES_SENT") location.bytes_sent = value;
    if (name == "BYTES_RECEIVED") location.bytes_received = value;
    if (name.starts_with("LOST::")) location.lost[name.substr(6)] = value;
  }

  // json::value() of the wrong type throws; an archive may hold anything.
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

  bool read_marks() {
    for (const LocationInfo& location : info_.locations)
      if (location.primary &&
          OTF2_Reader_SelectLocation(reader_, location.reference) != OTF2_SUCCESS)
        return false;
    if (OTF2_Reader_OpenEvtFiles(reader_) != OTF2_SUCCESS) return false;
    bool ok = true;
    for (const LocationInfo& location : info_.locations)
      if (location.primary) ok = read_marks(location) && ok;
    OTF2_Reader_CloseEvtFiles(reader_);
    return ok;
  }

  bool read_marks(const LocationInfo& location) {
    OTF2_EvtReader* events = OTF2_Reader_GetEvtReader(reader_, location.reference);
    OTF2_EvtReaderCallbacks* callbacks = OTF2_EvtReaderCallbacks_New();
    if (events == nullptr || callbacks == nullptr) {
      OTF2_EvtReaderCallbacks_Delete(callbacks);
      return false;
    }
    MarkReader marks{definitions_,
                     definitions_.attribute("written"),
                     definitions_.attribute("complete"),
                     {},
                     {}};
    set_mark_callbacks(callbacks);
    OTF2_ErrorCode code =
        OTF2_Reader_RegisterEvtCallbacks(reader_, events, callbacks, &marks);
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    std::uint64_t count = 0;
    if (code == OTF2_SUCCESS)
      code = OTF2_Reader_ReadAllLocalEvents(reader_, events, &count);
    OTF2_Reader_CloseEvtReader(reader_, events);
    for (const auto& [region, sums] : marks.sums) take_marks(location, region, sums);
    return code == OTF2_SUCCESS;
  }

  // What the events say counts more than what a property says, but of iterations that have
  // no marks the property alone knows.
  void take_marks(const LocationInfo& location, OTF2_RegionRef ref, const MarkSums& sums) {
    const ArchiveDefinitions::Region& region = definitions_.regions.at(ref);
    const std::uint32_t process = definitions_.locations.at(location.reference).group;
    const std::string name = definitions_.text(region.name);
    auto phase = std::find_if(
        info_.phases.begin(), info_.phases.end(),
        [&](const PhaseInfo& p) { return p.name == name && p.process == process; });
    if (phase == info_.phases.end()) {
      info_.phases.emplace_back();
      phase = info_.phases.end() - 1;
      phase->name = name;
      phase->process = process;
    } else if (sums.iterations < phase->iterations) {
      return;
    }
    phase->file = definitions_.text(region.file);
    phase->line = region.line;
    phase->iterations = sums.iterations;
    phase->written = sums.written;
    phase->partly = sums.partly;
    if (sums.iterations == 0) return;
    const auto count = static_cast<double>(sums.iterations);
    const double mean = sums.total / count;
    phase->total_ns = sums.total * ns_;
    phase->mean_ns = mean * ns_;
    phase->min_ns = static_cast<double>(sums.least) * ns_;
    phase->max_ns = static_cast<double>(sums.greatest) * ns_;
    phase->sigma_ns = std::sqrt(std::max(0.0, sums.squares / count - mean * mean)) * ns_;
  }

  // As a tree is written: outermost loops by their number, each before its inner ones.
  void sort_phases() {
    std::vector<PhaseInfo> sorted;
    std::vector<bool> taken(info_.phases.size(), false);
    const auto take = [&](const auto& self, std::size_t index) -> void {
      if (taken[index]) return;
      taken[index] = true;
      const PhaseInfo& phase = info_.phases[index];
      sorted.push_back(phase);
      for (std::size_t i = 0; i < info_.phases.size(); ++i)
        if (info_.phases[i].parent == std::int64_t{phase.id} &&
            info_.phases[i].process == phase.process)
          self(self, i);
    };
    for (std::size_t i = 0; i < info_.phases.size(); ++i)
      if (info_.phases[i].parent < 0) take(take, i);
    for (std::size_t i = 0; i < info_.phases.size(); ++i) take(take, i);
    info_.phases = std::move(sorted);
  }

  std::string path_;
  std::string anchor_;
  std::string folder_;
  SilentOtf2 silent_;
  OTF2_Reader* reader_ = nullptr;
  ArchiveDefinitions definitions_;
  double ns_ = 1;
  ArchiveInfo info_;
};

}  // namespace

ArchiveInfo read_archive_info(const std::string& path) noexcept {
  ArchiveInfo failed;
  try {
    return InfoReader(path).read();
  } catch (const std::exception& exception) {
    try {
      failed.error = path + ": " + exception.what();
    } catch (...) {
    }
  } catch (...) {
  }
  return failed;
}

}  // namespace refrain::analysis
