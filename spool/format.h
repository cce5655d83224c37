// On-disk format of the spool: what a traced process records, event by event, and what the
// writer makes archives from.
//
// Place in the flow: ARCHITECTURE.md, stage 3 (written by tracer/recorder) and 5 (read
// by the writer, also after the process was killed).
//
// One directory a process:   <archive>/spool/process-<P>/
//     journal.spool       of the whole process: texts, loops, iterations, gaps
//     facts.spool         likewise: what other threads than the primary one report, texts and records of
//                         the journal; only if there is any
//     location-<L>.spool  one a location (thread): its events
//
// Every file:
//
//     0        stage_offset ring_offset   tree_offset  flow_offset  rows_offset   log_offset      end of file
//     +--------+------------+-------------+------------+------------+-------------+-----------------+
//     | Header | stage      | ring (may   | call tree  | event flow | rows of     | log: records,   |
//     |        |            | be 0        | (may be 0) | graph (may | iterations  | allocated in    |
//     |        |            | records)    |            | be 0)      | (may be 0)  | chunks, written |
//     |        |            |             |            |            |             | stage by stage  |
//     +--------+------------+-------------+------------+------------+-------------+-----------------+
//
// summary_format.h says what is in the call tree, summary_format.h what in the event flow
// graph, summary_format.h what in the rows; the journal has the table of loops in place of the
// call tree (loop_table_format.h). All but the log are mapped by the process, the log is written with write calls (a page
// fault of a mapped file costs several times what writing the page does). The log has
// `log_commit >> 1` records: record i lies in the log area if i < `flushed`, else in the
// stage at i - flushed.
//
// While its location is suspended (bit 0 of log_commit), new records go to the ring, which
// keeps the latest iterations until they are written or forgotten. `ring_commit` is
// count << 8 | forgot << 7 | k: the ring uses kRingFirst << k records (at most
// ring_records), record i lies at i modulo that, and the latest of the `count` are there.
// When an iteration does not fit, k grows and the count begins anew with the kept ones;
// `forgot` says that something was forgotten before.
//
// A record is complete before the commit word that covers it is stored (release; x86
// keeps the order of stores for a kill, too), so after SIGKILL at any instruction the
// commit words are right. The oldest ring slot may be torn and is not counted.
//
// Byte order and word size are the machine's own; `byte_order` says which. The kinds of records
// are in record_kinds.h. BUMP kVersion WHEN ANY STRUCTURE, RECORD KIND OR MEANING HERE OR THERE CHANGES.
//
// Units: `ticks` are of the clock named in the header; an *epoch* numbers the points
// at which all threads of the outermost team stand together: it grows by one at every
// outermost parallel region's begin and at the end of every barrier inside it, and all
// threads of a team agree on it. Cuts lie at epochs.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/thread_use.h"
#include "spool/record_kinds.h"

namespace refrain::spool {

inline constexpr char kMagic[8] = {'R', 'F', 'R', 'S', 'P', 'O', 'O', 'L'};
inline constexpr std::uint32_t kVersion = 29;
inline constexpr std::uint32_t kByteOrder = 0x01020304;
inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::size_t kRecordBytes = 24;
inline constexpr std::size_t kMaxDepth = 256;  // open regions a location keeps
inline constexpr std::size_t kStageRecords = 4096;
inline constexpr std::size_t kRingFirst = 1024;     // records of the smallest ring
inline constexpr std::uint64_t kRingForgot = 0x80;  // bit of ring_commit

//    bytes 0..7   8      9     10..11  12..15  16..23
//         +-------+------+-----+-------+-------+---------+
//         | ticks | kind | sub | aux16 | aux32 | payload |
//         +-------+------+-----+-------+-------+---------+
// "a48" below is aux16 (high) and aux32 (low) taken together, 48 bits.
struct Record {
  std::uint64_t ticks;
  std::uint8_t kind;
  std::uint8_t sub;
  std::uint16_t aux16;
  std::uint32_t aux32;
  std::uint64_t payload;

