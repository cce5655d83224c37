// On-disk format of the spool: what a traced process records, event by event, and what the
// writer makes archives from.
//
// Place in the flow: ARCHITECTURE.md, stage 3 (written by tracer/recorder) and 5 (read
// by the writer, also after the process was killed).
//
// One folder a process:   <archive>/spool/process-<P>/
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
// call_tree_format.h says what is in the call tree, flow_graph_format.h what in the event flow
// graph, iteration_rows_format.h what in the rows; the journal has the table of loops in place of the
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
// Byte order and word size are the machine's own; `byte_order` says which. BUMP
// kVersion WHEN ANY STRUCTURE, RECORD KIND OR MEANING HERE CHANGES.
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

namespace refrain::spool {

inline constexpr char kMagic[8] = {'R', 'F', 'R', 'S', 'P', 'O', 'O', 'L'};
inline constexpr std::uint32_t kVersion = 15;
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
  void store(Record* to) const noexcept {
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

inline constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 48) - 1;

// A copy of the begin record of a region that is open at a Sync: kind | kSnapshot.
inline constexpr std::uint8_t kSnapshot = 0x80;

enum Kind : std::uint8_t {
  kInvalid = 0,

  // --- Structure of a location's log -------------------------------------------------
  kSync = 1,  // a48: epoch; payload: open regions here, whose snapshots follow, outermost
              // first. A cut at this epoch lies just before this record. Where no
              // region is open and a team's begins, kTeamCut replaces the Sync.
  kSuspend = 2,  // a48: gap; payload: epoch. The log has nothing from there on...
  kResume = 3,   // a48: gap; payload: epoch from which on it is again; a cut follows.
                 // Between the two are only the ends of regions open at the kSuspend.

  // --- Events of OpenMP's target constructs, on the thread that encounters them --------
  kTargetBegin = 10,  // sub: ompt_target_t, kTeamCut, then a48: epoch; payload: code
                      // address | number of the device << 48
  kTargetEnd = 11,    // sub: ompt_target_t; payload as its begin
  // An operation on data (to_target_operation() of ompt_target_data_op_t), inside of a target
  // construct or by a routine.
  kTargetDataBegin = 12,  // sub: the operation; a48: the other side's number, as below;
                          // payload: code address | number of the device << 48
  kTargetDataEnd = 13,    // sub: the operation; a48: number of the device; payload: bytes
  // A kernel is submitted: payload: as of the target construct around it
  kTargetSubmitBegin = 14,
  kTargetSubmitEnd = 15,  // a48: number of the device; payload: requested teams, 0: any

  // --- Events of OpenMP threads (payload: code address, unless said otherwise) -------
  kThreadBegin = 16,  // sub: ompt_thread_t; payload: kernel's thread id
  kThreadEnd = 17,
  kParallelBegin = 18,      // sub: kTeam* flags; a48: instance; payload: address |
                            // requested team size << 48 (saturated)
  kParallelEnd = 19,        // sub, a48 as its begin
  kImplicitTaskBegin = 20,  // sub: kTeam* flags; a48: instance; payload: thread number |
                            // team size << 32
  kImplicitTaskEnd = 21,    // sub, a48, payload as its begin. Threads but the first of a
                            // team learn late of the end of an outermost region (sub 0,
                            // thread number not 0): its true time, and that of the
                            // barrier before it, is that of the kParallelEnd
  kWorkBegin = 22,          // sub: ompt_work_t; a48: iterations or sections (saturated)
  kWorkEnd = 23,
  kSyncRegionBegin = 24,  // sub: ompt_sync_region_t; aux16: kWaitToo
  kSyncRegionEnd = 25,    // likewise
  kWaitBegin = 26,        // sub: ompt_sync_region_t
  kWaitEnd = 27,
  kMaskedBegin = 28,
  kMaskedEnd = 29,
  kReductionBegin = 30,  // sub: ompt_sync_region_t
  kReductionEnd = 31,
  kTaskCreate = 32,     // a48: id of the new task, (creating location << 32 | number);
                        // sub: low byte of ompt_task_flag_t
  kTaskSchedule = 33,   // a48: id of the next task; sub: ompt_task_status_t of the prior;
                        // payload: address where the next was created | kTask* flags << 48
  kMutexAcquire = 34,   // sub: ompt_mutex_t; a48: wait id (low bits)
  kMutexAcquired = 35,  // likewise
  kMutexReleased = 36,  // likewise
  kNestLock = 37,       // sub: ompt_scope_endpoint_t; a48: wait id
  kFlush = 38,
  kCancel = 39,  // a48: ompt_cancel_flag_t

