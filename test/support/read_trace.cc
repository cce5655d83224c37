#include "test/support/read_trace.h"

#include <otf2/otf2.h>

#include <stdexcept>

#include "test/support/trace_callbacks.h"
#include "test/support/trace_events.h"

namespace refrain::test {
namespace {

// libotf2 reports errors through one function of the process.
class ErrorCollector {
 public:
  ErrorCollector() : previous_(OTF2_Error_RegisterCallback(&ErrorCollector::add, this)) {}
  ~ErrorCollector() { OTF2_Error_RegisterCallback(previous_, nullptr); }
  ErrorCollector(const ErrorCollector&) = delete;
  ErrorCollector& operator=(const ErrorCollector&) = delete;
  const std::string& text() const { return text_; }

 private:
  static OTF2_ErrorCode add(void* self, const char* file, std::uint64_t line,
                            const char* function, OTF2_ErrorCode code, const char* format,
                            va_list arguments) {
    (void)file, (void)line;
    char message[1024];
    vsnprintf(message, sizeof message, format, arguments);
    static_cast<ErrorCollector*>(self)->text_ += std::string("\n  ") + function + ": " +
                                                 OTF2_Error_GetDescription(code) + ": " +
                                                 message;
    return code;
  }
  std::string text_;
  OTF2_ErrorCallback previous_;
};

class ArchiveReader {
 public:
  explicit ArchiveReader(const std::filesystem::path& anchor)
      : anchor_(anchor.string()), reader_(OTF2_Reader_Open(anchor_.c_str())) {
    if (!reader_) throw std::runtime_error("cannot open " + anchor_ + errors_.text());
    check(OTF2_Reader_SetSerialCollectiveCallbacks(reader_), "callbacks");
  }
  ~ArchiveReader() { OTF2_Reader_Close(reader_); }
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  Trace read() {
    read_anchor();
    read_definitions();
    read_markers();
    read_events();
    if (!errors_.text().empty()) throw std::runtime_error(anchor_ + errors_.text());
    return std::move(trace_);
  }

 private:
  void check(OTF2_ErrorCode code, const char* what) {
    if (code == OTF2_SUCCESS) return;
    throw std::runtime_error(anchor_ + ": " + what + errors_.text());
  }

  static std::string take(char* text) {
    const std::string result = text ? text : "";
    free(text);
    return result;
  }

  void read_anchor() {
    char* text = nullptr;
    if (OTF2_Reader_GetMachineName(reader_, &text) == OTF2_SUCCESS)
      trace_.machine = take(text);
    text = nullptr;
    if (OTF2_Reader_GetCreator(reader_, &text) == OTF2_SUCCESS) trace_.creator = take(text);
    text = nullptr;
    if (OTF2_Reader_GetDescription(reader_, &text) == OTF2_SUCCESS)
      trace_.description = take(text);
    std::uint32_t count = 0;
    char** names = nullptr;
    check(OTF2_Reader_GetPropertyNames(reader_, &count, &names), "properties");
    for (std::uint32_t i = 0; i < count; ++i) {
      char* value = nullptr;
      check(OTF2_Reader_GetProperty(reader_, names[i], &value), "property");
      trace_.properties[names[i]] = take(value);
    }
    free(names);
  }

  void read_definitions() {
    OTF2_GlobalDefReader* reader = OTF2_Reader_GetGlobalDefReader(reader_);
    if (!reader) throw std::runtime_error(anchor_ + ": no definitions" + errors_.text());
    const DefinitionCallbacks callbacks;
    check(OTF2_Reader_RegisterGlobalDefCallbacks(reader_, reader, callbacks.get(), &trace_),
          "definition callbacks");
    std::uint64_t read = 0;
    check(OTF2_Reader_ReadAllGlobalDefinitions(reader_, reader, &read), "definitions");
    resolve_names(trace_);
  }

  void read_markers() {
    OTF2_MarkerReader* reader = OTF2_Reader_GetMarkerReader(reader_);
    if (!reader) return;  // the file is optional
    const MarkerCallbacks callbacks;
    MarkerState state{&trace_, {}};
    check(OTF2_Reader_RegisterMarkerCallbacks(reader_, reader, callbacks.get(), &state),
          "marker callbacks");
    std::uint64_t read = 0;
    check(OTF2_Reader_ReadAllMarkers(reader_, reader, &read), "markers");
    check(OTF2_Reader_CloseMarkerReader(reader_, reader), "markers' end");
  }

