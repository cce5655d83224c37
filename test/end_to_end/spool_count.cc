#include "test/end_to_end/spool_count.h"

#include <cstring>
#include <string>

#include "test/support/files.h"
#include "writer/spool/format.h"

namespace refrain::test {
namespace {

using spool::Header;
using spool::Record;

// Plain copies of the words of a header that is no longer shared.
std::uint64_t word(const std::string& file, std::size_t offset) {
  std::uint64_t value = 0;
  if (offset + sizeof value <= file.size())
    std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

bool is_event(std::uint8_t kind) {
  return kind >= spool::kThreadBegin && kind < spool::kText;
}

std::uint64_t events_in(const std::string& file) {
  if (file.size() < spool::kHeaderBytes) return 0;
  const std::uint64_t records = word(file, offsetof(Header, log_commit)) >> 1;
  const std::uint64_t flushed = word(file, offsetof(Header, flushed));
  const std::uint64_t log = word(file, offsetof(Header, log_offset));
  const std::uint64_t stage = word(file, offsetof(Header, stage_offset));
  std::uint64_t events = 0;
  for (std::uint64_t i = 0; i < records; ++i) {
    const std::uint64_t offset = i < flushed ? log + i * spool::kRecordBytes
                                             : stage + (i - flushed) * spool::kRecordBytes;
    Record record;
    if (offset + sizeof record > file.size()) break;
    std::memcpy(&record, file.data() + offset, sizeof record);
    events += is_event(record.kind);
  }
  return events;
}

}  // namespace

std::uint64_t committed_events(const std::filesystem::path& spool) {
  std::uint64_t events = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(spool))
    if (entry.path().filename().string().rfind("location-", 0) == 0 &&
        entry.path().extension() == ".spool")
      events += events_in(read_file(entry.path()));
  return events;
}

}  // namespace refrain::test
