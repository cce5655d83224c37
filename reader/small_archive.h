// Archives of few events made by hand, as some tool may write them, for tests.
//
// Processes are MPI's ranks in their order. Times in nanoseconds. Errors: std::runtime_error.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace refrain::reader {

class SmallArchive {
 public:
  explicit SmallArchive(const std::filesystem::path& folder,
                        const std::string& tool = "a tool");
  SmallArchive(const SmallArchive&) = delete;
  SmallArchive& operator=(const SmallArchive&) = delete;
  ~SmallArchive();

  // As one of Refrain's.
  void of_refrain();
  std::uint32_t region(const std::string& name,
                       OTF2_RegionRole role = OTF2_REGION_ROLE_FUNCTION,
                       OTF2_Paradigm paradigm = OTF2_PARADIGM_COMPILER,
                       const std::string& file = "", std::uint32_t line = 0);
  std::uint32_t mpi(const std::string& name,
                    OTF2_RegionRole role = OTF2_REGION_ROLE_POINT2POINT) {
    return region(name, role, OTF2_PARADIGM_MPI);
  }
  // Of an archive of Refrain: an enter is an iteration.
  std::uint32_t loop(const std::string& name);
  std::uint32_t context(std::uint32_t region,
                        std::uint32_t parent = OTF2_UNDEFINED_CALLING_CONTEXT);
  // A descriptor of a file: its handle.
  std::uint32_t file(const std::string& path);
  // A process with one thread, or a stream of a device of the process before: events go there until the next one.
  void process(const std::string& name = "process");
  void device();
  // The type of this location is not known.
  void of_no_type() { locations_.back().type = OTF2_LOCATION_TYPE_UNKNOWN; }

  void enter(std::uint64_t ns, std::uint32_t region);
  void leave(std::uint64_t ns, std::uint32_t region);
  // An MPI_Send or MPI_Recv of 8 bytes, in its region.
  void send(std::uint64_t begin, std::uint64_t end, std::uint32_t region, std::uint32_t to,
            std::uint32_t tag = 0);
  void receive(std::uint64_t begin, std::uint64_t end, std::uint32_t region,
               std::uint32_t from, std::uint32_t tag = 0);
  OTF2_EvtWriter* writer() { return writer_; }  // for all else

  // The clock's begin and length by the definitions, and the real time of the start. Last.
  void finish(std::uint64_t begin, std::uint64_t length,
              std::uint64_t realtime = OTF2_UNDEFINED_TIMESTAMP);

 private:
  struct Region {
    std::string name, file;
    std::uint32_t line;
    OTF2_RegionRole role;
    OTF2_Paradigm paradigm;
    OTF2_RegionFlag flags = OTF2_REGION_FLAG_NONE;
  };
  struct Location {
    std::string name;
    OTF2_LocationType type;
    std::uint32_t group;
    std::uint64_t events;
  };
  void location(const std::string& name, OTF2_LocationType type);
  void end_location();
  OTF2_StringRef string(const std::string& text);
  void define_places();
  void define_mpi();
  void define_files();

  OTF2_Archive* archive_ = nullptr;
  OTF2_EvtWriter* writer_ = nullptr;
  OTF2_GlobalDefWriter* definitions_ = nullptr;
  std::vector<Region> regions_;
  std::vector<std::string> files_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> contexts_;  // region, parent
  std::vector<Location> locations_;
  OTF2_StringRef strings_ = 0;
};

}  // namespace refrain::reader
