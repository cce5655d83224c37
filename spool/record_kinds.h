// The kinds of records, one row each: what a record is, its name, what it does to open regions and to the archive.
//
// Place in the flow: ARCHITECTURE.md, stages 3 and 5. Who treats kinds differently asks this table; what a record of a
// kind has in its fields is said next to its number. Fields: format.h; values of MPI's `sub`: mpi_format.h.
// Cost: kinds_where() is of the compiler; kind_row() one access.
#pragma once

#include <array>
#include <cstdint>

#include "summary/time_class.h"

namespace refrain::spool {

inline constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << 48) - 1;

// sub of the kinds that concern a team.
inline constexpr std::uint8_t kTeamNested = 1;   // not an outermost region: a48 is an id,
                                                 // not an epoch
inline constexpr std::uint8_t kTeamLeague = 2;   // a league of teams
inline constexpr std::uint8_t kTeamInitial = 4;  // the initial task of a thread
inline constexpr std::uint8_t kTeamForeign = 8;  // outermost, but of another root thread
                                                 // than the one that feeds the agent
inline constexpr std::uint8_t kTeamCut = 16;  // of a start: a48 is a new epoch, a cut at it
                                              // lies just before this record, no region
                                              // is open there

inline constexpr unsigned kFileShift = 48;
inline constexpr std::uint64_t kNoFileOffset = (std::uint64_t{1} << 48) - 1;

inline constexpr std::uint8_t kTargetKinds = 15;  // bits of sub of kTargetBegin
inline constexpr std::uint8_t kThreadCalls = 15;  // bits of sub of kThreadCallBegin

// A copy of the start record of a region that is open at a Sync: kind | kSnapshot.
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

  // --- Calls of POSIX threads that wait or begin a thread (thread_format.h) -------------
  kThreadCallBegin =
      4,  // sub: ThreadCall, kTeamCut, then a48: epoch; payload: code address
  kThreadCallEnd =
      5,  // sub: ThreadCall; payload as its start; a48: number of the thread that it has made or
          // waited for, 0: none
  kHolderBegin = 6,  // inside: who has the lock: payload: address of the function that the
                     // thread began with, or kMainThread, kAnotherThread
  kHolderEnd = 7,    // payload as its start

  // --- Events of OpenMP's target constructs, on the thread that encounters them --------
  kTargetBegin = 10,  // sub: ompt_target_t, kTeamCut, then a48: epoch; payload: code
                      // address | number of the device << 48
  kTargetEnd = 11,    // sub: ompt_target_t; payload as its start
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
  kParallelEnd = 19,        // sub, a48 as its start
  kImplicitTaskBegin = 20,  // sub: kTeam* flags; a48: instance; payload: thread number |
                            // team size << 32
  kImplicitTaskEnd = 21,    // sub, a48, payload as its start. Threads but the first of a
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
  kUserLeave = 41,  // payload as its start. Ends come in the order of the stack: of user
                    // regions inside one that ends, too
  kFunctionEnter =
      42,  // sub, a48: likewise; payload: address of the function. Of the outermost function of a thread
           // that the program has begun a48: the thread's number in the process, from 1 on
  kFunctionLeave = 43,  // payload as its start
  kUserPhase = 44,  // never recorded: the start of a phase as an event of a loop's body,
                    // in kLoopBody; the address is the number of its region
  kUserParameter = 45,  // sub: UserParameter; a48: number of the parameter (the journal's
                        // kTextUserParameter); payload: the value, or number of the string
  kMetric =
      46,  // sub: which; payload: its value; ticks: of the event that follows the last of
           // them. Values accumulate from the start of the location on

  // --- Events of MPI (spool/mpi_format.h has the values of `sub`) --------------
  kMpiEnter = 48,  // sub: kMpiCut; a48: epoch, if kMpiCut; payload: call site |
                   // procedure << 48 (its number in the table of wrappers, journal's
                   // kTextProcedures; one that is none of MPI's is of several that poll)
  kMpiLeave = 49,  // payload as its start; a48: how many more unsuccessful polls in a row
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

  // --- Calls on files (file_format.h), recorded when they have ended, one after the other ---
  kFileEnter =
      60,  // sub: FileOperation; a48: FileDescriptor; payload: number of the file's name
  kFileLeave = 61,  // sub, payload as its start
  kFileMoved = 62,  // between them: sub likewise; a48: offset, or kNoFileOffset; payload:
                    // bytes | slot of the file << kFileShift
  // 63 is left for what is in logs: its kinds are below 64.

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
  kSlowIteration = 109,  // written because it left the band of its loop: ticks: its start;
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
  kMemory = 118,       // payload: resident bytes of no file then
  kClockOffset = 115,  // ticks: of this process' clock; payload: ticks to be added for that
                       // of process 0 at the same moment, signed; a48: the error's bound
};

