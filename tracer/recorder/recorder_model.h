// What a ThreadRecorder should have recorded: the same operations on vectors of records,
// in the most obvious way; and how to compare them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spool/spool_reader.h"
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

}  // namespace refrain::recorder
