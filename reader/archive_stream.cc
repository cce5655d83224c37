#include "reader/archive_stream.h"

#include <otf2/otf2.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <limits>

#include "reader/anchor_file.h"
#include "reader/event_callbacks.h"

namespace refrain::reader {
namespace {

constexpr std::uint64_t kProgressEvery = 1 << 16;
constexpr std::uint64_t kMostBatch = 512;
constexpr std::uint64_t kLeastBatch = 16;
constexpr std::uint64_t kBatchEvents = 1 << 18;  // of all locations

// What libotf2 says of errors comes by a callback of the process; the first is kept.
class Otf2Errors {
 public:
  Otf2Errors() : previous_(OTF2_Error_RegisterCallback(take, this)) {}
  ~Otf2Errors() { OTF2_Error_RegisterCallback(previous_, nullptr); }
  Otf2Errors(const Otf2Errors&) = delete;
  Otf2Errors& operator=(const Otf2Errors&) = delete;

  // " (...)" or nothing.
  std::string text() const { return first_.empty() ? "" : " (" + first_ + ")"; }

 private:
  static OTF2_ErrorCode take(void* self, const char*, std::uint64_t, const char*,
                             OTF2_ErrorCode code, const char* format, va_list arguments) {
    char text[256] = "";
    if (format != nullptr) std::vsnprintf(text, sizeof(text), format, arguments);
    std::string& first = static_cast<Otf2Errors*>(self)->first_;
    if (!first.empty()) return code;
    first = OTF2_Error_GetDescription(code);
    if (text[0] != '\0') first += std::string(": ") + text;
    return code;
  }
  std::string first_;
  OTF2_ErrorCallback previous_;
};

std::string taken(char* text) {
  std::string result = text != nullptr ? text : "";
  std::free(text);
  return result;
}

// One file is open for each location. Put back at the end: the process may be a program's.
class MoreFiles {
 public:
  MoreFiles() {
    known_ = getrlimit(RLIMIT_NOFILE, &before_) == 0;
    rlimit more = before_;
    more.rlim_cur = more.rlim_max;
    if (known_) setrlimit(RLIMIT_NOFILE, &more);
  }
  ~MoreFiles() {
    if (known_) setrlimit(RLIMIT_NOFILE, &before_);
  }
  MoreFiles(const MoreFiles&) = delete;
  MoreFiles& operator=(const MoreFiles&) = delete;

 private:
  rlimit before_{};
  bool known_ = false;
};

// The events of one location, a batch at a time.
struct LocationStream {
  OTF2_EvtReader* reader = nullptr;
  EventBatch batch;
  std::size_t next = 0;

  bool empty() const { return next == batch.entries.size(); }
  std::uint64_t ticks() const { return batch.entries[next].ticks; }
};

}  // namespace

struct ArchiveStream::State {
  Otf2Errors errors;
  MoreFiles files;
  std::string path;
  OTF2_Reader* reader = nullptr;
  TraceDefinitions definitions;
  std::deque<LocationStream> locations;
  std::vector<std::uint32_t> heap;  // of those that have events; the earliest in front
  std::uint64_t batch = kMostBatch;
  std::uint64_t total = 0, done = 0, next_report = kProgressEvery;
  std::uint64_t last_ns = 0;

  ~State() {
    if (reader != nullptr) OTF2_Reader_Close(reader);
  }
  std::string wrong(const std::string& what) const {
    return path + ": " + what + errors.text();
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
  }

  // Clock offsets and numbers of a location's own: libotf2 applies what it has read.
  std::string read_local_definitions() {
    if (OTF2_Reader_OpenDefFiles(reader) != OTF2_SUCCESS) return {};  // there are none
    for (const LocationInfo& location : definitions.locations) {
      OTF2_DefReader* local = OTF2_Reader_GetDefReader(reader, location.ref);
      if (local == nullptr) continue;
      std::uint64_t count = 0;
      const OTF2_ErrorCode code =
          OTF2_Reader_ReadAllLocalDefinitions(reader, local, &count);
      OTF2_Reader_CloseDefReader(reader, local);
      if (code != OTF2_SUCCESS)
        return wrong("the definitions of a location cannot be read");
    }
    OTF2_Reader_CloseDefFiles(reader);
    return {};
  }

  std::string open_locations() {
    const std::size_t count = definitions.locations.size();
    if (count != 0) batch = std::clamp(kBatchEvents / count, kLeastBatch, kMostBatch);
    OTF2_EvtReaderCallbacks* callbacks = make_event_callbacks();
    if (callbacks == nullptr) return wrong("out of memory");
    std::string error;
    for (std::uint32_t i = 0; i < count && error.empty(); ++i) {
      LocationStream& location = locations.emplace_back();
      location.batch.definitions = &definitions;
      location.batch.location = i;
      location.batch.entries.reserve(batch);
      location.reader = OTF2_Reader_GetEvtReader(reader, definitions.locations[i].ref);
      // A location that left no file has no events.
      if (location.reader == nullptr && definitions.locations[i].events == 0) continue;
      if (location.reader == nullptr ||
          OTF2_Reader_RegisterEvtCallbacks(reader, location.reader, callbacks,
                                           &location.batch) != OTF2_SUCCESS)
        error =
            wrong("the events of location " + std::to_string(definitions.locations[i].ref) +
                  " cannot be opened; each location needs an open file (ulimit -n)");
    }
    OTF2_EvtReaderCallbacks_Delete(callbacks);
    return error;
  }

