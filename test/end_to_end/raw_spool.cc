#include "test/end_to_end/raw_spool.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "test/support/files.h"

namespace refrain::test {
namespace {

using spool::Header;
using spool::Record;

// Plain copies of the words of a header that is no longer shared.
template <typename Word = std::uint64_t>
Word word(const std::string& file, std::size_t offset) {
  Word value = 0;
  if (offset + sizeof value <= file.size())
    std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

bool copy_record(const std::string& file, std::uint64_t offset, std::vector<Record>& to) {
  Record record;
  if (offset + sizeof record > file.size()) return false;
  std::memcpy(static_cast<void*>(&record), file.data() + offset, sizeof record);
  to.push_back(record);
  return true;
}

std::vector<Record> read_log(const std::string& file) {
  std::vector<Record> records;
  if (file.size() < spool::kHeaderBytes) return records;
  const std::uint64_t count = word(file, offsetof(Header, log_commit)) >> 1;
  const std::uint64_t flushed = word(file, offsetof(Header, flushed));
  const std::uint64_t log = word(file, offsetof(Header, log_offset));
  const std::uint64_t stage = word(file, offsetof(Header, stage_offset));
  for (std::uint64_t i = 0; i < count; ++i)
    if (!copy_record(
            file,
            i < flushed ? log + i * sizeof(Record) : stage + (i - flushed) * sizeof(Record),
            records))
      break;
  return records;
}

void read_ring(const std::string& file, RawLocation& to) {
  const std::uint64_t commit = word(file, offsetof(Header, ring_commit));
  const std::uint64_t offset = word(file, offsetof(Header, ring_offset));
  const std::uint64_t count = commit >> 8;
  const std::uint64_t capacity = spool::kRingFirst << (commit & (spool::kRingForgot - 1));
  if (word(file, offsetof(Header, ring_records)) == 0) return;
  to.ring_forgot = count >= capacity || (commit & spool::kRingForgot) != 0;
  // If it is full, the oldest slot may be half overwritten.
  const std::uint64_t kept = count < capacity ? count : capacity - 1;
  for (std::uint64_t i = count - kept; i < count; ++i)
    if (!copy_record(file, offset + i % capacity * sizeof(Record), to.ring)) break;
}

std::vector<Record> without_texts(const std::vector<Record>& from) {
  std::vector<Record> records;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i].kind == spool::kText)
      i += (from[i].a48() + sizeof(Record) - 1) / sizeof(Record);
    else
      records.push_back(from[i]);
  }
  return records;
}

}  // namespace

RawSpool read_raw_spool(const std::filesystem::path& archive) {
  RawSpool spool;
  const std::filesystem::path folder = archive / "spool" / "process-0";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".spool") continue;
    const std::string file = read_file(entry.path());
    if (name == "journal.spool" || name == "facts.spool")
      for (const Record& record : without_texts(read_log(file)))
        spool.journal.push_back(record);
    if (name.rfind("location-", 0) != 0) continue;
    RawLocation location;
    location.number = word<std::uint32_t>(file, offsetof(Header, location));
    location.team_number = word<std::uint32_t>(file, offsetof(Header, team_number));
    location.primary =
        word<std::uint32_t>(file, offsetof(Header, role)) == spool::kRolePrimary;
    location.suspended = (word(file, offsetof(Header, log_commit)) & 1) != 0;
    location.log = read_log(file);
    if (location.suspended) read_ring(file, location);
    spool.locations.push_back(std::move(location));
  }
  std::sort(spool.locations.begin(), spool.locations.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  // Each worker changes places with the one that has the next number, until there is none before it with a larger one.
  for (RawLocation& a : spool.locations)
    for (RawLocation& b : spool.locations)
      if (&a < &b && b.team_number != 0 && b.team_number < a.team_number) std::swap(a, b);
  return spool;
}

bool is_event(const Record& record) {
  return spool::is_one_of(spool::kOfProgram, record.kind);
}

std::uint64_t logged_events(const RawSpool& spool) {
  std::uint64_t events = 0;
  for (const RawLocation& location : spool.locations)
    for (const Record& record : location.log)
      if (is_event(record))
        events += (record.kind == spool::kSyncRegionBegin ||
                   record.kind == spool::kSyncRegionEnd) &&
                          (record.aux16 & spool::kWaitToo) != 0
                      ? 2
                      : 1;
  return events;
}

}  // namespace refrain::test
