#include "reader/small_archive.h"

#include <stdexcept>

namespace refrain::reader {
namespace {

void need(OTF2_ErrorCode code) {
  if (code != OTF2_SUCCESS) throw std::runtime_error(OTF2_Error_GetDescription(code));
}

OTF2_FlushType flush_always(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
OTF2_TimeStamp no_time(void*, OTF2_FileType, OTF2_LocationRef) { return 0; }
constexpr OTF2_FlushCallbacks kFlushAlways = {flush_always, no_time};

}  // namespace

SmallArchive::SmallArchive(const std::filesystem::path& folder, const std::string& tool) {
  archive_ = OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE, 1 << 20,
                               1 << 20, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (archive_ == nullptr) throw std::runtime_error("no archive");
  need(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
  need(OTF2_Archive_SetFlushCallbacks(archive_, &kFlushAlways, nullptr));
  need(OTF2_Archive_SetCreator(archive_, tool.c_str()));
  need(OTF2_Archive_OpenEvtFiles(archive_));
}

SmallArchive::~SmallArchive() {
  if (archive_ != nullptr) OTF2_Archive_Close(archive_);
}

void SmallArchive::of_refrain() {
  need(OTF2_Archive_SetProperty(archive_, "REFRAIN::VERSION", "0.1.0", true));
}

std::uint32_t SmallArchive::region(const std::string& name, OTF2_RegionRole role,
                                   OTF2_Paradigm paradigm, const std::string& file,
                                   std::uint32_t line) {
  regions_.push_back({name, file, line, role, paradigm, OTF2_REGION_FLAG_NONE});
  return static_cast<std::uint32_t>(regions_.size() - 1);
}

std::uint32_t SmallArchive::loop(const std::string& name) {
  const std::uint32_t number =
      region(name, OTF2_REGION_ROLE_LOOP, OTF2_PARADIGM_MEASUREMENT_SYSTEM);
  regions_.back().flags = OTF2_REGION_FLAG_PHASE;
  return number;
}

std::uint32_t SmallArchive::context(std::uint32_t region, std::uint32_t parent) {
  contexts_.emplace_back(region, parent);
  return static_cast<std::uint32_t>(contexts_.size() - 1);
}

std::uint32_t SmallArchive::file(const std::string& path) {
  files_.push_back(path);
  return static_cast<std::uint32_t>(files_.size() - 1);
}

void SmallArchive::process(const std::string& name) {
  location(name, OTF2_LOCATION_TYPE_CPU_THREAD);
}
void SmallArchive::device() { location("device", OTF2_LOCATION_TYPE_ACCELERATOR_STREAM); }

void SmallArchive::location(const std::string& name, OTF2_LocationType type) {
  end_location();
  writer_ = OTF2_Archive_GetEvtWriter(archive_, locations_.size());
  const auto group = static_cast<std::uint32_t>(locations_.size());
  locations_.push_back({name, type, group, 0});
}

void SmallArchive::end_location() {
  if (writer_ == nullptr) return;
  need(OTF2_EvtWriter_GetNumberOfEvents(writer_, &locations_.back().events));
  need(OTF2_Archive_CloseEvtWriter(archive_, writer_));
  writer_ = nullptr;
}

void SmallArchive::enter(std::uint64_t ns, std::uint32_t region) {
  need(OTF2_EvtWriter_Enter(writer_, nullptr, ns, region));
}
void SmallArchive::leave(std::uint64_t ns, std::uint32_t region) {
  need(OTF2_EvtWriter_Leave(writer_, nullptr, ns, region));
}

void SmallArchive::send(std::uint64_t begin, std::uint64_t end, std::uint32_t region,
                        std::uint32_t to, std::uint32_t tag) {
  enter(begin, region);
  need(OTF2_EvtWriter_MpiSend(writer_, nullptr, begin, to, 0, tag, 8));
  leave(end, region);
}
void SmallArchive::receive(std::uint64_t begin, std::uint64_t end, std::uint32_t region,
                           std::uint32_t from, std::uint32_t tag) {
  enter(begin, region);
  need(OTF2_EvtWriter_MpiRecv(writer_, nullptr, end, from, 0, tag, 8));
  leave(end, region);
}

void SmallArchive::define_files() {
  if (files_.empty()) return;
  need(OTF2_GlobalDefWriter_WriteIoParadigm(
      definitions_, 0, string("POSIX"), string("POSIX I/O"), OTF2_IO_PARADIGM_CLASS_SERIAL,
      OTF2_IO_PARADIGM_FLAG_OS, 0, nullptr, nullptr, nullptr));
  for (std::uint32_t i = 0; i < files_.size(); ++i) {
    need(OTF2_GlobalDefWriter_WriteIoRegularFile(definitions_, i, string(files_[i]), 0));
    need(OTF2_GlobalDefWriter_WriteIoHandle(definitions_, i, string("fd"), i, 0,
                                            OTF2_IO_HANDLE_FLAG_NONE, OTF2_UNDEFINED_COMM,
                                            OTF2_UNDEFINED_IO_HANDLE));
  }
}

OTF2_StringRef SmallArchive::string(const std::string& text) {
  need(OTF2_GlobalDefWriter_WriteString(definitions_, strings_, text.c_str()));
  return strings_++;
}

void SmallArchive::define_places() {
  need(OTF2_GlobalDefWriter_WriteSystemTreeNode(
      definitions_, 0, string("node"), string("machine"), OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  std::uint32_t of = 0;  // of a device: the process before
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const Location& from = locations_[i];
    const OTF2_StringRef name = string(from.name);
    const bool device = from.type == OTF2_LOCATION_TYPE_ACCELERATOR_STREAM;
    if (!device) of = from.group;
    need(OTF2_GlobalDefWriter_WriteLocationGroup(
        definitions_, from.group, name,
        device ? OTF2_LOCATION_GROUP_TYPE_ACCELERATOR : OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
        device ? of : OTF2_UNDEFINED_LOCATION_GROUP));
    need(OTF2_GlobalDefWriter_WriteLocation(definitions_, i, name, from.type, from.events,
                                            from.group));
  }
}

void SmallArchive::define_mpi() {
  std::vector<std::uint64_t> world, ranks;
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    if (locations_[i].type == OTF2_LOCATION_TYPE_ACCELERATOR_STREAM) continue;
    ranks.push_back(world.size());
    world.push_back(i);
  }
  const auto count = static_cast<std::uint32_t>(world.size());
  need(OTF2_GlobalDefWriter_WriteGroup(definitions_, 0, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                       OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, count,
                                       world.data()));
  need(OTF2_GlobalDefWriter_WriteGroup(definitions_, 1, 0, OTF2_GROUP_TYPE_COMM_GROUP,
                                       OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, count,
                                       ranks.data()));
  need(OTF2_GlobalDefWriter_WriteComm(definitions_, 0, string("world"), 1,
                                      OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
}

void SmallArchive::finish(std::uint64_t begin, std::uint64_t length,
                          std::uint64_t realtime) {
  end_location();
  need(OTF2_Archive_CloseEvtFiles(archive_));
  definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_);
  need(OTF2_GlobalDefWriter_WriteClockProperties(definitions_, 1'000'000'000, begin, length,
                                                 realtime));
  define_places();
  for (std::uint32_t i = 0; i < regions_.size(); ++i) {
    const Region& from = regions_[i];
    const OTF2_StringRef name = string(from.name), file = string(from.file);
    need(OTF2_GlobalDefWriter_WriteRegion(definitions_, i, name, name, name, from.role,
                                          from.paradigm, from.flags, file, from.line,
                                          from.line));
  }
  for (std::uint32_t i = 0; i < contexts_.size(); ++i)
    need(OTF2_GlobalDefWriter_WriteCallingContext(definitions_, i, contexts_[i].first,
                                                  OTF2_UNDEFINED_SOURCE_CODE_LOCATION,
                                                  contexts_[i].second));
  define_mpi();
  define_files();
  need(OTF2_Archive_CloseGlobalDefWriter(archive_, definitions_));
  OTF2_Archive* const archive = archive_;
  archive_ = nullptr;
  need(OTF2_Archive_Close(archive));
}

}  // namespace refrain::reader