  // False: an error. A location without further events is empty afterwards.
  bool refill(LocationStream& location) {
    location.batch.clear();
    location.next = 0;
    if (location.reader == nullptr) return true;
    std::uint64_t count = 0;
    if (OTF2_Reader_ReadLocalEvents(reader, location.reader, batch, &count) != OTF2_SUCCESS)
      return false;
    // libotf2 must not be asked for events behind the last one.
    if (count < batch) {
      OTF2_Reader_CloseEvtReader(reader, location.reader);
      location.reader = nullptr;
    }
    return true;
  }

  bool later(std::uint32_t a, std::uint32_t b) const {
    const std::uint64_t ticks_a = locations[a].ticks();
    const std::uint64_t ticks_b = locations[b].ticks();
    return ticks_a != ticks_b ? ticks_a > ticks_b : a > b;
  }

  // The front of the heap has changed: to its place.
  void sift_down() {
    const std::size_t size = heap.size();
    const std::uint32_t moved = heap[0];
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
    entry.event.ns = definitions.ns(entry.ticks);
    entry.event.extras = location.batch.extras.data() + entry.extras;
    last_ns = entry.event.ns;
    sink.event(entry.event);
    ++done;
  }

  std::string fill_all() {
    for (std::uint32_t i = 0; i < locations.size(); ++i) {
      if (!refill(locations[i]))
        return wrong("the events of location " +
                     std::to_string(definitions.locations[i].ref) + " cannot be read");
      if (!locations[i].empty()) heap.push_back(i);
    }
    const auto by_time = [this](std::uint32_t a, std::uint32_t b) { return later(a, b); };
    std::make_heap(heap.begin(), heap.end(), by_time);
    // Time zero lies before everything, whatever the definitions say.
    if (!heap.empty())
      definitions.base_ticks = std::min(definitions.base_ticks, locations[heap[0]].ticks());
    return {};
  }

  // `parts`: of the work, of which reading is one.
  std::string merge(TraceSink& sink, const Progress& progress, std::uint64_t parts) {
    while (!heap.empty()) {
      const std::uint32_t front = heap[0];
      LocationStream& location = locations[front];
      hand_over(location, sink);
      if (location.empty() && !refill(location))
        return wrong("the events of location " +
                     std::to_string(definitions.locations[front].ref) + " cannot be read");
      if (location.empty()) {
        heap[0] = heap.back();
        heap.pop_back();
        if (heap.empty()) break;
      }
      sift_down();
      if (done < next_report) continue;
      next_report += kProgressEvery;
      if (std::string error = sink.error(); !error.empty()) return error;
      if (progress) progress(std::min(done, total) / parts, total);
    }
    return {};
  }
};

ArchiveStream::ArchiveStream() : state_(std::make_unique<State>()) {}
ArchiveStream::~ArchiveStream() = default;

const TraceDefinitions& ArchiveStream::definitions() const { return state_->definitions; }
std::uint64_t ArchiveStream::events() const noexcept { return state_->done; }

std::string ArchiveStream::open(const std::string& path) {
  State& s = *state_;
  s.path = path;
  std::error_code error;
  std::filesystem::path anchor(path);
  if (std::filesystem::is_directory(anchor, error)) anchor /= "traces.otf2";
  if (!std::filesystem::exists(anchor, error)) return path + ": no archive there";
  if (const std::string wrong = anchor_complaint(anchor.string()); !wrong.empty())
    return s.wrong(wrong);
  s.reader = OTF2_Reader_Open(anchor.c_str());
  if (s.reader == nullptr) return s.wrong("not an OTF2 archive");
  if (OTF2_Reader_SetSerialCollectiveCallbacks(s.reader) != OTF2_SUCCESS)
    return s.wrong("the archive cannot be read");
  s.read_anchor();
  if (read_trace_definitions(s.reader, s.definitions) != OTF2_SUCCESS)
    return s.wrong("the definitions cannot be read");
  mark_loops(s.definitions);
  for (const LocationInfo& location : s.definitions.locations) {
    if (OTF2_Reader_SelectLocation(s.reader, location.ref) != OTF2_SUCCESS)
      return s.wrong("location " + std::to_string(location.ref) + " cannot be read");
    if (location.events <= std::numeric_limits<std::uint64_t>::max() - s.total)
      s.total += location.events;
  }
  return {};
}

std::string ArchiveStream::run(TraceSink& sink, const Progress& progress) {
  State& s = *state_;
  if (std::string error = s.read_local_definitions(); !error.empty()) return error;
  if (OTF2_Reader_OpenEvtFiles(s.reader) != OTF2_SUCCESS)
    return s.wrong("the events cannot be opened");
  if (std::string error = s.open_locations(); !error.empty()) return error;
  if (std::string error = s.fill_all(); !error.empty()) return error;
  read_markers(s.reader, s.definitions);
  const auto share = [&](double done) {
    const auto half = static_cast<double>(s.total) / 2;
    if (progress) progress(static_cast<std::uint64_t>(half + half * done), s.total);
  };
  const std::uint64_t parts = sink.tells_share(share) ? 2 : 1;
  if (std::string error = sink.begin(s.definitions); !error.empty()) return error;
  if (std::string error = s.merge(sink, progress, parts); !error.empty()) return error;
  return sink.finish(std::max(s.last_ns, s.definitions.ns(s.definitions.end_ticks)));
}

}  // namespace refrain::reader
