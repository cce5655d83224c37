// Reads an OTF2 archive of any tool: definitions, then the events of all locations merged by
// time, or those of some locations, one location after the other.
//
// Place in the flow: ARCHITECTURE.md, stages 6 and 7. Uses libotf2's readers of single
// locations, a batch of events each, and a heap of its own.
// Thread-safety: one a thread at a time; several threads may each read an archive. What libotf2 reports goes to the
// stream whose function runs on that thread.
// Numbers and sizes in the definitions are not trusted. Of a damaged archive what can be read is handed over; what is
// missing is a line for each location (base/notes.h), by what the definitions and the file promise, and a hole for sinks
// (TraceEvent::uncertain), for which such a location is read once more. Definitions are used as far as
// they can be read if the clock and all locations are among them.
// Units: of events, as trace.h says.
// Ownership: the stream owns the definitions; they and the sink are used while it runs.
// Cost: run() takes memory for a batch and libotf2's buffers for each location that has more events than that, whatever their
// number; markers are kept in memory. An open file for each of these: the soft limit of open files is raised to the hard one.
// Where that is not enough, or the buffers would take more than 1 GiB, each location is opened for one batch at a time, which
// costs some 100 us a batch (of 42 events with 100 000 locations, of 512 with up to 8000). run_in_turn() has one location open at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "reader/trace.h"

namespace refrain::reader {

// Checks the anchor file of an archive (traces.otf2) before libotf2 reads it: libotf2 (3.0.2) trusts
// the number of properties in the file and, if that is damaged, takes gigabytes and minutes to find
// that they are missing.
//
// Layout of the file: as libotf2 3 writes it; others are not checked. Thread-safety: any thread. Cost: reads the
// file, some kilobytes.

// A failure does not name the file.
base::Result<> check_anchor_file(const std::string& anchor_file);

// Events read, and how many to expect.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Streams of one archive that read at the same time, each other locations: the limits are for all of them, and what locations lack is said
// once, when the last one ends.
class StreamGroup;
std::shared_ptr<StreamGroup> make_stream_group(std::size_t streams);

class ArchiveStream {
 public:
  ArchiveStream();
  ~ArchiveStream();
  ArchiveStream(const ArchiveStream&) = delete;
  ArchiveStream& operator=(const ArchiveStream&) = delete;

  // Before its events are opened.
  void join(std::shared_ptr<StreamGroup> group);
  // `path`: the archive's directory, or its anchor file. Reads all definitions.
  base::Result<> open(const std::string& path);
  // The same in two steps: after the first, the anchor file's data is known (machine,
  // creator, properties).
  base::Result<> open_anchor(const std::string& path);
  base::Result<> read_definitions(DefinitionChoice which);
  const TraceDefinitions& definitions() const;
  // Hands all events to the sink, from begin() to finish(). This, or start(), or run_in_turn(), once.
  base::Result<> run(TraceSink& sink, const Progress& progress = {});
  // The same in steps: start(), advance() until at_end(), finish(). After an error nothing more.
  base::Result<> start(TraceSink& sink, const Progress& progress = {});
  base::Result<> advance(std::uint64_t events, const Progress& progress = {});
  bool at_end() const noexcept;
  base::Result<> finish();
  // The same in two steps, of these locations only (indices of TraceDefinitions::locations),
  // without markers: after the first it is known when they begin. The second is given when all begin.
  base::Result<> open_events(const std::vector<LocationId>& locations);
  // The largest number: these locations have no events, and do not say when the run begins.
  std::uint64_t base_ticks() const noexcept;
  base::Result<> run_opened(std::uint64_t base_ticks, TraceSink& sink,
                            const Progress& progress = {});
  // Hands over only the events of these locations, location by location, without markers. Times are by each
  // location's own clock, without the archive's clock offsets: ticks as recorded, nanoseconds since the location's first
  // event handed over. Cost: kMarks looks at each event, but keeps only marks.
  base::Result<> run_in_turn(const std::vector<LocationId>& locations, EventChoice which,
                             TraceSink& sink);
  // For who does not read all events: names the locations whose files have been cut (base/notes.h). Cost: as reading.
  void note_cut_files();
  std::uint64_t events() const noexcept;  // of the archive, handed over
  // Of which a line has been said, since they cannot be read.
  std::uint64_t missing_events() const noexcept;

 private:
  base::Result<> begin_sink(std::uint64_t base_ticks, TraceSink& sink,
                            const Progress& progress);

  struct State;
  std::unique_ptr<State> state_;
};

// Files of an archive that are cut or damaged: which events can be read, by the file itself, and how many definitions.
//
// libotf2 (3.0.2) notices neither. Of a cut file it reads what its memory had before, of events again and again without an end; a
// page of zeros is the end of a chunk to it, and in the middle of one it cannot find a place again. What it is asked for is
// therefore limited by what is there. From where a chunk is damaged on its events are lost: nothing in a chunk says where a
// record begins. The next chunk is read again.
//
// Place in the flow: private to reader/. Thread-safety: any thread. Errors: a file that is not as libotf2 writes it on a
// little-endian machine is not counted. Cost: read_chunk() and count_definitions() go over all bytes, count_events() and is_cut()
// over those of the last chunk.
//
// Layout: chunks of one size, the last one short. Each begins with 3, 'B', and the numbers of its first and last event (64
// bits each). Then come records: a byte with the kind, one with the length (255: 8 bytes follow with it), and as many bytes.
// Kinds: 0 end of the chunk, 2 end of the file; of events 4 attributes of the next one, 5 a time stamp (8 bytes, no
// length), from 10 on events. A record of one number has no length but that number's, which is as good, or 255 alone: undefined.

struct EventFile {
  std::uint64_t whole = 0;  // events before the end of the file, or before where it is cut
  std::uint64_t promised = 0;  // by the last chunk's header
};

// If all chunks but the last one are whole. Nothing: not known.
std::optional<EventFile> count_events(const std::string& file, std::uint64_t chunk_bytes);

// Events are numbered from 1 on, over all chunks.
struct EventChunk {
  bool has_file = false;
  bool found = false;                 // a chunk; what follows is 0 otherwise
  bool more = false;                  // the file goes on after it
  std::uint64_t first = 0, last = 0;  // events in it, by its header
  std::uint64_t whole = 0;  // until this one they can be read; first - 1: none can
};
// The next chunk of the file with a header, from this number on (0: the first chunk), which is the following chunk's afterwards. `memory` is
// used, and kept for the next call.
EventChunk read_chunk(const std::string& file, std::uint64_t chunk_bytes,
                      std::uint64_t& number, std::vector<char>& memory);

// Of a file of definitions; false where that is not known.
bool is_cut(const std::string& file, std::uint64_t chunk_bytes);
// Definitions before the place where the file is cut or damaged, chunk by chunk, as libotf2 reads them.
std::uint64_t count_definitions(const std::string& file, std::uint64_t chunk_bytes);

}  // namespace refrain::reader
