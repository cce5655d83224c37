#include "reader/archive_stream.h"

#include <fcntl.h>
#include <otf2/otf2.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/archive_files.h"
#include "base/notes.h"
#include "base/texts.h"
#include "reader/file_holes.h"
#include "reader/otf2_callbacks.h"

namespace refrain::reader {
namespace {

constexpr std::string_view kMagic = "OTF2";
constexpr std::size_t kMagicAt = 2;
constexpr char kLittleEndian = 'B';
constexpr std::size_t kMachineAt = 46;  // after versions, sizes of chunks, and counts
constexpr int kTexts = 3;               // machine, creator, description
constexpr std::size_t kMaxBytes = 1 << 20;

}  // namespace

base::Result<> check_anchor_file(const std::string& anchor_file) {
  std::string bytes(kMaxBytes, '\0');
  std::ifstream file(anchor_file, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (static_cast<std::size_t>(file.gcount()) == kMaxBytes) return {};
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  const std::string_view all = bytes;
  if (all.substr(0, kMachineAt).size() < kMachineAt || all[1] != kLittleEndian ||
      all.substr(kMagicAt, kMagic.size()) != kMagic)
    return {};  // libotf2 reports that
  std::size_t at = kMachineAt;
  for (int i = 0; i < kTexts; ++i) {
    const std::size_t end = all.find('\0', at);
    if (end == std::string_view::npos) return base::Failure{"damaged anchor file"};
    at = end + 1;
  }
  std::uint32_t properties = 0;
  if (all.size() - at < sizeof properties) return base::Failure{"damaged anchor file"};
  for (std::size_t i = 0; i < sizeof properties; ++i)
    properties |= std::uint32_t{static_cast<unsigned char>(all[at + i])} << 8 * i;
  // Each is a name and a value, both ending with a zero.
  if (properties > (all.size() - at) / 2) return base::Failure{"damaged anchor file"};
  return {};
}

}  // namespace refrain::reader

namespace refrain::reader {
namespace {

constexpr std::uint64_t kProgressEvery = 1 << 16;
constexpr std::uint64_t kMaxBatch = 512;
constexpr std::uint64_t kMinBatch = 16;
constexpr std::uint64_t kBatchEvents = 1 << 18;  // of all locations
// libotf2 takes a chunk of memory, 256 kB or more, and a file for each location that is open. Where those of all would take
// more than this, one is open only while its next batch is read, which then is larger.
constexpr std::uint64_t kMaxOpenBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kOtherFiles = 64;
constexpr std::uint64_t kLargerBatches = 16;
constexpr std::uint64_t kMaxNamed = 5;  // locations that lack something
// libotf2 looks for a location among those of its reader one after the other. More locations get more readers.
constexpr std::size_t kMaxSelected = 1024;

// How many streams there are: what they need of the process is set by the first and restored by the last one.
class Shared {
 public:
  Shared() {
    const std::lock_guard<std::mutex> lock(mutex());
    if (count()++ == 0) set();
  }
  ~Shared() {
    const std::lock_guard<std::mutex> lock(mutex());
    if (--count() == 0) restore();
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  // What libotf2 reports on this thread, the first of it: from the start of a Listening to its end.
  struct Heard {
    std::string text;
    OTF2_ErrorCode code = OTF2_SUCCESS;
  };
  class Listening {
   public:
    explicit Listening(Heard& to) : before_(std::exchange(listener, &to)) {}
    ~Listening() { listener = before_; }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

   private:
    Heard* before_;
  };

 private:
  struct Before {
    OTF2_ErrorCallback callback = nullptr;
    rlimit files{};
    bool files_known = false;
  };
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::uint64_t& count() {
    static std::uint64_t streams = 0;
    return streams;
  }
  static Before& before() {
    static Before one;
    return one;
  }
  static void set() {
    before().callback = OTF2_Error_RegisterCallback(take, nullptr);
    // One file is open for each location. Restored at the end: the process may be the program's.
    before().files_known = getrlimit(RLIMIT_NOFILE, &before().files) == 0;
    rlimit more = before().files;
    more.rlim_cur = more.rlim_max;
    if (before().files_known) setrlimit(RLIMIT_NOFILE, &more);
  }
  static void restore() {
    OTF2_Error_RegisterCallback(before().callback, nullptr);
    if (before().files_known) setrlimit(RLIMIT_NOFILE, &before().files);
  }
  static OTF2_ErrorCode take(void*, const char*, std::uint64_t, const char*,
                             OTF2_ErrorCode code, const char* format, va_list arguments) {
    char text[256] = "";
    if (format != nullptr) std::vsnprintf(text, sizeof(text), format, arguments);
    if (listener == nullptr || !listener->text.empty()) return code;
    listener->code = code;
    listener->text = OTF2_Error_GetDescription(code);
    if (text[0] != '\0') listener->text += std::string(": ") + text;
    return code;
  }
  static inline thread_local Heard* listener = nullptr;
};

std::string taken(char* text) {
  std::string result = base::clean_text(text != nullptr ? text : "");
  std::free(text);
  return result;
}

// The events of one location, a batch at a time.
struct LocationStream {
  OTF2_EvtReader* reader = nullptr;  // none: not now
  EventBatch batch;
  std::size_t next = 0;
  std::uint64_t read = 0;      // records
  std::uint64_t promised = 0;  // by the definitions, or by the file
  std::uint64_t chunk = 0;     // of the file: the next one
  std::uint64_t at =
      0;  // the last event that was read or left out, by its number in the file
  std::uint64_t until = 0;  // events can be read in a row; more are not asked for
  // Where the file is damaged: how often, and the times around the first place.
  std::uint64_t gaps = 0, gap_begin = 0, gap_end = 0, read_at_gap = 0;
  bool in_hole = false;  // no event has been read since
  bool begins_in_hole = false;
  std::size_t holes = 0;    // that are reported to sinks
  bool after_hole = false;  // then of marks: how many are open that begin after it
  std::size_t open_marks = 0;
  bool more = true;  // there are chunks after this one
  bool at_end = false;