  // --- Events that the program reports itself (refrain.h) ----------------------------
  kUserEnter = 40,  // sub: kTeamCut, then a48: epoch; payload: region | name << 32, numbers
                    // of the journal's kTextUserRegion
  kUserLeave = 41,  // payload as its begin. Ends come in the order of the stack: of user
                    // regions inside one that ends, too
  kFunctionEnter = 42,  // sub, a48: likewise; payload: address of the function
  kFunctionLeave = 43,  // payload as its begin
  kUserPhase = 44,  // never recorded: the begin of a phase as an event of a loop's body,
                    // in kLoopBody; the address is the number of its region
  kUserParameter = 45,  // sub: UserParameter; a48: number of the parameter (the journal's
                        // kTextUserParameter); payload: the value, or number of the string
  kMetric =
      46,  // sub: which; payload: its value; ticks: of the event that follows the last of
           // them. Values accumulate from the begin of the location on

  // --- Events of MPI (spool/mpi_format.h has the values of `sub`) --------------
  kMpiEnter = 48,  // sub: kMpiCut; a48: epoch, if kMpiCut; payload: call site |
                   // procedure << 48 (its number in the table of wrappers, journal's
                   // kTextProcedures; one that is none of MPI's is of several that poll)
  kMpiLeave = 49,  // payload as its begin; a48: how many more unsuccessful polls in a row
                   // the region includes
  // What a call did is between its kMpiEnter and its kMpiLeave, most of it just
  // before the latter. A message or collective is a pair of records, its second half is
  // kMpiAmount. `comm` is the number of a communicator in this process (journal's kMpiComm).
  kMpiSend = 50,    // sub: MpiMode; aux16: comm; aux32: rank of the destination in it;
                    // payload: tag | request << 32 (0: blocking); then kMpiAmount
  kMpiRecv = 51,    // likewise, of a message received: source and tag are those it came
                    // with; a request: completed now, posted by kMpiPost
  kMpiAmount = 52,  // a48: number of the message in its channel, from 0, see below;
                    // payload: bytes. Of a collective: a48: bytes received (saturated),
                    // payload: bytes sent
  kMpiPost = 53,    // a receive is posted: payload: request. sub: what of it is any
  // (MpiAny); aux16: comm; aux32: the source, payload: the tag << 32, where
  // they are not (a matched message has its source and tag already: 0)
  kMpiDone = 54,    // a send (sub 0) or a collective (sub 1) is complete: payload: request
  kMpiTested = 55,  // a request was tested, unsuccessfully: payload: request
  kMpiCancelled = 56,   // a request is cancelled: payload: request
  kMpiCollective = 57,  // sub: MpiCollective; aux16: comm, or the window of a fence
  // (kMpiBarrier) or of MPI_Win_free (kMpiDestroyHandle); aux32: root in it or kMpiNoRoot;
  // payload: request << 32 (0: blocking) | number << 1 (31 bits) |
  // kMpiWorldwide; then kMpiAmount. `number`: how many collectives
  // this process had begun on the communicator before, counted also
  // while skipped
  kMpiRma = 58,  // sub: MpiRma; aux16: window; aux32: target (or kMpiNoRoot for all;
                 // kMpiRmaGroupSync: number of the group); payload: bytes
                 // (kMpiRmaGroupSync: MpiRmaSync; kMpiRmaRequestLock: 1 if exclusive)
  kMpiIo = 59,   // payload: bytes moved
  // 60..79 are left for MPI, 80..95 for user regions and metrics.

