// Builds synthetic spools for tests: records by hand, files as the recorder leaves them.
//
// Thread-safety: none. Errors: std::runtime_error where a file cannot be written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "spool/format.h"
#include "spool/mpi_format.h"

namespace refrain::spool {

// Makes a record; for the kinds see spool/format.h.
Record make_record(std::uint8_t kind, std::uint64_t ticks, std::uint64_t a48 = 0,
                   std::uint64_t payload = 0, std::uint8_t sub = 0);

struct Message {
  std::uint32_t peer = 0;
  std::uint16_t comm = 0;
  std::uint32_t tag = 0;
  std::uint64_t number = 0;  // in its channel
  std::uint64_t bytes = 0;
};

// The builder's numbers of MPI procedures.
enum TestProcedure : std::uint16_t {
  kTestSend = 0,
  kTestRecv = 1,
  kTestIsend = 2,
  kTestIrecv = 3,
  kTestWaitall = 4,
  kTestAllreduce = 5,
  kTestIbarrier = 6,
  kTestPut = 7,
  kTestFence = 8,
};
inline constexpr const char* kTestProcedures[] = {
    "MPI_Send",      "MPI_Recv",     "MPI_Isend", "MPI_Irecv",    "MPI_Waitall",
    "MPI_Allreduce", "MPI_Ibarrier", "MPI_Put",   "MPI_Win_fence"};

// Records of one file. Each function appends one record to the log, or to the ring after
// suspend_in_ring().
class RecordBuilder {
 public:
  RecordBuilder& add(const Record& record);
  RecordBuilder& add(std::uint8_t kind, std::uint64_t ticks, std::uint64_t a48 = 0,
                     std::uint64_t payload = 0, std::uint8_t sub = 0) {
    return add(make_record(kind, ticks, a48, payload, sub));
  }
  // A Sync with the snapshots of what is open.
  RecordBuilder& sync(std::uint64_t epoch, std::uint64_t ticks,
                      const std::vector<Record>& open = {});
  RecordBuilder& text(TextKey key, const std::string& text);
  // From here on records go to the ring, and the file is marked as suspended.
  RecordBuilder& suspend_in_ring();
  // Leaves the file like that of a process that is still running.
  RecordBuilder& not_ended();

  // A whole outermost region on the thread that begins it: Sync, fork, implicit task, a
  // worksharing loop, an implicit barrier (coalesced with its wait), join.
  RecordBuilder& region(std::uint64_t epoch, std::uint64_t begin, std::uint64_t end,
                        std::uint64_t address, std::uint32_t team_size);
  // The same on another member of its team.
  RecordBuilder& member(std::uint64_t epoch, std::uint64_t begin, std::uint64_t end,
                        std::uint64_t address, std::uint32_t thread,
                        std::uint32_t team_size);

  // An MPI call; with an epoch, after a cut.
  RecordBuilder& enter_mpi(std::uint64_t ticks, std::uint16_t procedure, std::uint64_t site,
                           std::uint64_t epoch = 0);
  RecordBuilder& leave_mpi(std::uint64_t ticks, std::uint16_t procedure,
                           std::uint64_t site);
  // kMpiSend or kMpiRecv, with its amount.
  RecordBuilder& message(Kind kind, std::uint64_t ticks, const Message& message,
                         std::uint32_t request = 0);
  RecordBuilder& collective(std::uint64_t ticks, MpiCollective operation,
                            std::uint16_t comm, std::uint32_t number, bool worldwide = true,
                            std::uint32_t request = 0);

  std::vector<Record> log;
  std::vector<Record> ring;
  std::uint64_t ring_count = 0;  // 0: as many as are in `ring`
  bool suspended = false;
  bool ended = true;
  std::uint64_t lost[kLossCauses] = {};
  std::uint64_t start_ticks = 1;
  std::uint64_t pid = 999999999;  // no process has this number

 private:
  RecordBuilder& work(std::uint64_t epoch, std::uint64_t begin, std::uint64_t end,
                      std::uint64_t address, std::uint32_t thread, std::uint32_t team_size);
};

class SpoolBuilder {
 public:
  // One process with so many locations; location 0 is the primary.
  explicit SpoolBuilder(std::uint32_t locations);

  RecordBuilder& journal() { return journal_; }
  RecordBuilder& location(std::uint32_t number) { return locations_[number]; }
  std::uint32_t locations() const { return static_cast<std::uint32_t>(locations_.size()); }

  // The journal of a rank: procedures, MPI_COMM_WORLD as 0 (identity 0xa000) and
  // MPI_COMM_SELF as 1.
  SpoolBuilder& mpi(std::uint32_t rank, std::uint32_t size);
  std::uint32_t rank() const { return rank_; }  // as given to mpi()
  // A communicator in which this process has rank `rank`.
  void comm(std::uint16_t number, MpiCommKind kind, std::uint32_t rank,
            std::uint64_t identity, const std::vector<std::uint32_t>& members,
            const std::vector<std::uint32_t>& remote = {}, std::uint64_t parent = 0);

  // A region of all locations.
  void region(std::uint64_t epoch, std::uint64_t begin, std::uint64_t end,
              std::uint64_t address);
  // Journal: loop `id` with a body of one region at this address.
  void loop(std::uint32_t id, std::uint64_t found, std::uint64_t address,
            std::uint16_t level = 0, std::uint32_t visit = 0);
  void iteration(std::uint32_t id, std::uint64_t number, std::uint64_t ticks,
                 std::uint16_t level = 0);
  void left(std::uint32_t id, std::uint64_t complete, std::uint64_t ticks);
  void gap(std::uint64_t id, std::uint64_t epoch, std::uint64_t ticks);
  void resumed(std::uint64_t id, std::uint64_t epoch, std::uint64_t ticks,
               GapReason reason = kGapBreak);

  // Writes <archive>/spool/process-<P>/; returns that directory.
  std::filesystem::path write(const std::filesystem::path& archive,
                              std::uint32_t process = 0) const;

 private:
  RecordBuilder journal_;
  std::vector<RecordBuilder> locations_;
  std::uint32_t rank_ = 0;
};

inline constexpr std::uint64_t kTestTicksPerSecond = 1'000'000'000;

// --- Synthetic spools of MPI jobs: one builder a rank, and the calls that most tests need.
//
// Times are ticks, epochs the count of calls of a location (enter_mpi). Thread-safety: none.

// Call site of all calls.
inline constexpr std::uint64_t kSite = 0x7000;

// All ranks of a job; each has one location.
std::vector<SpoolBuilder> job(std::uint32_t size);

// MPI_Send in [ticks, ticks + 5]; the message at its start.
void send(SpoolBuilder& rank, std::uint64_t epoch, std::uint64_t ticks,
          const Message& message);

// MPI_Recv in [ticks, ticks + 5]; the message at its end.
void receive(SpoolBuilder& rank, std::uint64_t epoch, std::uint64_t ticks,
             const Message& message);

// MPI_Allreduce of MPI_COMM_WORLD in [ticks, ticks + 9]; its number in the communicator.
void allreduce(SpoolBuilder& rank, std::uint64_t epoch, std::uint64_t ticks,
               std::uint32_t number);

}  // namespace refrain::spool