  bool empty() const { return next == batch.entries.size(); }
  std::uint64_t ticks() const { return batch.entries[next].event.ticks; }
};

}  // namespace

// What locations lack: the first few are named, of the others it is said how many at the end. Of a group all are said then, in
// the order of locations.
class StreamGroup {
 public:
  enum class What { kDefinitions, kEvents };

  // `at_end`: a group, else one stream.
  StreamGroup(std::size_t streams, bool at_end) : streams_(streams), at_end_(at_end) {}
  ~StreamGroup() {
    for (Lacking& lacking : lacking_)
      for (const Line& line : lacking.of_group | std::views::values) say(lacking, line);
    const auto& [definitions, events] = lacking_;
    if (definitions.locations > kMaxNamed)
      base::note(path_ + ": the definitions of " +
                 std::to_string(definitions.locations - kMaxNamed) +
                 " more locations are damaged");
    if (events.locations > kMaxNamed)
      base::note(path_ + ": " + std::to_string(events.events) + " events of " +
                 std::to_string(events.locations - kMaxNamed) +
                 " more locations are missing");
  }
  StreamGroup(const StreamGroup&) = delete;
  StreamGroup& operator=(const StreamGroup&) = delete;

  std::size_t streams() const { return streams_; }
  // `events` of it are missing. Any thread.
  void lacks(const std::string& path, What what, std::uint32_t location, std::string text,
             std::uint64_t events = 0) {
    const std::lock_guard lock(mutex_);
    path_ = path;
    Lacking& lacking = lacking_[static_cast<std::size_t>(what)];
    const Line line{std::move(text), events};
    if (at_end_)
      lacking.of_group[location] = line;
    else
      say(lacking, line);
  }

 private:
  struct Line {
    std::string text;
    std::uint64_t events = 0;
  };
  struct Lacking {
    std::uint64_t locations = 0;
    std::uint64_t events = 0;  // of those that are not named
    std::map<std::uint32_t, Line> of_group;
  };
  static void say(Lacking& lacking, const Line& line) {
    if (++lacking.locations <= kMaxNamed)
      base::note(line.text);
    else
      lacking.events += line.events;
  }

  const std::size_t streams_;
  const bool at_end_;
  std::mutex mutex_;
  std::string path_;
  std::array<Lacking, 2> lacking_;
};

std::shared_ptr<StreamGroup> make_stream_group(std::size_t streams) {
  return std::make_shared<StreamGroup>(streams, true);
}

struct ArchiveStream::State {
  Shared shared;
  std::shared_ptr<StreamGroup> group = std::make_shared<StreamGroup>(1, false);
  Shared::Heard heard;
  std::string path;
  std::filesystem::path anchor;
  OTF2_Reader* reader = nullptr;
  std::vector<OTF2_Reader*> more_readers;
  std::vector<std::uint32_t> reader_numbers;  // by location, as reader_of() has it
  TraceDefinitions definitions;
  std::deque<LocationStream> locations;
  std::vector<LocationId> chosen;  // of these
  std::vector<bool> ended;         // by location: it is known what it lacks
  // A location that has events, and the time of the next one, so that a comparison does not have to look there.
  struct Next {
    std::uint64_t ticks = 0;
    std::uint32_t location = 0;  // of `locations`
  };
  std::vector<Next> heap;  // the earliest in front
  std::uint64_t batch = kMaxBatch;
  bool in_turns = false;    // not all are open at once
  bool own_clocks = false;  // times are by each location's own
  EventCallbacks callbacks;
  std::uint64_t total = 0, done = 0, next_report = kProgressEvery;
  std::uint64_t last_ns = 0;
  std::uint64_t first_ticks = ~std::uint64_t{
      0};  // of the events; of Refrain's archives: if they are before time zero
  TraceSink* sink = nullptr;  // since start()
  std::uint64_t parts = 1;    // of the work, of which reading is one
  std::uint64_t definition_chunk_bytes = 0;
  std::uint64_t chunk_bytes = 0;  // of files of events; 0: they are no plain files
  std::vector<char> memory;       // a chunk
  std::uint64_t samples = 0;      // of call stacks
  std::uint64_t missing = 0;      // events, of which it has been said
  bool only_holes = false;        // it is read for where its holes are
  EventChoice choice = EventChoice::kAll;
  std::map<LocationId, FileHoles> holes;  // of damaged locations
  std::unique_ptr<ArchiveStream> again;   // that reads these once more
  std::vector<LocationId> selected;       // whose events can be read
  std::vector<bool> lost_messages;        // by process

  ~State() {
    if (samples != 0)
      base::note(
          path +
          ": regions are known from samples of call stacks: their visits are not counted, their times are as "
          "exact as the samples are frequent");
    const Shared::Listening listening(heard);
    for (OTF2_Reader* const each : more_readers) OTF2_Reader_Close(each);
    if (reader != nullptr) OTF2_Reader_Close(reader);
  }
  std::string wrong(const std::string& what) const {
    return path + ": " + what + (heard.text.empty() ? "" : " (" + heard.text + ")");
  }
  // It is about what a file contains, not about the file.
  bool wrong_contents() const {
    return heard.code == OTF2_ERROR_INVALID_RECORD || heard.code == OTF2_ERROR_INVALID_DATA;
  }

  void read_anchor() {
    std::uint32_t count = 0;
    char** names = nullptr;
    if (OTF2_Reader_GetPropertyNames(reader, &count, &names) == OTF2_SUCCESS) {
      for (std::uint32_t i = 0; i < count; ++i) {
        char* value = nullptr;
        if (OTF2_Reader_GetProperty(reader, names[i], &value) == OTF2_SUCCESS)
          definitions.properties[names[i]] = taken(value);
      }
      std::free(names);
    }
    char* text = nullptr;
    if (OTF2_Reader_GetMachineName(reader, &text) == OTF2_SUCCESS)
      definitions.machine = taken(text);
    text = nullptr;
    if (OTF2_Reader_GetCreator(reader, &text) == OTF2_SUCCESS)
      definitions.creator = taken(text);
    std::uint64_t events = 0, others = 0;
    OTF2_FileSubstrate substrate = OTF2_SUBSTRATE_UNDEFINED;
    OTF2_Compression compression = OTF2_COMPRESSION_UNDEFINED;
    if (OTF2_Reader_GetFileSubstrate(reader, &substrate) == OTF2_SUCCESS &&
        substrate == OTF2_SUBSTRATE_POSIX &&
        OTF2_Reader_GetCompression(reader, &compression) == OTF2_SUCCESS &&
        compression == OTF2_COMPRESSION_NONE &&
        OTF2_Reader_GetChunkSize(reader, &events, &others) == OTF2_SUCCESS) {
      chunk_bytes = events;
      definition_chunk_bytes = others;
    }
  }

