#include "writer/testing/spool_builder.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>

namespace refrain::spool {
namespace {

constexpr std::uint64_t kStageBytes = kStageRecords * kRecordBytes;
constexpr std::uint8_t kImplicitParallel = 9;  // ompt_sync_region_barrier_implicit_parallel

void fill_header(Header& header, const RecordBuilder& from, FileKind kind) {
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.byte_order = kByteOrder;
  header.file_kind = kind;
  header.pid = from.pid;
  header.stage_offset = kHeaderBytes;
  header.stage_records = kStageRecords;
  header.ring_offset = kHeaderBytes + kStageBytes;
  header.clock_kind = kClockMonotonicRaw;
  header.ticks_per_second = static_cast<double>(kTestTicksPerSecond);
  header.start_ticks = from.start_ticks;
  header.start_epoch_ns = 1'700'000'000'000'000'000;
  // The latest records stay in the stage, as in a process that was killed.
  const std::uint64_t staged = std::min<std::uint64_t>(from.log.size() / 3, kStageRecords);
  header.flushed = from.log.size() - staged;
  header.log_commit = from.log.size() << 1 | static_cast<std::uint64_t>(from.suspended);
  header.ended = from.ended ? 1 : 0;
  for (std::size_t cause = 0; cause < kLossCauses; ++cause)
    header.lost[cause] = from.lost[cause];
  std::uint64_t events = 0;
  for (std::size_t i = 0; i < from.log.size(); i += 1 + text_records(from.log[i])) {
    const Record& record = from.log[i];
    if (is_one_of(kEvents, record.kind))
      events += (record.kind == kSyncRegionBegin || record.kind == kSyncRegionEnd) &&
                        record.aux16 == kWaitToo
                    ? 2
                    : 1;
  }
  header.events_seen = events;
}

void write_file(const std::filesystem::path& path, const RecordBuilder& from, FileKind kind,
                std::uint32_t number, std::uint32_t process, bool primary) {
  alignas(Header) static char page[kHeaderBytes];
  std::memset(page, 0, sizeof(page));
  auto* header = new (page) Header{};
  fill_header(*header, from, kind);
  header->location = number;
  header->process = process;
  header->role = primary ? kRolePrimary : kRoleWorker;
  std::uint64_t size_class = 0;
  while (from.ring_count == 0 && (kRingFirst << size_class) <= from.ring.size())
    ++size_class;
  const std::uint64_t capacity = from.ring.empty() ? 0 : kRingFirst << size_class;
  const std::uint64_t count = from.ring_count != 0 ? from.ring_count : from.ring.size();
  header->ring_records = capacity;
  header->ring_commit = count << 8 | size_class;
  header->log_offset = kHeaderBytes + kStageBytes + capacity * kRecordBytes;
  std::vector<Record> stage(kStageRecords);
  const std::uint64_t flushed = header->flushed;
  std::copy(from.log.begin() + static_cast<std::ptrdiff_t>(flushed), from.log.end(),
            stage.begin());
  std::vector<Record> ring(capacity);
  for (std::uint64_t i = 0; i < from.ring.size(); ++i)
    ring[(count - from.ring.size() + i) % capacity] = from.ring[i];
  std::ofstream file(path, std::ios::binary);
  const auto put = [&file](const void* data, std::size_t bytes) {
    file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  };
  put(page, sizeof(page));
  put(stage.data(), stage.size() * kRecordBytes);
  put(ring.data(), ring.size() * kRecordBytes);
  put(from.log.data(), flushed * kRecordBytes);
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace

Record make_record(std::uint8_t kind, std::uint64_t ticks, std::uint64_t a48,
                   std::uint64_t payload, std::uint8_t sub) {
  Record record{ticks, kind, sub, 0, 0, payload};
  record.set_a48(a48);
  return record;
}

RecordBuilder& RecordBuilder::add(const Record& record) {
  (suspended ? ring : log).push_back(record);
  return *this;
}

RecordBuilder& RecordBuilder::sync(std::uint64_t epoch, std::uint64_t ticks,
                                   const std::vector<Record>& open) {
  add(kSync, ticks, epoch, open.size());
  for (Record record : open) {
    record.kind |= kSnapshot;
    add(record);
  }
  return *this;
}

RecordBuilder& RecordBuilder::text(TextKey key, const std::string& text) {
  add(kText, 1, text.size(), 0, key);
  for (std::size_t at = 0; at < text.size(); at += kRecordBytes) {
    Record record{};
    std::memcpy(static_cast<void*>(&record), text.data() + at,
                std::min(kRecordBytes, text.size() - at));
    add(record);
  }
  return *this;
}

RecordBuilder& RecordBuilder::suspend_in_ring() {
  suspended = true;
  return *this;
}

RecordBuilder& RecordBuilder::not_ended() {
  ended = false;
  return *this;
}

RecordBuilder& RecordBuilder::work(std::uint64_t epoch, std::uint64_t begin,
                                   std::uint64_t end, std::uint64_t address,
                                   std::uint32_t thread, std::uint32_t team_size) {
  const std::uint64_t team = std::uint64_t{team_size} << 32 | thread;
  add(kImplicitTaskBegin, begin + 1, epoch, team);
  add(kWorkBegin, begin + 2, 100, address + 0x10, 1);
  add(kWorkEnd, end - 4, 0, address + 0x10, 1);
  Record barrier = make_record(kSyncRegionBegin, end - 3, 0, address, kImplicitParallel);
  barrier.aux16 = kWaitToo;
  add(barrier);
  barrier.kind = kSyncRegionEnd;
  barrier.ticks = end - 2;
  add(barrier);
  return add(kImplicitTaskEnd, end - 1, epoch, team);
}

RecordBuilder& RecordBuilder::region(std::uint64_t epoch, std::uint64_t begin,
                                     std::uint64_t end, std::uint64_t address,
                                     std::uint32_t team_size) {
  // The two forms of a cut.
  const bool merged = epoch % 2 == 0;
  if (!merged) sync(epoch, begin);
  add(kParallelBegin, begin, epoch, address | std::uint64_t{team_size} << 48,
      merged ? kTeamCut : 0);
  work(epoch, begin, end, address, 0, team_size);
  return add(kParallelEnd, end, epoch, address);
}

RecordBuilder& RecordBuilder::member(std::uint64_t epoch, std::uint64_t begin,
                                     std::uint64_t end, std::uint64_t address,
                                     std::uint32_t thread, std::uint32_t team_size) {
  sync(epoch, begin + 1);
  return work(epoch, begin, end, address, thread, team_size);
}

RecordBuilder& RecordBuilder::enter_mpi(std::uint64_t ticks, std::uint16_t procedure,
                                        std::uint64_t site, std::uint64_t epoch) {
  return add(kMpiEnter, ticks, epoch, site | std::uint64_t{procedure} << kMpiProcedureShift,
             epoch != 0 ? kMpiCut : std::uint8_t{0});
}

RecordBuilder& RecordBuilder::leave_mpi(std::uint64_t ticks, std::uint16_t procedure,
                                        std::uint64_t site) {
  return add(kMpiLeave, ticks, 0, site | std::uint64_t{procedure} << kMpiProcedureShift);
}

RecordBuilder& RecordBuilder::message(Kind kind, std::uint64_t ticks,
                                      const Message& message, std::uint32_t request) {
  add(kind, ticks, std::uint64_t{message.comm} << 32 | message.peer,
      std::uint64_t{request} << 32 | message.tag);
  return add(kMpiAmount, ticks, message.number, message.bytes);
}

RecordBuilder& RecordBuilder::collective(std::uint64_t ticks, MpiCollective operation,
                                         std::uint16_t comm, std::uint32_t number,
                                         bool worldwide, std::uint32_t request) {
  add(kMpiCollective, ticks, std::uint64_t{comm} << 32 | kMpiNoRoot,
      std::uint64_t{request} << 32 | std::uint64_t{number} << 1 |
          (worldwide ? kMpiWorldwide : 0),
      operation);
  return add(kMpiAmount, ticks, 80, 8);
}

SpoolBuilder::SpoolBuilder(std::uint32_t locations) : locations_(locations) {
  journal_.add(kClockPair, 1, 0, 1);
  journal_.text(kTextVersion, "0.0.test");
  journal_.text(kTextProgram, "/somewhere/program");
  journal_.text(kTextCommand, std::string("program\0--fast\0", 15));
  journal_.text(kTextHost, "host");
  journal_.text(kTextSettings, "limit=10\nwindow.size=3\n");
}

SpoolBuilder& SpoolBuilder::mpi(std::uint32_t rank, std::uint32_t size) {
  rank_ = rank;
  std::string names;
  for (std::size_t i = 0; i < std::size(kTestProcedures); ++i)
    names += std::to_string(i) + " " + kTestProcedures[i] + "\n";
  journal_.text(kTextProcedures, names);
  journal_.add(kMpiWorld, 1, rank, size);
  std::vector<std::uint32_t> all(size);
  std::iota(all.begin(), all.end(), 0);
  comm(0, kMpiCommWorld, rank, 0xa000, all);
  comm(1, kMpiCommSelf, 0, 0xb000 + rank, {rank});
  return *this;
}

void SpoolBuilder::comm(std::uint16_t number, MpiCommKind kind, std::uint32_t rank,
                        std::uint64_t identity, const std::vector<std::uint32_t>& members,
                        const std::vector<std::uint32_t>& remote, std::uint64_t parent) {
  journal_.add(kMpiComm, 1, std::uint64_t{number} << 32 | rank, identity, kind);
  journal_.add(kMpiMembers, 1, std::uint64_t{number} << 32 | members.size(), parent);
  if (rank != 0) return;
  std::string text = std::to_string(number);
  for (const std::uint32_t member : members) text += " " + std::to_string(member);
  if (!remote.empty()) text += " /";
  for (const std::uint32_t member : remote) text += " " + std::to_string(member);
  journal_.text(kTextMembers, text);
}

void SpoolBuilder::region(std::uint64_t epoch, std::uint64_t begin, std::uint64_t end,
                          std::uint64_t address) {
  locations_[0].region(epoch, begin, end, address, locations());
  for (std::uint32_t i = 1; i < locations(); ++i)
    locations_[i].member(epoch, begin, end, address, i, locations());
}

void SpoolBuilder::loop(std::uint32_t id, std::uint64_t found, std::uint64_t address,
                        std::uint16_t level, std::uint32_t visit) {
  const std::uint64_t key = std::uint64_t{level} << 32 | id;
  journal_.add(kLoopFound, found, key, std::uint64_t{visit} << 32 | 1);
  if (visit == 0) journal_.add(kLoopBody, found, id, address, kParallelBegin);
}

void SpoolBuilder::iteration(std::uint32_t id, std::uint64_t number, std::uint64_t ticks,
                             std::uint16_t level) {
  journal_.add(kIteration, ticks, std::uint64_t{level} << 32 | id, number);
}

void SpoolBuilder::left(std::uint32_t id, std::uint64_t complete, std::uint64_t ticks) {
  journal_.add(kLoopLeft, ticks, id, complete);
}

void SpoolBuilder::gap(std::uint64_t id, std::uint64_t epoch, std::uint64_t ticks) {
  journal_.add(kGapSuspend, ticks, id, epoch, kGapIterations);
}

void SpoolBuilder::resumed(std::uint64_t id, std::uint64_t epoch, std::uint64_t ticks,
                           GapReason reason) {
  journal_.add(kGapResume, ticks, id, epoch, reason);
}

std::filesystem::path SpoolBuilder::write(const std::filesystem::path& archive,
                                          std::uint32_t process) const {
  const std::filesystem::path folder =
      archive / "spool" / ("process-" + std::to_string(process));
  std::filesystem::create_directories(folder);
  write_file(folder / "journal.spool", journal_, kJournalFile, locations(), process, false);
  for (std::uint32_t i = 0; i < locations(); ++i)
    write_file(folder / ("location-" + std::to_string(i) + ".spool"), locations_[i],
               kLocationFile, i, process, i == 0);
  return folder;
}

std::vector<SpoolBuilder> job(std::uint32_t size) {
  std::vector<SpoolBuilder> ranks;
  for (std::uint32_t rank = 0; rank < size; ++rank) ranks.emplace_back(1).mpi(rank, size);
  return ranks;
}

void send(SpoolBuilder& rank, std::uint64_t epoch, std::uint64_t ticks,
          const Message& message) {
  rank.location(0)
      .enter_mpi(ticks, kTestSend, kSite, epoch)
      .message(kMpiSend, ticks + 1, message)
      .leave_mpi(ticks + 5, kTestSend, kSite);
}

void receive(SpoolBuilder& rank, std::uint64_t epoch, std::uint64_t ticks,
             const Message& message) {
  rank.location(0)
      .enter_mpi(ticks, kTestRecv, kSite, epoch)
      .message(kMpiRecv, ticks + 4, message)
      .leave_mpi(ticks + 5, kTestRecv, kSite);
}

void allreduce(SpoolBuilder& rank, std::uint64_t epoch, std::uint64_t ticks,
               std::uint32_t number) {
  rank.location(0)
      .enter_mpi(ticks, kTestAllreduce, kSite, epoch)
      .collective(ticks + 8, kMpiAllreduce, 0, number)
      .leave_mpi(ticks + 9, kTestAllreduce, kSite);
}

}  // namespace refrain::spool
