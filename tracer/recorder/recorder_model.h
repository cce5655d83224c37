// What a ThreadRecorder should have recorded: the same operations on vectors of records,
// in the most obvious way; and how to compare them.
#pragma once

#include <fcntl.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "spool/spool_reader.h"
#include "test/support/files.h"
#include "tracer/recorder/thread_recorder.h"

namespace refrain::recorder {

// Fills in what the session does.
void fill_header(spool::Header& header);

spool::Record make_record(spool::Kind kind, std::uint64_t ticks, std::uint64_t payload = 0);

// The same records; the times of kSuspend and kResume are the recorder's own.
bool alike(std::span<const spool::Record> a, std::span<const spool::Record> b);

std::vector<spool::Record> log_of(const spool::SpoolFile& file);
std::vector<spool::Record> ring_of(const spool::SpoolFile& file);

// A recorder that forgets nothing. Regions must be properly nested.
class RecorderModel {
 public:
  void append(const spool::Record& record);
  void begin(const spool::Record& record);
  void end(const spool::Record& record);
  void extend_end(std::uint64_t ticks);
  void sync(std::uint64_t epoch, std::uint64_t ticks);
  void suspend(std::uint64_t gap, std::uint64_t epoch);
  void resume(std::uint64_t gap, std::uint64_t epoch);

  bool suspended() const { return suspended_; }
  const std::vector<spool::Record>& stack() const { return stack_; }
  const std::vector<spool::Record>& log() const { return log_; }
  const std::vector<spool::Record>& skipped() const { return skipped_; }

 private:
  std::vector<spool::Record> log_;
  std::vector<spool::Record> skipped_;
  std::vector<spool::Record> stack_;
  std::size_t interval_begin_ = 0;  // of log_: no cut lies before
  std::size_t open_since_suspend_ = 0;
  bool suspended_ = false;
};

// A recorder with a file, a model of it that says what must be in the file, and a board.

using spool::Record;

inline constexpr std::uint64_t kLargeRing = std::uint64_t{1} << 16;  // records

struct Bench {
  explicit Bench(std::uint64_t ring_records = kLargeRing, std::uint64_t disk_limit = 0)
      : budget(0, disk_limit) {
    const ThreadRecorder::Options options{.ring_bytes = ring_records * spool::kRecordBytes,
                                          .tree_bytes = 0,
                                          .chunk_bytes = 1 << 20};
    spool::Header header{};
    fill_header(header);
    REQUIRE(recorder->open(AT_FDCWD, path().c_str(), header, options, budget) ==
            SpoolResult::kOk);
  }
  std::string path() const { return folder / "location-0.spool"; }
  spool::SpoolFile read() const { return spool::SpoolFile::open(path()); }

  void event() {
    const Record record = make_record(spool::kFlush, ++ticks);
    recorder->append(spool::RecordWords::load(record));
    model.append(record);
  }
  void events(std::uint64_t count) {
    while (count-- > 0) event();
  }
  void begin() {
    const Record record = make_record(spool::kWorkBegin, ++ticks, 0x1000);
    recorder->begin(spool::RecordWords::load(record));
    model.begin(record);
  }
  void end() {
    const auto kind = static_cast<spool::Kind>(model.stack().back().kind + 1);
    const Record record = make_record(kind, ++ticks, 0x2000);
    recorder->end(spool::RecordWords::load(record));
    model.end(record);
  }
  // False: the newest record is not the end of a region, or not at hand.
  bool extend_end() {
    const Record* const newest = recorder->last();
    if (newest == nullptr || newest->kind != spool::kWorkEnd) return false;
    REQUIRE(recorder->extend_end(++ticks));
    model.extend_end(ticks);
    return true;
  }
  void sync() {
    recorder->sync(++epoch, ++ticks);
    model.sync(epoch, ticks);
    recorder->follow(*board);
  }
  // A region of a team, which begins an epoch.
  void begin_team() {
    const std::uint8_t cut = recorder->sync_with_begin(++epoch, ++ticks);
    CHECK((cut != 0) == model.stack().empty());
    if (cut == 0) model.sync(epoch, ticks);
    recorder->follow(*board);
    Record record = make_record(spool::kImplicitTaskBegin, ticks, 0x3000);
    record.set_a48(epoch);
    record.sub = cut;
    recorder->begin(spool::RecordWords::load(record));
    model.begin(record);
  }
  // Epochs of so many events each.
  void epochs(int count, std::uint64_t events_each) {
    while (count-- > 0) sync(), events(events_each);
  }
  void suspend(std::uint64_t from) {
    board->publish({++gap, from, true});
    recorder->follow(*board);
    if (from <= epoch) model.suspend(gap, from);
  }
  void resume(std::uint64_t from) {
    board->publish({gap, from, false});
    recorder->follow(*board);
    model.resume(gap, from);
  }
  std::uint64_t lost(spool::LossCause cause) const { return read().facts().lost[cause]; }
  std::uint64_t lost() const {
    std::uint64_t sum = 0;
    const spool::SpoolFile file = read();
    for (const std::uint64_t n : file.facts().lost) sum += n;
    return sum;
  }

  // The file says what the model says; the ring's latest part, if `latest_only`.
  void check(bool latest_only = false) const {
    const spool::SpoolFile file = read();
    REQUIRE(file.usable());
    CHECK(file.complaints().empty());
    REQUIRE(file.facts().suspended == model.suspended());
    // REQUIRE of the whole would print it.
    const bool same_log = alike(log_of(file), model.log());
    REQUIRE(same_log);
    const std::vector<Record> ring = ring_of(file);
    const std::span<const Record> skipped = model.skipped();
    REQUIRE(ring.size() <= skipped.size());
    // The reader leaves out the oldest slot of a full ring.
    if (!latest_only) REQUIRE(ring.size() + file.ring().overflowed >= skipped.size());
    const bool same_ring = alike(ring, skipped.last(ring.size()));
    REQUIRE(same_ring);
  }

  test::TemporaryFolder folder;
  Budget budget;
  std::unique_ptr<DecisionBoard> board = std::make_unique<DecisionBoard>();
  std::unique_ptr<ThreadRecorder> recorder = std::make_unique<ThreadRecorder>();
  RecorderModel model;
  std::uint64_t ticks = 0;
  std::uint64_t epoch = 0;
  std::uint64_t gap = 0;
};

}  // namespace refrain::recorder