  base::Result<> read_definitions(DefinitionChoice which) {
    const std::string file =
        std::filesystem::path(anchor).replace_extension(".def").string();
    const bool cut = definition_chunk_bytes != 0 && is_cut(file, definition_chunk_bytes);
    // libotf2 would take what its memory had before for the rest.
    const std::uint64_t most =
        cut ? count_definitions(file, definition_chunk_bytes) : ~std::uint64_t{0};
    const DefinitionsRead read = read_trace_definitions(reader, which, most, definitions);
    std::uint64_t promised = 0, locations = 0;
    OTF2_Reader_GetNumberOfGlobalDefinitions(reader, &promised);
    OTF2_Reader_GetNumberOfLocations(reader, &locations);
    if (read.code == OTF2_SUCCESS && !cut && read.count >= promised) return {};
    if (read.count == 0 && !cut)
      return base::Failure{wrong("the definitions cannot be read")};
    const std::string name = std::filesystem::path(file).filename().string();
    heard = {};
    const std::string some =
        path + ": only " + std::to_string(read.count) + " of " + std::to_string(promised) +
        " definitions can be read: " + name + " is truncated or damaged";
    // Events are of a location, and have times.
    if (!read.clock || definitions.locations.size() < locations || locations == 0)
      return base::Failure{some + ", and " +
                           (read.clock ? "threads are missing" : "the clock is missing") +
                           ", without which events mean nothing; copy " + name +
                           " again from where it was written, or record again"};
    base::note(
        some +
        "; names of regions, communicators or ranks may be missing in what follows, and "
        "with them messages and waits");
    return {};
  }

  std::string file_of(std::uint32_t index, const char* kind) const {
    return (anchor.parent_path() / anchor.stem() /
            (std::to_string(definitions.locations[index].ref) + kind))
        .string();
  }

  // After the last event of a location that can be read.
  void compare_with_promise(std::uint32_t index, std::uint64_t read, std::uint64_t promised,
                            const std::string& why) {
    if (read >= promised || only_holes) return;
    missing += promised - read;
    const LocationInfo& location = definitions.locations[index];
    group->lacks(path, StreamGroup::What::kEvents, index,
                 path + ": only " + std::to_string(read) + " of " +
                     std::to_string(promised) + " events of location '" + location.name +
                     "' of '" + definitions.processes[location.process].name + "' (" +
                     std::to_string(location.ref) + ") can be read" +
                     (why.empty() ? "" : " (" + why + ")") +
                     "; the others are missing in what follows",
                 promised - read);
  }

  // Nothing of it will be read any more.
  void end(LocationStream& location, const std::string& why) {
    location.at_end = true;
    ended[location.batch.location] = true;
    close(location);
    samples += location.batch.samples;
    if (location.in_hole || location.at < location.promised) {
      if (location.read == 0)
        location.begins_in_hole = true;
      else
        begin_hole(location, location.batch.last_ticks, location.batch.entries);
    }
    compare_with_promise(location.batch.location, location.read, location.promised,
                         location.gaps != 0 ? gap_text(location) : why);
  }

  std::string gap_text(const LocationStream& location) const {
    std::string text = "its file is damaged";
    if (location.gaps > 1) text += " in " + std::to_string(location.gaps) + " places";
    if (location.gap_begin == 0 || location.gap_end == 0) return text;
    const auto time = [&](std::uint64_t ticks) {
      return base::duration_text(static_cast<double>(definitions.ns(ticks)));
    };
    return text + ": nothing is known from " + time(location.gap_begin) + " to " +
           time(location.gap_end) + (location.gaps > 1 ? ", and later" : "");
  }

  std::string named(const char* what, LocationId location, const char* failed) const {
    return wrong(what + std::to_string(definitions.locations[location].ref) + failed);
  }

  OTF2_Reader* reader_of(LocationId location) const {
    const std::uint32_t number = reader_numbers[location];
    return number == 0 ? reader : more_readers[number - 1];
  }

  base::Result<> select(const std::vector<LocationId>& chosen) {
    reader_numbers.assign(definitions.locations.size(), 0);
    ended.assign(definitions.locations.size(), false);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (i != 0 && i % kMaxSelected == 0) {
        OTF2_Reader* const next = OTF2_Reader_Open(anchor.c_str());
        if (next == nullptr) return base::Failure{wrong("the archive cannot be read")};
        more_readers.push_back(next);
        if (OTF2_Reader_SetSerialCollectiveCallbacks(next) != OTF2_SUCCESS)
          return base::Failure{wrong("the archive cannot be read")};
      }
      reader_numbers[chosen[i]] = static_cast<std::uint32_t>(more_readers.size());
      if (OTF2_Reader_SelectLocation(reader_of(chosen[i]),
                                     definitions.locations[chosen[i]].ref) != OTF2_SUCCESS)
        return base::Failure{named("location ", chosen[i], " cannot be read")};
    }
    return {};
  }

  bool has_local_definitions(LocationId location) const {
    std::filesystem::path folder = anchor;
    folder.replace_extension();
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) return true;  // it is kept otherwise
    const std::string name = std::to_string(definitions.locations[location].ref) + ".def";
    return std::filesystem::exists(folder / name, error);
  }