inline constexpr unsigned kFileOperationShift = 16;  // in keys of regions

// What a region of an archive is. regions/region_class.cc has their names.
enum class RegionClass : std::uint8_t {
  kNone,
  kParallel,
  kTeams,
  kLoop,
  kSections,
  kSingle,
  kSingleBlock,
  kWorkshare,
  kDistribute,
  kTaskloop,
  kScope,
  kMasked,
  kBarrier,
  kImplicitBarrier,
  kImplementationBarrier,
  kTeamsBarrier,
  kTaskwait,
  kTaskgroup,
  kReductionSync,
  kBarrierWait,
  kImplicitBarrierWait,
  kImplementationBarrierWait,
  kTeamsBarrierWait,
  kTaskwaitWait,
  kTaskgroupWait,
  kReductionWait,
  kReduction,
  kTask,
  kTaskCreate,
  kCritical,
  kCriticalBlock,
  kOrdered,
  kOrderedBlock,
  kAtomic,
  kSetLock,
  kTestLock,
  kSetNestLock,
  kTestNestLock,
  kRelockNestLock,
  kUnlockNestLock,
  kFlush,
  kCancel,
  kTarget,
  kTargetEnterData,
  kTargetExitData,
  kTargetUpdate,
  kTargetAlloc,
  kTargetToDevice,
  kTargetFromDevice,
  kTargetDelete,
  kTargetAssociate,
  kTargetDisassociate,
  kTargetSubmit,
  kTargetKernel,  // on the device
  kMpi,           // a call of MPI: the key's address is the procedure's number
  kCallSite,      // no region: where a call of MPI was made
  kUser,          // a region of refrain.h: the key's address is its number
  kFunction,      // a function: the key's address is its own
  kNumber,        // no region: a parameter whose values are numbers, by its number
  kText,          // no region: one whose values are strings
  kProgram,       // the program, for its start and end
  kKokkos,        // of a region only, whose key is kUser: Kokkos reported it
  kFile,  // a call on a file: the key's address is name | FileOperation << kFileOperationShift
  kFileName,  // no region: which file it was, by its slot
  // Of ThreadCall, in its order.
  kThreadCreate,
  kThreadJoin,
  kMutexLock,
  kReadLock,
  kWriteLock,
  kSpinLock,
  kCondition,
  kThreadBarrier,
  kSemaphore,
  kC11Create,
  kC11Join,
  kC11Mutex,
  kC11Condition,
  kHolder,  // who has the lock that is waited for: the key's address is its thread's function
  kCount
};

// Where records of a kind stand, and what they are there.
enum class Part : std::uint8_t {
  kNowhere,    // no such kind, or only inside of other records
  kStructure,  // a location's log: not from the program
  kEvent,      // a location's log: what the program did, counted as an event
  kDetail,     // a location's log: more of the event before or after it
  kJournal,
};

// What records of a kind do to the regions that are open on their thread.
enum class Effect : std::uint8_t {
  kNone,
  kBegin,   // begins a region; the next kind ends it
  kEnd,     // ends what the kind before this one begins
  kMoment,  // a region without duration
  kOwn,     // of tasks and locks, which have rules of their own
};

struct RecordKind {
  Kind kind = kInvalid;
  const char* name = nullptr;  // in properties of archives
  Part part = Part::kNowhere;
  // What libotf2 stores for its events, as measured: otf2-print's counts of events and the sizes of the files,
  // of programs with OpenMP and with MPI. (A region and its wait are one; records inside an MPI call have the
  // time of its start or its end, or their own.)
  std::uint8_t archive_bytes = 0;
  Effect effect = Effect::kNone;
  // The region that it opens and what that one's own time is, where `sub` and what lies around do not say
  // it: regions::keys_opened_by() and recorder::class_of_region() know the exceptions.
  RegionClass region = RegionClass::kNone;
  summary::TimeClass time = summary::TimeClass::kUseful;
  bool may_cut = false;  // with kTeamCut in `sub` a cut lies just before it
  // Bits of `sub` and payload that are the same for all visits of a region: CallKey::of().
  std::uint8_t key_sub = 0xff;
  std::uint64_t key_payload = kAddressMask;
};

inline constexpr std::uint8_t kEdge = 12;  // bytes of an enter or a leave in an archive

