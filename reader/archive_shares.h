// Reads an archive by several threads, each the events of its own processes, for sinks that need no order between processes.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: one caller at a time; each sink is called by one thread at a time.
// Errors: those of ArchiveStream, the first share's first. Ownership: definitions are the first stream's; each sink gets those of its
// own stream, which last as long as this. Cost: definitions for each share; else as ArchiveStream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "reader/archive_stream.h"
#include "reader/trace.h"

namespace refrain::reader {

// By process, which of so many shares it is in: numbers of events are about the same. Everybody finds the same.
std::vector<std::uint32_t> share_processes(const TraceDefinitions& definitions,
                                           std::uint32_t shares);

// Sinks of somebody who wants events that are read for something else: one for each reader, which has the events of processes of
// its own.
class ShareSinks {
 public:
  virtual ~ShareSinks() = default;
  // One thread calls it, before any event.
  virtual TraceSink& sink_of(std::uint32_t share) = 0;
  // After the last event of all, while definitions are still there.
  virtual void all_read() = 0;
};

// Of a single reader: a sink that hands on what it gets, to the first one too, which has notes and a share of its own.
std::unique_ptr<TraceSink> with_sinks(TraceSink& first, ShareSinks& more);

class ArchiveShares {
 public:
  // 0 shares: one for each core and 250 000 events, at most four; one where there are more than 8192 locations, for memory.
  base::Result<> open(const std::string& archive, std::size_t shares = 0);
  const TraceDefinitions& definitions() const { return streams_.front()->definitions(); }
  std::size_t size() const { return streams_.size(); }
  // As share_processes().
  const std::vector<std::uint32_t>& share() const { return share_; }

  // A sink for each share. A single share also gets the markers, and all events in the order of times. Locations without a process
  // are the first one's. Once.
  base::Result<> run(const std::vector<TraceSink*>& sinks, const Progress& progress = {});
  std::uint64_t events() const;  // handed over

 private:
  base::Result<> run_all(const std::vector<TraceSink*>& sinks, const Progress& progress);

  std::vector<std::unique_ptr<ArchiveStream>> streams_;
  std::vector<std::uint32_t> share_;
};

}  // namespace refrain::reader