  // Clock offsets and the location's own numbers: libotf2 applies what it has read.
  void read_local_definitions(const std::vector<LocationId>& chosen) {
    OTF2_Reader* opened = nullptr;
    for (const LocationId location : chosen) {
      OTF2_Reader* const from = reader_of(location);
      if (from != opened) {
        if (opened != nullptr) OTF2_Reader_CloseDefFiles(opened);
        if (OTF2_Reader_OpenDefFiles(from) != OTF2_SUCCESS) return;  // there are none
        opened = from;
      }
      // Asked for a file that is not there libotf2 (3.0.2) keeps a chunk of memory for it.
      if (!has_local_definitions(location)) continue;
      OTF2_DefReader* local =
          OTF2_Reader_GetDefReader(from, definitions.locations[location].ref);
      if (local == nullptr) continue;
      std::uint64_t count = 0;
      const OTF2_ErrorCode code = OTF2_Reader_ReadAllLocalDefinitions(from, local, &count);
      OTF2_Reader_CloseDefReader(from, local);
      const bool cut = definition_chunk_bytes != 0 &&
                       is_cut(file_of(location, ".def"), definition_chunk_bytes);
      if (code != OTF2_SUCCESS || cut)
        group->lacks(path, StreamGroup::What::kDefinitions, location,
                     named("the definitions of location ", location,
                           " are damaged: its times and names may be wrong"));
    }
    if (opened != nullptr) OTF2_Reader_CloseDefFiles(opened);
  }

  // Before the events of these locations.
  base::Result<> begin_events(const std::vector<LocationId>& chosen, bool local) {
    if (const auto done = select(chosen); !done) return done;
    selected = chosen;
    if (local) read_local_definitions(chosen);
    bool ok = OTF2_Reader_OpenEvtFiles(reader) == OTF2_SUCCESS;
    for (OTF2_Reader* const each : more_readers)
      ok = ok && OTF2_Reader_OpenEvtFiles(each) == OTF2_SUCCESS;
    if (!ok) return base::Failure{wrong("the events cannot be read")};
    return {};
  }

  // After the last event that was read or left out. False: an error. Where the file is damaged that is its end.
  bool open_location(LocationStream& location) {
    const std::uint32_t index = location.batch.location;
    heard.text.clear();
    OTF2_Reader* const from = reader_of(location.batch.location);
    location.reader = OTF2_Reader_GetEvtReader(from, definitions.locations[index].ref);
    if (location.reader == nullptr) {
      if (chunk_bytes == 0) return location.promised == 0;
      if (!std::ifstream(file_of(index, ".evt")).is_open()) return false;  // too many are
      end(location, std::exchange(heard, {}).text);
      return true;
    }
    if (OTF2_Reader_RegisterEvtCallbacks(from, location.reader, callbacks.get(),
                                         &location.batch) != OTF2_SUCCESS)
      return false;
    if (own_clocks &&
        OTF2_EvtReader_ApplyClockOffsets(location.reader, false) != OTF2_SUCCESS)
      return false;
    if (location.at == 0) return true;
    const OTF2_ErrorCode code = OTF2_EvtReader_Seek(location.reader, location.at + 1);
    if (code == OTF2_SUCCESS) return true;
    heard = {};
    if (code == OTF2_ERROR_INVALID_ARGUMENT)
      end(location, "");  // there is no further one
    else
      close(location);
    return location.at_end;
  }

  // False: an error. Before the first call of refill().
  bool begin_location(std::uint32_t index, LocationStream& location) {
    location.batch.definitions = &definitions;
    location.batch.location = LocationId(index);
    location.promised = definitions.locations[index].events;
    if (!next_chunk(location)) return true;
    return open_location(location);
  }

  // The next events of the file that can be read in a row. False: there are none, and this was the end.
  bool next_chunk(LocationStream& location) {
    while (location.more) {
      if (chunk_bytes == 0) {
        location.more = false;
        location.until = ~std::uint64_t{0};
        return true;
      }
      const std::string file = file_of(location.batch.location, ".evt");
      const bool first = location.chunk == 0;
      const EventChunk chunk = read_chunk(file, chunk_bytes, location.chunk, memory);
      location.more = chunk.more;
      if (!chunk.has_file) {
        // A location that left no file has no events.
        end(location, "it has no file");
        return false;
      }
      if (!chunk.found) {
        if (!first) break;
        // It is not known how many there are. Each takes two bytes or more.
        location.chunk = 0;
        std::error_code none;
        const std::uint64_t bytes = std::filesystem::file_size(file, none);
        location.until = none ? 0 : bytes / 2;
        if (location.until == 0) break;
        return true;
      }
      location.promised = std::max(location.promised, chunk.last);
      if (chunk.whole < chunk.first || chunk.first <= location.at) continue;
      if (chunk.first != location.at + 1) leave_out(location, chunk.first - 1);
      location.until = chunk.whole;
      return true;
    }
    end(location, "");
    return false;
  }

  // Events until this one. Of a file without known chunks it is the end.
  void leave_out(LocationStream& location, std::uint64_t until) {
    close(location);
    location.at = until;
    const bool known = location.chunk != 0;
    if (!known || (location.gaps != 0 && location.read == location.read_at_gap)) return;
    location.read_at_gap = location.read;
    location.in_hole = true;
    if (location.read == 0) location.begins_in_hole = true;
    if (++location.gaps == 1) location.gap_begin = location.batch.last_ticks;
  }

  // Once, for all damaged locations: definitions take long where there are many.
  bool begin_again() {
    if (again != nullptr) return again->state_->callbacks != nullptr;
    again = std::make_unique<ArchiveStream>();
    State& s = *again->state_;
    s.only_holes = true;
    s.own_clocks = true;
    if (!again->open(path)) return false;
    const Shared::Listening listening(s.heard);
    if (s.begin_events(selected, !definitions.is_refrain()))
      s.callbacks = make_event_callbacks(EventChoice::kAll);
    return s.callbacks != nullptr;
  }

  // Reads the location once more.
  const FileHoles::Hole& hole_of(const LocationStream& location) {
    const LocationId at = location.batch.location;
    const auto [found, is_new] = holes.try_emplace(at);
    if (is_new && !only_holes) {
      FileHolesSink sink;
      if (begin_again() && sink.begin(definitions)) {
        State& s = *again->state_;
        const Shared::Listening listening(s.heard);
        if (s.read_alone(at, sink)) found->second = sink.take();
      }
    }
    static const FileHoles::Hole kUnknown;
    return location.holes < found->second.holes.size() ? found->second.holes[location.holes]
                                                       : kUnknown;
  }