  std::uint64_t a48() const noexcept { return std::uint64_t{aux16} << 32 | aux32; }
  void set_a48(std::uint64_t value) noexcept {
    aux16 = static_cast<std::uint16_t>(value >> 32);
    aux32 = static_cast<std::uint32_t>(value);
  }
};
static_assert(sizeof(Record) == kRecordBytes);

// A record as three words, as the tracer's hot path makes and stores it: copying a record
// that was assembled in memory from its small members costs a failed store forwarding.
struct RecordWords {
  std::uint64_t ticks;
  std::uint64_t meta;  // kind, sub, aux16, aux32 as they lie in memory
  std::uint64_t payload;

  constexpr std::uint8_t kind() const noexcept {
    return static_cast<std::uint8_t>(meta >> kKindShift);
  }
  __attribute__((always_inline)) void store(Record* to) const noexcept {
    auto* bytes = reinterpret_cast<unsigned char*>(to);
    std::memcpy(bytes, &ticks, 8);
    std::memcpy(bytes + 8, &meta, 8);
    std::memcpy(bytes + 16, &payload, 8);
  }
  static RecordWords load(const Record& from) noexcept {
    return std::bit_cast<RecordWords>(from);
  }

  static constexpr bool kLittle = std::endian::native == std::endian::little;
  static constexpr unsigned kKindShift = kLittle ? 0 : 56;
  static constexpr unsigned kSubShift = kLittle ? 8 : 48;
  static constexpr unsigned kHighShift = kLittle ? 16 : 32;
  static constexpr unsigned kLowShift = kLittle ? 32 : 0;
};

constexpr RecordWords record_words(std::uint8_t kind, std::uint64_t ticks,
                                   std::uint64_t payload, std::uint8_t sub = 0,
                                   std::uint64_t a48 = 0) noexcept {
  using W = RecordWords;
  return {ticks,
          std::uint64_t{kind} << W::kKindShift | std::uint64_t{sub} << W::kSubShift |
              (a48 >> 32 & 0xffff) << W::kHighShift | (a48 & 0xffffffff) << W::kLowShift,
          payload};
}

enum UserParameter : std::uint8_t { kParameterSigned = 0, kParameterText = 1 };

enum SkippedValue : std::uint8_t {
  kSkippedTotal = 0,  // ticks
  kSkippedLeast = 1,
  kSkippedGreatest = 2,
  kSkippedVisits = 3,  // visits without any mark
  kSkippedParent = 4,  // the loop around it; none if there is no such value
};

enum SlowValue : std::uint8_t { kSlowDuration = 0, kSlowMedian = 1, kSlowMad = 2 };

inline constexpr unsigned kDeviceShift = 48;  // in payloads: the number of a device
inline constexpr std::uint16_t kNoDevice = 0xffff;

// Returns true if a cut may lie just before this record, at the epoch a48(); and the number of
// snapshots that follow.
inline bool is_cut(const Record& record) noexcept {
  constexpr std::uint64_t kMayCut =
      kinds_where([](const RecordKind& kind) { return kind.may_cut; });
  return record.kind == kSync ||
         (is_one_of(kMayCut, record.kind) && (record.sub & kTeamCut) != 0);
}
// How many records after this one are the bytes of a text, whatever kinds they look like.
inline std::uint64_t text_records(const Record& record) noexcept {
  return record.kind == kText ? (record.a48() + kRecordBytes - 1) / kRecordBytes : 0;
}
inline std::uint64_t open_at_cut(const Record& record) noexcept {
  return record.kind == kSync ? record.payload : 0;
}

// aux16 of sync regions: the wait begins (ends) with the region, in the same instant,
// and has no record of its own.
inline constexpr std::uint16_t kWaitToo = 1;

// Bits 48.. of kTaskSchedule's payload.
inline constexpr std::uint16_t kTaskNextExplicit = 1;
inline constexpr std::uint16_t kTaskPriorExplicit = 2;

// So many call paths, and loops, are told apart: what kTextLoopLimits counts lies beyond.
inline constexpr std::uint32_t kMostCallPaths = 32767;
inline constexpr std::uint32_t kMostLoops = 2047;

enum TextKey : std::uint8_t {
  kTextVersion = 1,  // of Refrain
  kTextProgram = 2,  // path of the executable
  kTextCommand = 3,  // arguments, each ended by NUL
  kTextHost = 4,
  kTextSettings = 5,  // one "name=value" a line, all of them
  kTextModule = 6,    // "start end offset build-id path", numbers and build id in hex, one
  // text an executable mapping; "-" for no build id. Path "[function]": a
  // call that returns to `start` opens a parallel region, whose function
  // is at `offset`. "[python]function", kTextSeparator, file: `start` stands for the line
  // `offset` of Python code; in place of the build id the call there that has the line of its own
  // code, if that is known (0: none)
  kTextRuntime = 7,     // name that the OpenMP runtime gives
  kTextProcedures = 8,  // names of the MPI procedures, "number name" a line
  kTextMembers = 9,    // "comm group..." in decimal: a communicator's number, then ranks in
                       // MPI_COMM_WORLD, in order; of an intercommunicator the local group,
                       // "/", the remote one
  kTextCommName = 10,  // "comm name", also of a window
  kTextMpi = 11,       // name that the MPI library gives
  kTextTopology =
      12,  // "comm cart n", n periods, n sizes, own coordinates; "comm graph n", own
           // neighbours; "comm dist_graph n", sources, m, destinations; decimal
  kTextUserRegion =
      13,  // "region name line ", numbers, then name, file, and of Kokkos construct and type; kTextSeparator between
  kTextUserParameter = 14,  // "parameter name"
  kTextUserString = 15,     // "string text": a value of a parameter
  kTextMetrics = 16,  // "unit kind name", one a line, in the order of their numbers; kind:
                      // "sum" or "value"
  kTextFunctions =
      17,  // functions that were switched off: "address calls ticks" a line, in
           // hexadecimal; the calls up to then
  kTextNumbers =
      18,  // "s|r comm peer tag number to|-", decimal: what was sent to, received
           // from peer with this tag: see mpi_journal.h
  kTextTaken =
      19,  // procedures of MPI that the program does not call by Refrain's wrappers,
           // with blanks between: messages and collectives are not all known
  kTextCallers =
      20,  // who called an event of loops: "loops place frames": loops with commas
           // between, place: address | detail << 48 | kind << 58 as the detector has
           // it, frames "address:cfa" from the event outwards, return addresses and the
           // frames' canonical addresses; all in hexadecimal
  kTextLoopCode =
      22,  // "loop header calls": where the code of a loop begins, and what calls in it events
  // came through (return addresses), and the line of Python code around it; in hexadecimal
  kTextLoopLimits =
      23,  // "functions events paths turns", decimal: what no loops are found in: functions that are too long to
  // be looked at, events that came by more call paths than are told apart, paths in more loops than are kept; and how often a thread
  // took the primary thread's place that had events of its own before. The last one counts.
  kTextLoopSource =
      24,  // the same of a loop of interpreted code: "loop offset first last ", the loop's begin in its
           // function and its lines, in hexadecimal; then function, kTextSeparator, file
  kTextThreadName =
      25,  // "location name": the name that the location's thread has from now on, given by the program
  kTextRun =
      26,  // of the `refrain run` that started the program: its number and seconds of the epoch, decimal
  kTextNotReceived =
      21,  // "freed failed open", decimal: receives of which no message is recorded: their
           // requests were freed, they failed, they were not complete when MPI ended
};

inline constexpr char kTextSeparator = '\x1f';

enum GapReason : std::uint8_t {
  kGapIterations = 1,  // the limit of iterations is reached
  kGapWindow = 2,      // outside the time window
  kGapLimit = 3,       // memory or disk limit
  kGapBreak = 4,       // resumed: the pattern broke
  kGapTooShort = 5,    // resumed: undone, shorter than min_gap
  kGapSlow = 6,        // resumed: an iteration was slow
  kGapRanks = 7,       // the writer's: other ranks did not write it
  kGapPause = 8,       // the program said so
  kGapEnd = 9,         // resumed: for the last iteration before the program's end
  kGapRepresentatives =
      10,  // the writer's: the events of a rank with an equal graph are written
};

// Why something could not be recorded; index into Header::lost.
enum LossCause : std::uint8_t {
  kLossDiskLimit = 0,     // the configured limit was reached
  kLossDiskFull = 1,      // the file system refused
  kLossMemory = 2,        // no mapping, no location
  kLossReentrant = 3,     // event inside our own code (a signal handler's)
  kLossDepth = 4,         // more than kMaxDepth open regions
  kLossRingOverflow = 5,  // needed from the ring, but overwritten
  kLossLateThread = 6,    // after the end of recording
  kLossUnmatched = 7,     // the end of a user region that is not open
  kLossCauses = 8,
};
inline constexpr const char* kLossNames[kLossCauses] = {
    "disk_limit", "disk_full",     "memory",      "reentrant",
    "depth",      "ring_overflow", "late_thread", "unmatched_end"};

enum FileKind : std::uint32_t { kLocationFile = 1, kJournalFile = 2 };
enum ClockKind : std::uint32_t { kClockCounter = 1, kClockMonotonicRaw = 2 };
enum LocationRole : std::uint32_t {
  kRolePrimary = 1,
  kRoleRoot = 2,
  kRoleWorker = 3,
  // The runtime's own, for tasks that wait for devices: not one of the program's threads. Its team is not
  // recorded, only what it executes.
  kRoleHelper = 4
};

// Header::ended of a file that was closed; and of a journal whose process has ended by itself where that was not possible: by exit() in
// a signal handler that had interrupted the recording of an event.
inline constexpr std::uint64_t kEndedRegularly = 1;
inline constexpr std::uint64_t kEndedInside = 2;

struct Header {
  // Written once, before the file gets its name.
  char magic[8];
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint32_t file_kind;
  std::uint32_t process;  // number of the process in the job (0 without MPI)
  std::uint32_t
      location;  // number of the location in the process; of the journal, how many have been made so far (0: not known)
  std::uint32_t role;  // LocationRole
  std::uint64_t pid;
  std::uint64_t stage_offset;  // bytes
  std::uint64_t stage_records;
  std::uint64_t ring_offset;   // bytes
  std::uint64_t ring_records;  // capacity at the most
  std::uint64_t tree_offset;   // bytes
  std::uint64_t tree_bytes;
  std::uint64_t flow_offset;  // bytes
  std::uint64_t flow_bytes;
  std::uint64_t rows_offset;  // bytes
  std::uint64_t rows_bytes;
  std::uint64_t log_offset;  // bytes
  std::uint32_t clock_kind;
  std::uint32_t
      team_number;  // of the location's thread in the first team of the primary that it was in: OpenMP's, not 0;
                    // 0: none
  // Of a thread that the program has begun: the code address of its function; 0: another one.
  std::uint64_t thread_function;
  double ticks_per_second;       // as known when the file was made; kClockPair is better
  std::uint64_t start_ticks;     // of the process' recording
  std::uint64_t start_epoch_ns;  // the same moment by CLOCK_REALTIME
  std::uint64_t start_monotonic_ns;

