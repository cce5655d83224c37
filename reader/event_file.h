// Files of an archive that have been cut: how many events are in one, by the file itself, and whether definitions end where
// they should.
//
// libotf2 (3.0.2) does not notice that a file has been cut: it reads what its memory had before, of events again and again
// without an end. What it is asked for is therefore limited by what is there.
//
// Place in the flow: private to reader/. Thread-safety: any thread. Errors: a file that is not as libotf2 writes it on a
// little-endian machine is not counted. Cost: reads the first bytes and the last chunk of the file.
//
// Layout: chunks of one size, the last one short. Each begins with 3, 'B', and the numbers of its first and last event (64
// bits each). Then come records: a byte with the kind, one with the length (255: 8 bytes follow with it), and as many bytes.
// Kinds: 0 end of the chunk, 2 end of the file; of events 4 attributes of the next one, 5 a time stamp (8 bytes, no
// length), from 10 on events. A record of one number has no length but that number's, which is as good, or 255 alone: undefined.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace refrain::reader {

struct EventFile {
  std::uint64_t whole = 0;  // events before the end of the file, or before where it is cut
  std::uint64_t promised = 0;  // by the last chunk's header
};

// Nothing: not known.
std::optional<EventFile> count_events(const std::string& file, std::uint64_t chunk_bytes);
// Of a file of definitions; false where that is not known.
bool is_cut(const std::string& file, std::uint64_t chunk_bytes);

}  // namespace refrain::reader