  static TraceEvent switching(LocationId location, std::uint64_t ticks, bool on) {
    TraceEvent event;
    event.kind = EventKind::kMeasurementOnOff;
    event.op = on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF;
    event.location = location;
    event.ticks = ticks;
    event.uncertain = true;
    return event;
  }

  void put(const std::vector<TraceEvent>& events, std::uint64_t ticks,
           std::vector<EventBatch::Entry>& to) const {
    for (TraceEvent event : events) {
      const bool region =
          event.kind == EventKind::kEnter || event.kind == EventKind::kLeave;
      if (choice == EventChoice::kMarks &&
          (!region || !definitions.regions[event.ref].is_loop))
        continue;
      event.ticks = ticks;
      to.push_back({event});
    }
  }

  void begin_hole(const LocationStream& location, std::uint64_t ticks,
                  std::vector<EventBatch::Entry>& to) {
    put(hole_of(location).leaves, ticks, to);
    to.push_back({switching(location.batch.location, ticks, false)});
  }

  // Before the first event that can be read again, which is in the batch. `from`: the last one before it.
  void report_hole(LocationStream& location, std::uint64_t from) {
    std::vector<EventBatch::Entry>& entries = location.batch.entries;
    const std::uint64_t until = entries.front().event.ticks;
    std::vector<EventBatch::Entry> made;
    if (location.holes != 0 || !location.begins_in_hole) begin_hole(location, from, made);
    const FileHoles::Hole& hole = hole_of(location);
    if (!hole.off) made.push_back({switching(location.batch.location, until, true)});
    put(hole.enters, until, made);
    entries.insert(entries.begin(), made.begin(), made.end());
    location.in_hole = false;
    location.after_hole = true;
    location.open_marks = 0;
    ++location.holes;
  }

  // Iterations that began before a hole or in it have ended there.
  void drop_ends_of_marks(LocationStream& location) const {
    const auto ends = [&](const EventBatch::Entry& entry) {
      const TraceEvent& event = entry.event;
      if (event.uncertain || event.ref >= definitions.regions.size() ||
          (event.kind != EventKind::kEnter && event.kind != EventKind::kLeave) ||
          !definitions.regions[event.ref].is_loop)
        return false;
      if (event.kind == EventKind::kLeave && location.open_marks == 0) return true;
      location.open_marks += event.kind == EventKind::kEnter ? 1 : -1;
      return false;
    };
    std::vector<EventBatch::Entry> kept;
    for (const EventBatch::Entry& entry : location.batch.entries)
      if (!ends(entry)) kept.push_back(entry);
    location.batch.entries = std::move(kept);
  }

  // Of a process that has lost events of messages the later ones do not tell which they are.
  void after_hole(TraceEvent& event) {
    const ProcessId process = definitions.locations[event.location].process;
    lost_messages.resize(definitions.processes.size());
    if (process >= lost_messages.size()) return;
    const bool begins =
        event.kind == EventKind::kMeasurementOnOff && event.op == OTF2_MEASUREMENT_OFF;
    if (event.uncertain && begins && holes[event.location].communicates)
      lost_messages[process] = true;
    if (is_communication(event.kind)) event.uncertain = lost_messages[process];
  }

  base::Result<> choose_batch() {
    // The limits are for all streams of the group; their numbers of locations are about the same.
    const std::uint64_t count = std::max<std::uint64_t>(1, chosen.size());
    const std::uint64_t all = count * group->streams();
    std::uint64_t open_bytes = 0, definition_bytes = 0;
    OTF2_Reader_GetChunkSize(reader, &open_bytes, &definition_bytes);
    rlimit files{};
    const bool limited = getrlimit(RLIMIT_NOFILE, &files) == 0;
    in_turns =
        open_bytes > kMaxOpenBytes / all || (limited && all + kOtherFiles > files.rlim_cur);
    batch = std::clamp((in_turns ? kLargerBatches : 1) * kBatchEvents / count, kMinBatch,
                       kMaxBatch);
    callbacks = make_event_callbacks(EventChoice::kAll);
    if (callbacks == nullptr) return base::Failure{wrong("out of memory")};
    return {};
  }

  void close(LocationStream& location) {
    if (location.reader != nullptr)
      OTF2_Reader_CloseEvtReader(reader_of(location.batch.location), location.reader);
    location.reader = nullptr;
  }

  // A location without further events is empty afterwards.
  void refill(LocationStream& location) {
    location.batch.clear();
    location.next = 0;
    while (location.empty() && !location.at_end) {
      if (location.reader == nullptr && !open_location(location))
        end(location, "its file cannot be read any further");
      if (location.at_end) break;
      const bool after_hole = location.in_hole;
      const std::uint64_t before = location.batch.last_ticks;
      const std::uint64_t wanted = std::min(batch, location.until - location.at);
      std::uint64_t count = 0;
      heard.text.clear();
      const bool ok =
          OTF2_Reader_ReadLocalEvents(reader_of(location.batch.location), location.reader,
                                      wanted, &count) == OTF2_SUCCESS;
      const std::uint64_t read = std::max(count, location.batch.records);
      location.read += read;
      location.at += read;
      if (location.gaps != 0 && location.gap_end == 0 && !location.empty())
        location.gap_end = location.batch.entries[0].event.ticks;
      if (after_hole && !location.empty()) report_hole(location, before);
      if (location.after_hole) drop_ends_of_marks(location);
      // The rest of the chunk cannot be read.
      if (!ok || count != wanted) leave_out(location, location.until);
      if (in_turns) close(location);
      if (location.at == location.until) next_chunk(location);
    }
  }

  static bool later(const Next& a, const Next& b) {
    return a.ticks != b.ticks ? a.ticks > b.ticks : a.location > b.location;
  }

  // The front of the heap has changed: sift it down.
  void sift_down() {
    const std::size_t size = heap.size();
    const Next moved = heap[0];
    std::size_t hole = 0;
    for (std::size_t child = 1; child < size; child = 2 * hole + 1) {
      if (child + 1 < size && later(heap[child], heap[child + 1])) ++child;
      if (!later(moved, heap[child])) break;
      heap[hole] = heap[child];
      hole = child;
    }
    heap[hole] = moved;
  }

