#include "reader/foreign_archive.h"

#include <otf2/otf2.h>

#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace refrain::reader {
namespace {

void check(OTF2_ErrorCode code) {
  if (code != OTF2_SUCCESS) throw std::runtime_error(OTF2_Error_GetDescription(code));
}

OTF2_FlushType pre_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
OTF2_TimeStamp post_flush(void*, OTF2_FileType, OTF2_LocationRef) { return 0; }
constexpr OTF2_FlushCallbacks kFlush = {pre_flush, post_flush};

// Locations: 7 and 1000000007 are the threads of rank 0, 42 is rank 1's, 99 its GPU's.
constexpr std::uint64_t kLocations[] = {7, 1'000'000'007, 42, 99};

class Writer {
 public:
  Writer(const std::filesystem::path& folder, const ForeignOptions& options)
      : options_(options), random_(options.lies) {
    archive_ = OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE, 1 << 20,
                                 1 << 20, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (archive_ == nullptr) throw std::runtime_error("no archive");
    check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
    check(OTF2_Archive_SetFlushCallbacks(archive_, &kFlush, nullptr));
    check(OTF2_Archive_SetCreator(archive_, "another tool"));
  }

  void write() {
    check(OTF2_Archive_OpenEvtFiles(archive_));
    for (const std::uint64_t location : kLocations) {
      writer_ = OTF2_Archive_GetEvtWriter(archive_, location);
      if (location == 7) rank_0();
      if (location == 42) rank_1();
      if (location == 99) gpu();
      check(OTF2_EvtWriter_GetNumberOfEvents(writer_, &events_[location]));
      check(OTF2_Archive_CloseEvtWriter(archive_, writer_));
    }
    check(OTF2_Archive_CloseEvtFiles(archive_));
    definitions();
    check(OTF2_Archive_Close(archive_));
  }

 private:
  // A reference, or a lie.
  template <typename T>
  T r(T value) {
    if (options_.lies == 0 || random_() % 8 != 0) return value;
    const T lies[] = {T{0}, static_cast<T>(~T{0}), static_cast<T>(value + 1),
                      static_cast<T>(random_() % 40), static_cast<T>(random_())};
    return lies[random_() % std::size(lies)];
  }

  void enter(std::uint64_t ticks, OTF2_RegionRef region,
             OTF2_AttributeList* attributes = nullptr) {
    check(OTF2_EvtWriter_Enter(writer_, attributes, ticks, r(region)));
  }
  void leave(std::uint64_t ticks, OTF2_RegionRef region) {
    check(OTF2_EvtWriter_Leave(writer_, nullptr, ticks, r(region)));
  }

  // Regions: 3 main, 5 MPI_Isend, 6 MPI_Irecv, 9 MPI_Waitall, 2000000000 kernel.
  void rank_0() {
    OTF2_AttributeList* attributes = OTF2_AttributeList_New();
    check(OTF2_AttributeList_AddStringRef(attributes, r(4U), r(2U)));
    check(OTF2_AttributeList_AddDouble(attributes, 77, 1.5));  // not defined
    enter(1000, 3, attributes);
    OTF2_AttributeList_Delete(attributes);
    metric(1000, 100, 0.25);
    if (options_.undefined) {
      enter(1100, 12345);
      leave(1200, 12345);
    }
    // Two messages of one channel.
    enter(1250, 5);
    check(OTF2_EvtWriter_MpiIsend(writer_, nullptr, 1250, r(1U), r(0U), 8, 111, r(1UL)));
    leave(1300, 5);
    enter(1350, 5);
    check(OTF2_EvtWriter_MpiIsend(writer_, nullptr, 1350, r(1U), r(0U), 8, 222, r(2UL)));
    leave(1400, 5);
    metric(2000, 175, 0.5);
    enter(2000, 9);
    check(OTF2_EvtWriter_MpiIsendComplete(writer_, nullptr, 2250, r(1UL)));
    check(OTF2_EvtWriter_MpiIsendComplete(writer_, nullptr, 2250, r(2UL)));
    leave(2250, 9);
    // Without a receive.
    check(OTF2_EvtWriter_MpiSend(writer_, nullptr, 2300, r(1U), r(0U), 9, 5));
    check(OTF2_EvtWriter_MpiSend(writer_, nullptr, 2300, 1, 555, 9, 5));
    leave(3500, 3);
    OTF2_AttributeList* const several = OTF2_AttributeList_New();
    for (std::uint64_t i = 0; i < options_.more_enters; ++i) {
      for (std::uint32_t j = 0; j < options_.attributes; ++j)
        check(OTF2_AttributeList_AddUint64(several, 1'000'000'000 + j, ~(i + j)));
      enter(3500 + 2 * i, 3, several);
      leave(3501 + 2 * i, 3);
      check(OTF2_AttributeList_RemoveAllAttributes(several));
    }
    OTF2_AttributeList_Delete(several);
  }

  void metric(std::uint64_t ticks, std::uint64_t instructions, double load) {
    const OTF2_Type types[] = {OTF2_TYPE_UINT64, OTF2_TYPE_DOUBLE};
    OTF2_MetricValue values[2];
    values[0].unsigned_int = instructions;
    values[1].floating_point = load;
    check(OTF2_EvtWriter_Metric(writer_, nullptr, ticks, r(1U), 2, types, values));
  }

  // The receive that was posted second is complete first.
  void rank_1() {
    enter(1050, 3);
    enter(1100, 6);
    check(OTF2_EvtWriter_MpiIrecvRequest(writer_, nullptr, 1100, r(10UL)));
    leave(1125, 6);
    enter(1150, 6);
    check(OTF2_EvtWriter_MpiIrecvRequest(writer_, nullptr, 1150, r(11UL)));
    leave(1175, 6);
    enter(1500, 9);
    check(OTF2_EvtWriter_MpiIrecv(writer_, nullptr, 1600, r(0U), r(0U), 8, 222, r(11UL)));
    check(OTF2_EvtWriter_MpiIrecv(writer_, nullptr, 1750, r(0U), r(0U), 8, 111, r(10UL)));
    leave(1750, 9);
    leave(3450, 3);
  }

  void gpu() {
    enter(1500, 2'000'000'000);
    leave(1700, 2'000'000'000);
  }

  void string(OTF2_StringRef ref, const char* text) {
    check(OTF2_GlobalDefWriter_WriteString(definitions_, r(ref), text));
  }

  void region(OTF2_RegionRef ref, OTF2_StringRef name, OTF2_RegionRole role,
              OTF2_Paradigm paradigm, OTF2_StringRef file, std::uint32_t line) {
    check(OTF2_GlobalDefWriter_WriteRegion(definitions_, ref, r(name), r(name), r(0U), role,
                                           paradigm, OTF2_REGION_FLAG_NONE, r(file),
                                           r(line), line));
  }

  void definitions() {
    definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_);
    const char* strings[] = {"",
                             "main(int, char**)",
                             "say \"hello\", world",
                             "MPI_Isend",
                             "MPI_Irecv",
                             "MPI_Waitall",
                             "kernel\xff",
                             "a, b.c",
                             "note",
                             "PAPI_TOT_INS",
                             "load",
                             "node 1",
                             "node 2",
                             "world"};
    for (OTF2_StringRef i = 0; i < std::size(strings); ++i) string(i, strings[i]);
    check(OTF2_GlobalDefWriter_WriteClockProperties(
        definitions_, r(kForeignTicks), r(1000UL), r(2500UL), OTF2_UNDEFINED_TIMESTAMP));
    for (OTF2_SystemTreeNodeRef node = 0; node < 2; ++node) {
      check(OTF2_GlobalDefWriter_WriteSystemTreeNode(
          definitions_, r(node), r(11 + node), r(0U), r(OTF2_UNDEFINED_SYSTEM_TREE_NODE)));
      check(OTF2_GlobalDefWriter_WriteLocationGroup(
          definitions_, r(20 + node), 777, OTF2_LOCATION_GROUP_TYPE_PROCESS, r(1 - node),
          r(OTF2_UNDEFINED_LOCATION_GROUP)));
    }
    check(OTF2_GlobalDefWriter_WriteLocationGroup(
        definitions_, 30, 0, OTF2_LOCATION_GROUP_TYPE_ACCELERATOR, r(0U), r(20U)));
    // Rank 0 is group 21.
    const OTF2_LocationGroupRef groups[] = {21, 21, 20, 30};
    for (int i = 0; i < 4; ++i)
      check(OTF2_GlobalDefWriter_WriteLocation(
          definitions_, r(kLocations[i]), r(i == 3 ? 6U : 0U),
          i == 3 ? OTF2_LOCATION_TYPE_ACCELERATOR_STREAM : OTF2_LOCATION_TYPE_CPU_THREAD,
          r(options_.said_events.value_or(events_[kLocations[i]])), r(groups[i])));
    region(3, 1, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_COMPILER, 7, 12);
    region(5, 3, OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI, 4444, 0);
    region(6, 4, OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI, 0, 0);
    region(9, 5, OTF2_REGION_ROLE_POINT2POINT, OTF2_PARADIGM_MPI, 0, 0);
    region(2'000'000'000, 6, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_CUDA, 0, 0);
    const std::vector<std::uint64_t> world = {r(7UL), r(42UL)}, members = {r(0UL), r(1UL)};
    check(OTF2_GlobalDefWriter_WriteGroup(definitions_, 0, 0,
                                          OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                          OTF2_GROUP_FLAG_NONE, 2, world.data()));
    check(OTF2_GlobalDefWriter_WriteGroup(definitions_, 1, 0, OTF2_GROUP_TYPE_COMM_GROUP,
                                          OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 2,
                                          members.data()));
    check(OTF2_GlobalDefWriter_WriteComm(definitions_, 0, r(13U), r(1U),
                                         r(OTF2_UNDEFINED_COMM), OTF2_COMM_FLAG_NONE));
    check(OTF2_GlobalDefWriter_WriteAttribute(definitions_, r(4U), r(8U), 0,
                                              OTF2_TYPE_STRING));
    check(OTF2_GlobalDefWriter_WriteMetricMember(
        definitions_, r(0U), r(9U), 0, OTF2_METRIC_TYPE_PAPI, OTF2_METRIC_ACCUMULATED_START,
        OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0, 0));
    check(OTF2_GlobalDefWriter_WriteMetricMember(
        definitions_, r(1U), r(10U), 0, OTF2_METRIC_TYPE_USER, OTF2_METRIC_ABSOLUTE_POINT,
        OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL, 0, 0));
    const OTF2_MetricMemberRef metrics[] = {r(0U), r(1U)};
    check(OTF2_GlobalDefWriter_WriteMetricClass(
        definitions_, 1, 2, metrics, OTF2_METRIC_SYNCHRONOUS, OTF2_RECORDER_KIND_CPU));
    check(OTF2_Archive_CloseGlobalDefWriter(archive_, definitions_));
  }

  ForeignOptions options_;
  std::mt19937 random_;
  std::map<std::uint64_t, std::uint64_t> events_;  // by location
  OTF2_Archive* archive_ = nullptr;
  OTF2_EvtWriter* writer_ = nullptr;
  OTF2_GlobalDefWriter* definitions_ = nullptr;
};

}  // namespace

void write_foreign_archive(const std::filesystem::path& folder,
                           const ForeignOptions& options) {
  Writer(folder, options).write();
}

}  // namespace refrain::reader