inline constexpr auto kRecordKinds = [] {
  using enum Part;
  using enum Effect;
  using R = RegionClass;
  using T = summary::TimeClass;
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  struct Key {
    bool may_cut = false;
    std::uint8_t sub = 0xff;
    std::uint64_t payload = kAddressMask;
  };
  constexpr auto opens = [](Kind kind, const char* name, std::uint8_t bytes, Effect effect,
                            R region, T time, Key key = {}) {
    return RecordKind{kind,   name, kEvent,      bytes,   effect,
                      region, time, key.may_cut, key.sub, key.payload};
  };
  constexpr auto begin = [opens](Kind kind, const char* name, std::uint8_t bytes, R region,
                                 T time, Key key = {}) {
    return opens(kind, name, bytes, kBegin, region, time, key);
  };
  constexpr auto end = [](Kind kind, const char* name, std::uint8_t bytes = kEdge) {
    return RecordKind{kind, name, kEvent, bytes, kEnd};
  };
  constexpr Key kByPayload{.may_cut = true, .sub = 0, .payload = kAll};
  constexpr Key kOfTeam{.may_cut = true, .sub = kTeamLeague};
  constexpr Key kByAddress{.sub = 0};
  return std::to_array<RecordKind>({
      {kSync, "sync", kStructure},
      {kSuspend, "suspend", kStructure},
      {kResume, "resume", kStructure},

      begin(kThreadCallBegin, "thread_call_begin", kEdge, R::kThreadCreate,
            T::kSynchronization, {.may_cut = true, .sub = kThreadCalls}),
      end(kThreadCallEnd, "thread_call_end"),
      begin(kHolderBegin, "lock_holder_begin", kEdge, R::kHolder, T::kSynchronization),
      end(kHolderEnd, "lock_holder_end"),

      begin(kTargetBegin, "target_begin", kEdge, R::kTarget, T::kTargetWait,
            {.may_cut = true, .sub = kTargetKinds}),
      end(kTargetEnd, "target_end"),
      begin(kTargetDataBegin, "target_data_op_begin", kEdge, R::kTargetAlloc,
            T::kTargetData),
      end(kTargetDataEnd, "target_data_op_end"),
      begin(kTargetSubmitBegin, "target_submit_begin", kEdge, R::kTargetSubmit,
            T::kTargetKernels),
      end(kTargetSubmitEnd, "target_submit_end"),

      {kThreadBegin, "thread_begin", kEvent},
      {kThreadEnd, "thread_end", kEvent},
      begin(kParallelBegin, "parallel_begin", 13, R::kParallel, T::kThreadManagement,
            kOfTeam),
      end(kParallelEnd, "parallel_end"),
      begin(kImplicitTaskBegin, "implicit_task_begin", 15, R::kNone, T::kUseful, kOfTeam),
      end(kImplicitTaskEnd, "implicit_task_end", 15),
      begin(kWorkBegin, "work_begin", kEdge, R::kLoop, T::kUseful),
      end(kWorkEnd, "work_end"),
      begin(kSyncRegionBegin, "sync_region_begin", kEdge, R::kBarrier, T::kSynchronization),
      end(kSyncRegionEnd, "sync_region_end"),
      begin(kWaitBegin, "sync_region_wait_begin", kEdge, R::kBarrierWait,
            T::kSynchronization),
      end(kWaitEnd, "sync_region_wait_end"),
      begin(kMaskedBegin, "masked_begin", kEdge, R::kMasked, T::kUseful),
      end(kMaskedEnd, "masked_end"),
      begin(kReductionBegin, "reduction_begin", kEdge, R::kReduction, T::kUseful),
      end(kReductionEnd, "reduction_end"),
      opens(kTaskCreate, "task_create", 18, kMoment, R::kTaskCreate, T::kThreadManagement,
            kByAddress),
      opens(kTaskSchedule, "task_schedule", 2 * kEdge + 8, kOwn, R::kTask, T::kUseful,
            kByAddress),
      opens(kMutexAcquire, "mutex_acquire", 0, kOwn, R::kSetLock, T::kSynchronization),
      opens(kMutexAcquired, "mutex_acquired", kEdge + 8, kOwn, R::kNone, T::kUseful),
      opens(kMutexReleased, "mutex_released", kEdge + 8, kOwn, R::kNone, T::kUseful),
      opens(kNestLock, "nest_lock", 0, kMoment, R::kUnlockNestLock, T::kThreadManagement),
      opens(kFlush, "flush", kEdge, kMoment, R::kFlush, T::kSynchronization),
      opens(kCancel, "cancel", kEdge, kMoment, R::kCancel, T::kThreadManagement,
            kByAddress),

      begin(kUserEnter, "user_enter", kEdge, R::kUser, T::kUseful, kByPayload),
      end(kUserLeave, "user_leave"),
      begin(kFunctionEnter, "function_enter", kEdge, R::kFunction, T::kUseful, kByPayload),
      end(kFunctionLeave, "function_leave"),
      {kUserPhase, "user_phase"},
      {kUserParameter, "user_parameter", kEvent, 16},
      {kMetric, "metric", kDetail, kEdge},

      // 14: where the call was made.
      begin(kMpiEnter, "mpi_enter", kEdge + 14, R::kMpi, T::kMpiManagement, kByPayload),
      end(kMpiLeave, "mpi_leave"),
      {kMpiSend, "mpi_send", kDetail, 11},
      {kMpiRecv, "mpi_recv", kDetail, 11},
      {kMpiAmount, "mpi_amount", kDetail},
      {kMpiPost, "mpi_post", kDetail, 5},
      {kMpiDone, "mpi_done", kDetail, 5},
      {kMpiTested, "mpi_tested", kDetail, 5},
      {kMpiCancelled, "mpi_cancelled", kDetail, 5},
      {kMpiCollective, "mpi_collective", kDetail, 10},
      {kMpiRma, "mpi_rma", kDetail, 16},
      {kMpiIo, "mpi_io", kDetail},

      begin(kFileEnter, "file_enter", kEdge, R::kFile, T::kFileIo),
      end(kFileLeave, "file_leave"),
      // Bytes, offset and file, as parameters.
      {kFileMoved, "file_moved", kDetail, 42},

      {kText, "text", Part::kJournal},
      {kGapSuspend, "gap_suspend", Part::kJournal},
      {kGapResume, "gap_resume", Part::kJournal},
      {kLoopFound, "loop_found", Part::kJournal},
      {kLoopBody, "loop_body", Part::kJournal},
      {kIteration, "iteration", Part::kJournal},
      {kLoopMismatch, "loop_mismatch", Part::kJournal},
      {kLoopLeft, "loop_left", Part::kJournal},
      {kClockPair, "clock_pair", Part::kJournal},
      {kSkippedSummary, "skipped_summary", Part::kJournal},
      {kSkippedValue, "skipped_value", Part::kJournal},
      {kLimitReached, "limit_reached", Part::kJournal},
      {kMarksEnd, "marks_end", Part::kJournal},
      {kSlowIteration, "slow_iteration", Part::kJournal},
      {kSlowValue, "slow_value", Part::kJournal},
      {kAnchor, "anchor", Part::kJournal},
      {kMpiWorld, "mpi_world", Part::kJournal},
      {kMpiComm, "mpi_comm", Part::kJournal},
      {kMpiMembers, "mpi_members", Part::kJournal},
      {kClockOffset, "clock_offset", Part::kJournal},
      {kIterationEnd, "iteration_end", Part::kJournal},
      {kIterationMetric, "iteration_metric", Part::kJournal},
      {kMemory, "memory", Part::kJournal},
  });
}();