  void hand_over(LocationStream& location, TraceSink& sink) {
    EventBatch::Entry& entry = location.batch.entries[location.next++];
    entry.event.ns = definitions.ns(entry.event.ticks);
    hand_over(location, entry, sink);
  }

  void hand_over(const LocationStream& location, EventBatch::Entry& entry,
                 TraceSink& sink) {
    entry.event.extras = location.batch.extras.data() + entry.extras;
    last_ns = std::max(last_ns, entry.event.ns);
    done += entry.event.uncertain ? 0 : 1;
    if (!holes.empty()) after_hole(entry.event);
    sink.event(entry.event);
  }

  // Time zero is before all events, whatever the definitions say. Other tools may write any smaller time there, such as
  // none; their runs begin with the first event.
  void begin_with(std::uint64_t ticks) {
    const std::uint64_t before = definitions.base_ticks;
    if (ticks > before && definitions.is_refrain()) return;
    if (ticks > before && definitions.realtime_ns != 0)
      definitions.realtime_ns += definitions.duration_ns(ticks - before);
    definitions.base_ticks = ticks;
    first_ticks = ticks;
  }

  base::Result<> fill_all() {
    if (const auto done = choose_batch(); !done) return done;
    for (std::uint32_t i = 0; i < chosen.size(); ++i) {
      if (!begin_location(chosen[i], locations.emplace_back()))
        return base::Failure{
            named("the events of location ", chosen[i], " cannot be opened")};
      refill(locations[i]);
      if (!locations[i].empty()) heap.push_back({locations[i].ticks(), i});
    }
    std::make_heap(heap.begin(), heap.end(), later);
    if (!heap.empty()) begin_with(heap[0].ticks);
    return {};
  }

  // Until so many events have been handed over.
  base::Result<> merge(std::uint64_t until, const Progress& progress) {
    while (!heap.empty() && done < until) {
      LocationStream& location = locations[heap[0].location];
      hand_over(location, *sink);
      if (location.empty()) refill(location);
      if (location.empty()) {
        location.batch = {};
        heap[0] = heap.back();
        heap.pop_back();
        if (heap.empty()) break;
      } else {
        heap[0].ticks = location.ticks();
      }
      sift_down();
      if (done < next_report) continue;
      next_report += kProgressEvery;
      if (std::string error = sink->error(); !error.empty()) return base::Failure{error};
      if (progress) progress(std::min(done, total) / parts, total);
    }
    return {};
  }