  // Changes while recording; one cache line for the hot words.
  alignas(64) std::atomic<std::uint64_t> log_commit;  // records << 1 | suspended
  std::atomic<std::uint64_t> ring_commit;  // records << 8 | kRingForgot | size class
  std::atomic<std::uint64_t> flushed;      // log records in the log area
  std::atomic<std::uint64_t> events_seen;  // callbacks, written or not
  std::atomic<std::uint64_t> last_ticks;   // at the last flush or end
  alignas(64) std::atomic<std::uint64_t> lost[kLossCauses];
  std::atomic<std::uint64_t>
      ended;  // kEndedRegularly, kEndedInside; 0: it is being written, or was killed
  // Of the location's threads, at their end or that of the recording, as the kernel counts; all 0: not known.
  std::atomic<std::uint64_t> used[base::kThreadUseNumbers.size()];  // in that order
  std::atomic<std::uint64_t> cores[base::CoreSet::kMax / 64];       // that they may use
  // In the journal, of the process, as seen last at an outermost iteration or at the end; 0: not known.
  std::atomic<std::uint64_t> peak_memory_bytes;
  std::atomic<std::uint64_t> memory_bytes;  // resident then
  // Of the location: short locks in a row whose records were dropped.
  std::atomic<std::uint64_t> locks_left_out;
  // In the journal: threads that got no location. Their events are not counted.
  std::atomic<std::uint64_t> threads_unrecorded;
  // In the journal: 1: the process has reported at its end why there is no archive.
  std::atomic<std::uint64_t> end_reported;
};
static_assert(sizeof(Header) <= kHeaderBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace refrain::spool