  void read_events() {
    for (const Location& location : trace_.locations)
      check(OTF2_Reader_SelectLocation(reader_, location.reference), "location");
    const bool local_definitions = OTF2_Reader_OpenDefFiles(reader_) == OTF2_SUCCESS;
    check(OTF2_Reader_OpenEvtFiles(reader_), "event files");
    for (Location& location : trace_.locations) {
      if (local_definitions) read_local_definitions(location.reference);
      read_location(location);
    }
    if (local_definitions) OTF2_Reader_CloseDefFiles(reader_);
    check(OTF2_Reader_CloseEvtFiles(reader_), "event files' end");
  }

  // Mapping tables and clock offsets, which libotf2 then applies by itself.
  void read_local_definitions(std::uint64_t location) {
    OTF2_DefReader* reader = OTF2_Reader_GetDefReader(reader_, location);
    if (!reader) return;
    std::uint64_t read = 0;
    check(OTF2_Reader_ReadAllLocalDefinitions(reader_, reader, &read), "local definitions");
    check(OTF2_Reader_CloseDefReader(reader_, reader), "local definitions' end");
  }

  void read_location(Location& location) {
    OTF2_EvtReader* reader = OTF2_Reader_GetEvtReader(reader_, location.reference);
    if (!reader) throw std::runtime_error(anchor_ + ": no events" + errors_.text());
    const EventCallbacks callbacks;
    check(OTF2_Reader_RegisterEvtCallbacks(reader_, reader, callbacks.get(),
                                           &location.events),
          "event callbacks");
    std::uint64_t read = 0;
    check(OTF2_Reader_ReadAllLocalEvents(reader_, reader, &read), "events");
    check(OTF2_Reader_CloseEvtReader(reader_, reader), "events' end");
  }

  ErrorCollector errors_;
  std::string anchor_;
  OTF2_Reader* reader_;
  Trace trace_;
};

}  // namespace

const char* event_name(EventType type) {
  static const char* const kNames[] = {"Enter",
                                       "Leave",
                                       "MeasurementOn",
                                       "MeasurementOff",
                                       "BufferFlush",
                                       "ThreadFork",
                                       "ThreadJoin",
                                       "TeamBegin",
                                       "TeamEnd",
                                       "AcquireLock",
                                       "ReleaseLock",
                                       "TaskCreate",
                                       "TaskSwitch",
                                       "TaskComplete",
                                       "ThreadCreate",
                                       "ThreadBegin",
                                       "ThreadWait",
                                       "ThreadEnd",
                                       "ParameterInt",
                                       "ParameterUnsigned",
                                       "ParameterString",
                                       "Metric",
                                       "ProgramBegin",
                                       "ProgramEnd",
                                       "IoCreateHandle",
                                       "IoDestroyHandle",
                                       "IoOperationBegin",
                                       "IoOperationComplete",
                                       "MpiSend",
                                       "MpiIsend",
                                       "MpiIsendComplete",
                                       "MpiIrecvRequest",
                                       "MpiRecv",
                                       "MpiIrecv",
                                       "MpiRequestTest",
                                       "MpiRequestCancelled",
                                       "MpiCollectiveBegin",
                                       "MpiCollectiveEnd",
                                       "NonBlockingCollectiveRequest",
                                       "NonBlockingCollectiveComplete",
                                       "CommCreate",
                                       "CommDestroy",
                                       "RmaWinCreate",
                                       "RmaWinDestroy",
                                       "RmaCollectiveBegin",
                                       "RmaCollectiveEnd",
                                       "RmaGroupSync",
                                       "RmaRequestLock",
                                       "RmaAcquireLock",
                                       "RmaTryLock",
                                       "RmaReleaseLock",
                                       "RmaSync",
                                       "RmaWaitChange",
                                       "RmaPut",
                                       "RmaGet",
                                       "RmaAtomic",
                                       "RmaOpCompleteBlocking",
                                       "RmaOpCompleteNonBlocking",
                                       "RmaOpTest",
                                       "RmaOpCompleteRemote"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(EventType::kTypes));
  return kNames[static_cast<std::size_t>(type)];
}

std::filesystem::path anchor_file(const std::filesystem::path& archive) {
  return std::filesystem::is_directory(archive) ? archive / "traces.otf2" : archive;
}

Trace read_trace(const std::filesystem::path& archive) {
  return ArchiveReader(anchor_file(archive)).read();
}

}  // namespace refrain::test