  // False: an error.
  bool read_alone(std::uint32_t index, TraceSink& sink) {
    LocationStream location;
    const bool ok = begin_location(index, location);
    std::optional<std::uint64_t> first_ticks;
    while (ok) {
      refill(location);
      if (location.empty()) break;
      for (EventBatch::Entry& entry : location.batch.entries) {
        if (!first_ticks) first_ticks = entry.event.ticks;
        entry.event.ns = definitions.duration_ns(entry.event.ticks - *first_ticks);
        hand_over(location, entry, sink);
      }
    }
    close(location);
    return ok;
  }
};

ArchiveStream::ArchiveStream() : state_(std::make_unique<State>()) {}
ArchiveStream::~ArchiveStream() = default;

void ArchiveStream::join(std::shared_ptr<StreamGroup> group) {
  state_->group = std::move(group);
}

const TraceDefinitions& ArchiveStream::definitions() const { return state_->definitions; }
std::uint64_t ArchiveStream::events() const noexcept { return state_->done; }

base::Result<> ArchiveStream::open(const std::string& path) {
  const auto done = open_anchor(path);
  return done ? read_definitions(DefinitionChoice::kAll) : done;
}

base::Result<> ArchiveStream::open_anchor(const std::string& path) {
  State& s = *state_;
  const Shared::Listening listening(s.heard);
  s.path = s.definitions.archive = path;
  std::error_code error;
  std::filesystem::path& anchor = s.anchor;
  anchor = path;
  if (std::filesystem::is_directory(anchor, error)) anchor /= "traces.otf2";
  if (!std::filesystem::exists(path, error))
    return base::Failure{
        path +
        ": no such file or directory; an archive is the directory that 'refrain run' wrote"};
  if (!std::filesystem::exists(anchor, error))
    return base::Failure{
        path +
        ": no archive, the directory has no traces.otf2; an archive is the "
        "directory that 'refrain run' wrote"};
  if (anchor.extension() != ".otf2")
    return base::Failure{path +
                         ": not an archive; expected its directory, or its traces.otf2"};
  if (const std::string file = base::irregular_file(anchor.string()); !file.empty())
    return base::Failure{path + ": not read, because " + file + " is not a regular file"};
  if (const auto done = check_anchor_file(anchor.string()); !done)
    return base::Failure{s.wrong(done.error())};
  s.reader = OTF2_Reader_Open(anchor.c_str());
  if (s.reader == nullptr && s.wrong_contents())
    return base::Failure{path + ": not an OTF2 archive"};
  if (s.reader == nullptr) return base::Failure{s.wrong("not an OTF2 archive")};
  if (OTF2_Reader_SetSerialCollectiveCallbacks(s.reader) != OTF2_SUCCESS)
    return base::Failure{s.wrong("the archive cannot be read")};
  s.read_anchor();
  return {};
}

base::Result<> ArchiveStream::read_definitions(DefinitionChoice which) {
  State& s = *state_;
  const Shared::Listening listening(s.heard);
  if (const auto done = s.read_definitions(which); !done) return done;
  mark_loops(s.definitions);
  for (const LocationInfo& location : s.definitions.locations)
    if (location.events <= std::numeric_limits<std::uint64_t>::max() - s.total)
      s.total += location.events;
  return {};
}

base::Result<> ArchiveStream::start(TraceSink& sink, const Progress& progress) {
  State& s = *state_;
  const Shared::Listening listening(s.heard);
  std::vector<LocationId> all;
  for (LocationId i; i < s.definitions.locations.size(); ++i) all.push_back(i);
  if (const auto done = open_events(all); !done) return done;
  read_markers(s.reader, s.definitions);
  return begin_sink(s.definitions.base_ticks, sink, progress);
}

base::Result<> ArchiveStream::open_events(const std::vector<LocationId>& locations) {
  State& s = *state_;
  const Shared::Listening listening(s.heard);
  s.chosen = locations;
  std::ranges::sort(s.chosen);  // as they come where all are read
  if (const auto done = s.begin_events(s.chosen, true); !done) return done;
  return s.fill_all();
}

std::uint64_t ArchiveStream::base_ticks() const noexcept {
  const State& s = *state_;
  return s.definitions.is_refrain() ? s.definitions.base_ticks : s.first_ticks;
}

base::Result<> ArchiveStream::run_opened(std::uint64_t base_ticks, TraceSink& sink,
                                         const Progress& progress) {
  if (const auto done = begin_sink(base_ticks, sink, progress); !done) return done;
  if (const auto done = advance(~std::uint64_t{0}, progress); !done) return done;
  return finish();
}

base::Result<> ArchiveStream::begin_sink(std::uint64_t base_ticks, TraceSink& sink,
                                         const Progress& progress) {
  State& s = *state_;
  if (base_ticks != ~std::uint64_t{0}) s.definitions.base_ticks = base_ticks;
  const auto share = [&s, progress](double done) {
    const auto half = static_cast<double>(s.total) / 2;
    if (progress) progress(static_cast<std::uint64_t>(half + half * done), s.total);
  };
  s.parts = sink.tells_share(share) ? 2 : 1;
  s.sink = &sink;
  if (const auto done = sink.begin(s.definitions); !done) return done;
  for (const LocationStream& location : s.locations) {
    if (!location.begins_in_hole) continue;
    s.hole_of(location);
    TraceEvent event =
        s.switching(location.batch.location, s.definitions.base_ticks, false);
    s.after_hole(event);
    sink.event(event);
  }
  return {};
}

base::Result<> ArchiveStream::advance(std::uint64_t events, const Progress& progress) {
  State& s = *state_;
  const Shared::Listening listening(s.heard);
  return s.merge(events > ~s.done ? ~std::uint64_t{0} : s.done + events, progress);
}

std::uint64_t ArchiveStream::missing_events() const noexcept { return state_->missing; }

bool ArchiveStream::at_end() const noexcept { return state_->heap.empty(); }

base::Result<> ArchiveStream::finish() {
  State& s = *state_;
  const std::uint64_t defined =
      s.definitions.is_refrain() ? s.definitions.ns(s.definitions.end_ticks) : 0;
  return s.sink->finish(std::max(s.last_ns, defined));
}

void ArchiveStream::note_cut_files() {
  State& s = *state_;
  for (std::uint32_t i = 0; i < s.definitions.locations.size() && s.chunk_bytes != 0; ++i) {
    if (i < s.ended.size() && s.ended[i]) continue;
    const std::uint64_t promised = s.definitions.locations[i].events;
    const std::string file = s.file_of(i, ".evt");
    std::error_code none;
    if (!std::filesystem::exists(file, none)) {
      s.compare_with_promise(i, 0, promised, "it has no file");
    } else if (const auto counted = count_events(file, s.chunk_bytes)) {
      s.compare_with_promise(i, counted->whole, std::max(promised, counted->promised), "");
    }
  }
}

base::Result<> ArchiveStream::run(TraceSink& sink, const Progress& progress) {
  if (const auto done = start(sink, progress); !done) return done;
  if (const auto done = advance(~std::uint64_t{0}, progress); !done) return done;
  return finish();
}

base::Result<> ArchiveStream::run_in_turn(const std::vector<LocationId>& locations,
                                          EventChoice which, TraceSink& sink) {
  State& s = *state_;
  const Shared::Listening listening(s.heard);
  // Refrain's locations have no numbers of their own, and libotf2 takes megabytes for each.
  const bool local = !s.definitions.is_refrain();
  if (const auto done = s.begin_events(locations, local); !done) return done;
  s.callbacks = make_event_callbacks(which);
  if (s.callbacks == nullptr) return base::Failure{s.wrong("out of memory")};
  s.own_clocks = true;
  s.choice = which;
  if (const auto done = sink.begin(s.definitions); !done) return done;
  for (const LocationId location : locations) {
    if (!s.read_alone(location, sink))
      return base::Failure{s.named("the events of location ", location, " cannot be read")};
    if (std::string error = sink.error(); !error.empty()) return base::Failure{error};
  }
  return sink.finish(s.last_ns);
}

}  // namespace refrain::reader