  // --- The journal -------------------------------------------------------------------
  kText = 96,  // sub: TextKey; a48: bytes; the text follows in ceil(bytes / 24) records
  kGapSuspend = 97,  // a48: gap; payload: epoch at which it begins; ticks: when that
  // was; sub: GapReason. Recorded again if the gap begins earlier than was
  // known; the later record counts
  kGapResume = 98,  // a48: gap; payload: epoch from which on writing goes on (that of
  // kGapSuspend: the gap is undone); ticks: when that was; sub: GapReason
  kLoopFound = 99,   // aux32: loop; aux16: level; payload: visit << 32 | body's events;
                     // ticks: when it was detected
  kLoopBody = 100,   // aux32: loop; aux16: index in the body; sub: kind of the record that
                     // gave the symbol; payload: address | work or sync kind << 48
  kIteration = 101,  // an iteration begins: aux32: loop; aux16: level; payload: number;
                     // it ends at the loop's next kIteration or kLoopLeft
  kLoopMismatch = 102,  // aux32: loop; payload: number of the iteration that did not
                        // match; ticks: of the event that was not expected
  kLoopLeft = 103,      // aux32: loop; payload: complete iterations of this visit; ticks:
                        // end of the last event that belongs to the loop
  kClockPair = 104,     // ticks; payload: CLOCK_MONOTONIC_RAW at the same moment, ns
  kSkippedSummary =
      105,  // iterations that have no marks of their own, then its kSkippedValues:
            // aux32: loop; aux16: low bits of the loop around it plus one,
            // 0: none; payload: iterations
  kSkippedValue = 106,   // sub: SkippedValue; payload: the value
  kLimitReached = 107,   // sub: LossCause; payload: epoch
  kMarksEnd = 108,       // marks=summary: as kLoopLeft, but the loop goes on without marks
  kSlowIteration = 109,  // written because it left the band of its loop: ticks: its begin;
                         // aux32: loop; aux16: level; payload: number; then three
  kSlowValue = 110,      // sub: SlowValue; payload: ticks
  kAnchor = 111,  // before a kIteration: payload: collectives over all processes that this
                  // one had completed then (reported when it changed)
  kMpiWorld = 112,  // aux32: rank of this process in MPI_COMM_WORLD; payload: its size
  kMpiComm = 113,   // a communicator: aux16: its number; sub: MpiCommKind; aux32: own rank
  // in it; payload: identity, the same in all its members; then kMpiMembers
  kMpiMembers =
      114,  // aux16: comm; aux32: size; payload: identity of its parent or 0; if own
            // rank is 0 then a kText of kTextMembers follows
  kIterationEnd =
      116,  // as kIteration: an iteration of a phase has ended, and the next has
            // not begun
  kIterationMetric =
      117,             // before kIteration, kIterationEnd and kLoopLeft: sub, payload as
                       // kMetric, of the thread that feeds the agent
  kClockOffset = 115,  // ticks: of this process' clock; payload: ticks to be added for that
                       // of process 0 at the same moment, signed; a48: the error's bound
};

enum UserParameter : std::uint8_t { kParameterSigned = 0, kParameterText = 1 };

enum SkippedValue : std::uint8_t {
  kSkippedTotal = 0,  // ticks
  kSkippedLeast = 1,
  kSkippedGreatest = 2,
  kSkippedVisits = 3,  // visits without any mark
  kSkippedParent = 4,  // the loop around it; none if there is no such value
};

enum SlowValue : std::uint8_t { kSlowDuration = 0, kSlowMedian = 1, kSlowMad = 2 };

// sub of the kinds that concern a team.
inline constexpr std::uint8_t kTeamNested = 1;   // not an outermost region: a48 is an id,
                                                 // not an epoch
inline constexpr std::uint8_t kTeamLeague = 2;   // a league of teams
inline constexpr std::uint8_t kTeamInitial = 4;  // the initial task of a thread
inline constexpr std::uint8_t kTeamForeign = 8;  // outermost, but of another root thread
                                                 // than the one that feeds the agent
inline constexpr std::uint8_t kTeamCut = 16;  // of a begin: a48 is a new epoch, a cut at it
                                              // lies just before this record, no region
                                              // is open there

inline constexpr std::uint8_t kTargetKinds = 15;  // bits of sub of kTargetBegin
inline constexpr unsigned kDeviceShift = 48;      // in payloads: the number of a device
inline constexpr std::uint16_t kNoDevice = 0xffff;

// Whether a cut may lie just before this record, at the epoch a48(); and the number of
// snapshots that follow.
inline bool is_cut(const Record& record) noexcept {
  const bool begins = record.kind == kParallelBegin || record.kind == kImplicitTaskBegin ||
                      record.kind == kMpiEnter || record.kind == kUserEnter ||
                      record.kind == kFunctionEnter || record.kind == kTargetBegin;
  return record.kind == kSync || (begins && (record.sub & kTeamCut) != 0);
}
// How many records after this one are the bytes of a text, whatever kinds they look like.
inline std::uint64_t text_records(const Record& record) noexcept {
  return record.kind == kText ? (record.a48() + kRecordBytes - 1) / kRecordBytes : 0;
}
inline std::uint64_t open_at_cut(const Record& record) noexcept {
  return record.kind == kSync ? record.payload : 0;
}

// Kinds below are of the log's structure.
inline constexpr std::uint8_t kFirstEvent = kTargetBegin;

// aux16 of sync regions: the wait begins (ends) with the region, in the same instant,
// and has no record of its own.
inline constexpr std::uint16_t kWaitToo = 1;

// Bits 48.. of kTaskSchedule's payload.
inline constexpr std::uint16_t kTaskNextExplicit = 1;
inline constexpr std::uint16_t kTaskPriorExplicit = 2;

enum TextKey : std::uint8_t {
  kTextVersion = 1,  // of Refrain
  kTextProgram = 2,  // path of the executable
  kTextCommand = 3,  // arguments, each ended by NUL
  kTextHost = 4,
  kTextSettings = 5,  // one "name=value" a line, all of them
  kTextModule = 6,    // "start end offset build-id path", numbers and build id in hex, one
  // text an executable mapping; "-" for no build id. Path "[function]": a
  // call that returns to `start` opens a parallel region, whose function
  // is at `offset`
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
  kTextUserRegion = 13,     // "region name line ", numbers, then name, kTextSeparator, file
  kTextUserParameter = 14,  // "parameter name"
  kTextUserString = 15,     // "string text": a value of a parameter
  kTextMetrics = 16,  // "unit kind name", one a line, in the order of their numbers; kind:
                      // "sum" or "value"
  kTextFunctions =
      17,  // functions that were switched off: "address calls ticks" a line, in
           // hexadecimal; the calls up to then
  kTextNumbers =
      18,  // "s|r comm peer tag number to|-", decimal: what was sent to, received
           // from peer with this tag: see message_numbers.h
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
           // came through (return addresses); in hexadecimal
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

struct Header {
  // Written once, before the file gets its name.
  char magic[8];
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint32_t file_kind;
  std::uint32_t process;   // number of the process in the job (0 without MPI)
  std::uint32_t location;  // number of the location in the process
  std::uint32_t role;      // LocationRole
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
  std::uint32_t reserved;
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
  std::atomic<std::uint64_t> ended;  // 1: closed regularly
};
static_assert(sizeof(Header) <= kHeaderBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace refrain::spool