// By number; an empty row for what is none, as for snapshots.
inline constexpr auto kKindRows = [] {
  std::array<RecordKind, 256> rows{};
  for (const RecordKind& row : kRecordKinds) rows[row.kind] = row;
  return rows;
}();
constexpr const RecordKind& kind_row(std::uint8_t kind) noexcept { return kKindRows[kind]; }

// The kinds of a log for which something holds, as bits; these are all below 64.
template <typename Holds>
constexpr std::uint64_t kinds_where(Holds holds) {
  std::uint64_t bits = 0;
  for (const RecordKind& row : kRecordKinds)
    if (row.kind < 64 && holds(row)) bits |= std::uint64_t{1} << row.kind;
  return bits;
}
constexpr bool is_one_of(std::uint64_t kinds, std::uint8_t kind) noexcept {
  return kind < 64 && (kinds >> kind & 1) != 0;
}
inline constexpr std::uint64_t kBegins =
    kinds_where([](const RecordKind& row) { return row.effect == Effect::kBegin; });
inline constexpr std::uint64_t kEnds =
    kinds_where([](const RecordKind& row) { return row.effect == Effect::kEnd; });
static_assert(kEnds == kBegins << 1);
// What the program did.
inline constexpr std::uint64_t kOfProgram = kinds_where([](const RecordKind& row) {
  return row.part == Part::kEvent || row.part == Part::kDetail;
});
inline constexpr std::uint64_t kEvents =
    kinds_where([](const RecordKind& row) { return row.part == Part::kEvent; });

// Kinds are laid out in pairs, an end directly after its start.
constexpr std::uint8_t begin_of(std::uint8_t end_kind) noexcept { return end_kind - 1; }

}  // namespace refrain::spool