namespace refrain::reader {

namespace {

constexpr unsigned char kEndOfChunk = 0, kEndOfFile = 2, kChunkHeader = 3, kTimeStamp = 5;
constexpr unsigned char kFirstEvent = 10, kMetricEvent = 31, kProgramBegin = 83;
constexpr unsigned char kLongOrUndefined = 255;
constexpr std::size_t kHeaderBytes = 18, kNumberBytes = 8;
constexpr std::uint64_t kMaxChunk = std::uint64_t{1} << 28;

std::uint64_t number_at(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Has lists. (Other events never come to so many bytes; those of one number have it where others have their length.)
bool may_be_long(unsigned char event) {
  return event < kFirstEvent || event == kMetricEvent || event == kProgramBegin;
}

// Bytes after the kind of a record, or more than there are. A long record has room for what it might have taken: what it has may be less.
std::size_t record_bytes(std::string_view rest, bool may_be_long) {
  if (rest.empty()) return 1;
  const auto length = static_cast<unsigned char>(rest[0]);
  if (length != kLongOrUndefined) return std::size_t{1} + length;
  if (!may_be_long) return 1;
  if (rest.size() < 1 + kNumberBytes) return 1 + kNumberBytes;
  const std::uint64_t bytes = number_at(rest, 1);
  return 1 + kNumberBytes + std::min<std::uint64_t>(bytes, rest.size());
}

struct Walked {
  std::uint64_t records = 0;  // whole ones
  std::size_t end = 0;        // of the last one
  bool ended = false;         // by the file's end mark
};

// Over the records of a chunk, after its header. Of events time stamps and attributes are no records of their own.
Walked walk(std::string_view bytes, bool events) {
  Walked out;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto kind = static_cast<unsigned char>(bytes[at++]);
    out.ended = kind == kEndOfFile;
    if (kind == kEndOfChunk || kind == kEndOfFile) break;
    const std::size_t length =
        events && kind == kTimeStamp
            ? kNumberBytes
            : record_bytes(bytes.substr(at), !events || may_be_long(kind));
    if (length > bytes.size() - at) break;
    at += length;
    if (events && kind < kFirstEvent) continue;
    ++out.records;
    out.end = at;
  }
  return out;
}

bool is_chunk(std::string_view bytes) {
  return bytes.size() >= kHeaderBytes &&
         static_cast<unsigned char>(bytes[0]) == kChunkHeader && bytes[1] == kLittleEndian;
}

class OpenFile {
 public:
  explicit OpenFile(const std::string& file)
      : descriptor_(open(file.c_str(), O_RDONLY | O_CLOEXEC)),
        missing_(descriptor_ < 0 && errno == ENOENT) {
    struct stat status {};
    if (descriptor_ >= 0 && fstat(descriptor_, &status) == 0)
      size_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~OpenFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool missing() const { return missing_; }
  std::uint64_t size() const { return size_; }
  // A chunk; empty: it cannot be read.
  std::string_view chunk(std::uint64_t number, std::uint64_t chunk_bytes,
                         std::vector<char>& memory) const {
    const std::uint64_t at = number * chunk_bytes;
    const auto bytes = static_cast<std::size_t>(std::min(chunk_bytes, size_ - at));
    if (memory.size() < bytes) memory.resize(bytes);
    const ssize_t got = pread(descriptor_, memory.data(), bytes, static_cast<off_t>(at));
    return {memory.data(), got < 0 ? 0 : static_cast<std::size_t>(got)};
  }

 private:
  int descriptor_;
  bool missing_;
  std::uint64_t size_ = 0;
};

// With its header. Nothing: the file cannot be read, or is none of libotf2; empty: it is shorter than a header.
std::optional<std::string> last_chunk(const std::string& file, std::uint64_t chunk_bytes,
                                      bool& cut_in_header) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  if (!in || size < 0 || chunk_bytes < kHeaderBytes || chunk_bytes > kMaxChunk)
    return std::nullopt;
  cut_in_header = size == 0;
  if (cut_in_header) return std::string();
  const auto bytes = static_cast<std::uint64_t>(size);
  std::uint64_t at = (bytes - 1) / chunk_bytes * chunk_bytes;
  cut_in_header = bytes - at < kHeaderBytes;
  if (cut_in_header && at == 0) return std::string();
  // What comes before it is whole.
  if (cut_in_header) at -= chunk_bytes;
  std::string chunk(std::min(chunk_bytes, bytes - at), '\0');
  in.seekg(static_cast<std::streamoff>(at));
  if (!in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) ||
      !is_chunk(chunk))
    return std::nullopt;
  return chunk;
}

}  // namespace

std::optional<EventFile> count_events(const std::string& file, std::uint64_t chunk_bytes) {
  bool cut_in_header = false;
  const auto chunk = last_chunk(file, chunk_bytes, cut_in_header);
  if (!chunk) return std::nullopt;
  if (chunk->empty()) return EventFile{};
  const std::uint64_t first = number_at(*chunk, 2);
  const std::uint64_t last = number_at(*chunk, 2 + kNumberBytes);
  std::error_code none;
  // Each event takes two bytes or more.
  if (first == 0 || first - 1 > last || last > std::filesystem::file_size(file, none))
    return std::nullopt;
  const std::uint64_t whole =
      first - 1 + walk(std::string_view(*chunk).substr(kHeaderBytes), true).records;
  return EventFile{std::min(whole, last), last};
}

EventChunk read_chunk(const std::string& file, std::uint64_t chunk_bytes,
                      std::uint64_t& number, std::vector<char>& memory) {
  const OpenFile opened(file);
  EventChunk out;
  out.has_file = !opened.missing();
  if (chunk_bytes < kHeaderBytes || chunk_bytes > kMaxChunk) return out;
  while (!out.found && number < opened.size() / chunk_bytes + 1) {
    const std::string_view bytes = opened.chunk(number++, chunk_bytes, memory);
    if (!is_chunk(bytes)) continue;
    out.first = number_at(bytes, 2);
    out.last = number_at(bytes, 2 + kNumberBytes);
    out.found = out.first != 0 && out.first - 1 <= out.last && out.last <= opened.size();
    if (!out.found) continue;
    const std::string_view records = bytes.substr(kHeaderBytes);
    const Walked walked = walk(records, true);
    std::uint64_t whole = std::min(walked.records, out.last + 1 - out.first);
    // What ends with zeros where zeros are that should not be there has lost some of its own.
    if (out.first - 1 + whole < out.last && whole != 0 && walked.end < records.size() &&
        records[walked.end - 1] == '\0' && records[walked.end] == '\0')
      --whole;
    out.whole = out.first - 1 + whole;
  }
  if (!out.found) out.first = out.last = 0;
  out.more = number < (opened.size() + chunk_bytes - 1) / chunk_bytes;
  return out;
}

std::uint64_t count_definitions(const std::string& file, std::uint64_t chunk_bytes) {
  const OpenFile opened(file);
  std::vector<char> memory;
  std::uint64_t count = 0;
  if (chunk_bytes < kHeaderBytes || chunk_bytes > kMaxChunk) return 0;
  for (std::uint64_t number = 0; number * chunk_bytes < opened.size(); ++number) {
    const std::string_view bytes = opened.chunk(number, chunk_bytes, memory);
    if (!is_chunk(bytes)) break;
    const Walked walked = walk(bytes.substr(kHeaderBytes), false);
    count += walked.records;
    if (walked.ended) break;
  }
  return count;
}

bool is_cut(const std::string& file, std::uint64_t chunk_bytes) {
  bool cut_in_header = false;
  const auto chunk = last_chunk(file, chunk_bytes, cut_in_header);
  if (!chunk) return false;
  return cut_in_header || !walk(std::string_view(*chunk).substr(kHeaderBytes), false).ended;
}

}  // namespace refrain::reader
