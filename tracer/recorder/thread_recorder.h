// Records the events of one location: append to the log while writing, to the ring while
// suspended.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Event sources build records and hand them
// to the calling thread's recorder; decisions to suspend and resume come from the primary thread
// through the DecisionBoard and are applied here, by the owner.
//
//     write:   log   [.... iteration 9 |10 ....| new record>
//     suspend: log   [.... iteration 9]   ring (.. iteration k-1 | k .. new record>)
//     resume:  log   [.... iteration 9][k-1 | k .. new record>
//
// Suspending from an epoch in the past moves what follows it from the log to the ring, so
// the log is trimmed back to exactly there; resuming from an epoch in the past copies
// from the ring what follows that.
//
// Thread-safety: one owner thread. A signal handler that reaches a recorder in use must
// not touch it; one that jumps out of what it interrupted leaves it usable (see enter()).
// Ownership: the session's; it outlives its thread and is given to a later one.
// Units: ticks of Clock, epochs of spool/format.h.
// Errors and loss: counted in the header by cause; recording goes on with what fits.
// Cost: one record is a copy of 24 bytes and a store of the commit word; no lock, no
// allocation, a system call only where a chunk ends or a gap begins or ends.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/thread_use.h"
#include "spool/format.h"
#include "tracer/recorder/boards.h"
#include "tracer/recorder/call_tree.h"
#include "tracer/recorder/clock.h"
#include "tracer/recorder/frame_mark.h"
#include "tracer/recorder/resource_use.h"
#include "tracer/recorder/spool_file.h"
#include "tracer/recorder/thread_flow.h"
#include "tracer/recorder/thread_rows.h"
#include "tracer/recorder/tracing_time.h"

namespace refrain::recorder {

// MetricReader: reads the values of a thread's counters.
//
// Place in the flow: ARCHITECTURE.md, stage 3: made by tracer/counters for each thread, asked by
// its ThreadRecorder.
// Thread-safety: the thread whose counters they are. Not for signal handlers.

class MetricReader {
 public:
  static constexpr unsigned kMax = 32;

  // How many values read() gives; at most kMax.
  virtual unsigned count() const noexcept = 0;
  // Values since the reader was made. One that cannot be read keeps its last value.
  virtual void read(std::uint64_t* values) noexcept = 0;

 protected:
  ~MetricReader() = default;
};

// ForgottenEvents: how many events the ring forgot that were still wanted.
//
// Place in the flow: ThreadRecorder adds what the ring is about to overwrite although a break would
// need it; when writing is resumed it counts the loss in events.
//
// Thread-safety: none; one a recorder. No allocation: kMax cuts are remembered; where there
// were more, some between are dropped, and between() is a lower bound.
// Cost: O(1) a record that is added; only iterations larger than the ring have some.

class ForgottenEvents {
 public:
  static constexpr std::size_t kMax = 64;

  void clear() noexcept { *this = {}; }

  // In the order of the ring. `wanted`: nothing before the last cut below it is needed any more.
  void add(const spool::Record& record, std::uint64_t wanted) noexcept {
    if (spool::is_cut(record)) add_cut(record.a48(), wanted);
    if (is_event(record)) ++events_;
  }

  // Of those that were added, how many lie at or after the first cut of `from` or later, and
  // before the first cut of `to` or later.
  std::uint64_t between(std::uint64_t from, std::uint64_t to) const noexcept {
    const std::uint64_t first = events_before(from);
    const std::uint64_t last = events_before(to);
    return last > first ? last - first : 0;
  }
  // Returns true if there are none: an earlier cut than one of `from` was among them, so that it is known, and no event
  // may lie between, also where cuts were dropped.
  bool none_between(std::uint64_t from, std::uint64_t to) const noexcept {
    if (cuts_ == 0 || epochs_[0] >= from) return false;
    std::size_t first = 1;
    while (first < cuts_ && epochs_[first] < from) ++first;
    const bool known = !thinned_ || (first < cuts_ && epochs_[first] == from);
    const std::uint64_t before = !known          ? before_[first - 1]
                                 : first < cuts_ ? before_[first]
                                                 : events_;
    return events_before(to) <= before;
  }

  // Copies of open regions and values of metrics belong to other records.
  static bool is_event(const spool::Record& record) noexcept {
    return (record.kind & spool::kSnapshot) == 0 && record.kind != spool::kSync &&
           record.kind != spool::kMetric;
  }

 private:
  std::uint64_t events_before(std::uint64_t epoch) const noexcept {
    for (std::size_t i = 0; i < cuts_; ++i)
      if (epochs_[i] >= epoch) return before_[i];
    return events_;
  }

  void add_cut(std::uint64_t epoch, std::uint64_t wanted) noexcept {
    if (cuts_ == kMax) drop_before(wanted);
    if (cuts_ == kMax) drop_every_second();
    epochs_[cuts_] = epoch;
    before_[cuts_++] = events_;
  }

  void drop_before(std::uint64_t wanted) noexcept {
    std::size_t first = 0;
    while (first + 1 < cuts_ && epochs_[first + 1] < wanted) ++first;
    for (std::size_t i = first; i < cuts_; ++i) move(i, i - first);
    cuts_ -= first;
  }
  void drop_every_second() noexcept {
    thinned_ = true;
    for (std::size_t i = 0; 2 * i < cuts_; ++i) move(2 * i, i);
    cuts_ = (cuts_ + 1) / 2;
  }
  void move(std::size_t from, std::size_t to) noexcept {
    epochs_[to] = epochs_[from];
    before_[to] = before_[from];
  }

  std::uint64_t events_ = 0;
  std::size_t cuts_ = 0;
  bool thinned_ = false;                      // cuts between others were dropped
  std::array<std::uint64_t, kMax> epochs_{};  // of cuts; ascend, where epochs do
  std::array<std::uint64_t, kMax> before_{};  // events before each
};

// What each event comes to lies in one page.
class alignas(1024) ThreadRecorder {
 public:
  struct Options {
    std::uint64_t ring_bytes;
    std::uint64_t tree_bytes;  // 0: no call tree; of the journal the table of loops
    std::uint64_t chunk_bytes;
    std::uint64_t flow_bytes = 0;       // 0: no event flow graph
    std::uint64_t summary_bytes = 0;    // SpoolSizes::summary
    std::uint32_t flow_components = 0;  // spool::FlowComponent
    std::uint64_t rows_bytes = 0;       // 0: no rows of iterations
    std::uint64_t most_rows = 0;
    unsigned counters = 0;  // that a row has
    bool writes = true;     // false: records are dropped; only the summary is kept
  };

  // As SpoolFile::create().
  SpoolResult open(int folder, const char* path, const spool::Header& header,
                   const Options& options, Budget& budget) noexcept;
  void close() noexcept {
    thread_ends();
    tree_.close();
    flow_.close();
    rows_.close();
    file_.close();
  }
  // Of a journal: the process ends by itself, while something is in progress.
  void note_exit() noexcept { file_.note_exit(); }
  void note_end_reported() noexcept { file_.note_end_reported(); }
  void count_unrecorded_thread() noexcept { file_.count_unrecorded_thread(); }
  // In a forked child: lets go of the parent's file; what still comes is dropped.
  void abandon() noexcept;

  // The calling thread records with it from here on; what another thread than the main one did before is of the location, too, unless `anew`.
  void thread_begins(bool anew) noexcept;
  // Returns true if that is this thread.
  bool is_of(pthread_t thread) const noexcept {
    return thread_ != 0 && pthread_equal(posix_thread_, thread) != 0;
  }
  // That thread records with it no more: how long it was on a core goes into the file. Any thread.
  void thread_ends() noexcept;
  // Of a journal: the process' memory is as it is now.
  ProcessMemory note_memory() noexcept {
    const ProcessMemory memory = process_memory();
    file_.note_memory(memory.peak_bytes, memory.resident_bytes);
    return memory;
  }

  // Marks the recorder as in use by its thread, up to leave(), which the function that has
  // `mark` must call. False if it is in use by a function that waits for this one to return (we
  // run in a signal handler): the event is counted as lost.
  bool enter(FrameMark& mark) noexcept {
    const FrameMark* const user = user_.load(std::memory_order_relaxed);
    if (user != nullptr && !take_over(user, mark)) [[unlikely]]
      return false;
    mark.set(this);
    user_.store(&mark, std::memory_order_relaxed);
    __asm__ volatile("" ::: "memory");
    ++events_;
    return true;
  }
  // After enter(), where the event is to be recorded: what that takes is measured now and then.
  void measure() noexcept { tracing_time_.enters(); }
  __attribute__((hot)) void leave() noexcept {
    tracing_time_.leaves();
    events_seen_->store(events_, std::memory_order_relaxed);
    __asm__ volatile("" ::: "memory");
    // Release: pairs with busy(); who sees false sees all that this thread recorded.
    user_.store(nullptr, std::memory_order_release);
  }
  // The same where the recording has ended: another thread may be closing all the rest. From now on nobody enters; events are
  // lost to `cause`, and the recorder is not in use meanwhile.
  void leave_for_good(spool::LossCause cause) noexcept {
    late_cause_ = cause;
    count_loss(cause);
    user_.store(&s_nobody, std::memory_order_release);
  }
  // A jump out of a signal handler may have left the recorder in use: frees it then.
  void free_if_left(const FrameMark& here) noexcept;
  // The same for what was being appended to a file that nobody enters (the journal).
  void drop_unfinished() noexcept;
  // What that takes.
  TracingTime& tracing_time() noexcept { return tracing_time_; }
  // One more callback is part of the same record.
  void count_event() noexcept { ++events_; }
  void count_events(unsigned count) noexcept { events_ += count; }
  // This one belongs to an event that was counted before.
  void uncount_event() noexcept { --events_; }
  // Events so far, for other threads.
  std::uint64_t events_seen() const noexcept {
    return events_seen_->load(std::memory_order_relaxed);
  }
  // Of its present thread.
  bool has_events_of_thread() const noexcept {
    constexpr std::uint64_t kOfBegin = 4;  // that it begins, and its first task
    return events_seen() > events_before_ + kOfBegin;
  }
  // For RingWatch: whether it was `value` the last time as well.
  bool same_as_last_time(std::uint64_t value) noexcept {
    const bool same = watched_ == value;
    watched_ = value;
    return same;
  }
  bool busy() const noexcept {
    const FrameMark* const user = user_.load(std::memory_order_acquire);
    return user != nullptr && user != &s_nobody;
  }
  // After the end of the recording: nothing is in progress any more. For good: what comes later is in use only to be counted as lost, once.
  bool at_rest() noexcept { return at_rest_ = at_rest_ || !busy(); }

  // Appends one record.
  __attribute__((hot)) void append(const spool::RecordWords& record) noexcept {
    if (cursor_ == end_) [[unlikely]] {
      if (!next_block()) return count_loss(block_cause_);
    }
    record.store(cursor_++);
    commit_value_ += commit_step_;
    // Release: the record is complete before it counts. Read by the writer, in this
    // process at the end or in another after a kill.
    commit_->store(commit_value_, std::memory_order_release);
  }

  // Two that belong together.
  void append(const spool::RecordWords& first, const spool::RecordWords& second) noexcept {
    if (end_ - cursor_ < 2) [[unlikely]] {
      append(first);
      return append(second);
    }
    first.store(cursor_);
    second.store(cursor_ + 1);
    cursor_ += 2;
    commit_value_ += 2 * commit_step_;
    commit_->store(commit_value_, std::memory_order_release);  // as above
  }

  // Begin (end) of a region: appends it, keeps the stack of open ones and the call tree.
  // Inline in each source of events: there the kind is known, and with it the key.
  __attribute__((always_inline)) void begin(const spool::RecordWords& record) noexcept {
    begin(record, spool::CallKey::of(record));
  }
  __attribute__((always_inline)) void begin(const spool::RecordWords& record,
                                            spool::CallKey key) noexcept {
    put_begin(record);
    tree_.enter(key, record.ticks);
  }
  // `true_ticks`: when it was, if it is known to have been earlier than the record says.
  __attribute__((always_inline)) void end(const spool::RecordWords& record,
                                          std::uint64_t true_ticks) noexcept {
    put_end(record);
    tree_.end(spool::begin_of(record.kind()), true_ticks);
  }
  __attribute__((always_inline)) void end(const spool::RecordWords& record) noexcept {
    end(record, record.ticks);
  }
  // The ends of the two innermost regions at one moment, the inner one's first. `learned`: they were earlier, and settle_ends()
  // says when, before the next of these. False: they are not the innermost, and nothing was done.
  __attribute__((always_inline)) bool end_both(const spool::RecordWords& inner,
                                               const spool::RecordWords& outer,
                                               bool learned) noexcept {
    const std::uint64_t kinds = std::uint64_t{1} << inner.kind() | std::uint64_t{1}
                                                                       << outer.kind();
    if ((metric_kinds_ & kinds) != 0 || depth_ < base_depth_ + 2 ||
        stack_[depth_ - 1].kind != inner.kind() - 1 ||
        stack_[depth_ - 2].kind != outer.kind() - 1 ||
        !tree_.may_end_both(spool::begin_of(inner.kind()), spool::begin_of(outer.kind())))
        [[unlikely]]
      return false;
    append(inner, outer);
    depth_ -= 2;
    tree_.end_both(inner.ticks, learned);
    return true;
  }
  // When they were learned; what is not earlier is not when they were.
  std::uint64_t ends_learned() const noexcept { return tree_.late_ends().ticks; }
  void settle_ends(std::uint64_t ticks) noexcept {
    if (!tree_.settle_ends(ticks)) return;
    const CallTree::LateEnds& ends = tree_.late_ends();
    rows_.settle(ends.ticks, ends.late, ends.first->cls, ends.second->around);
  }
  // A region without duration.
  void moment(const spool::RecordWords& record) noexcept {
    append(record);
    tree_.point(spool::CallKey::of(record), record.ticks);
  }
  // Something of a task or a lock, which opens a region and closes one for the call tree.
  void task_schedule(const spool::RecordWords& record) noexcept {
    append(record);
    tree_.task_schedule(record);
  }
  void mutex_acquire(const spool::RecordWords& record) noexcept {
    append(record);
    tree_.mutex_acquire(record);
  }
  void mutex_acquired(const spool::RecordWords& record) noexcept {
    append(record);
    tree_.mutex_acquired(record);
  }
  void mutex_released(const spool::RecordWords& record) noexcept {
    append(record);
    tree_.mutex_released(record);
  }
  void nest_lock(const spool::RecordWords& record) noexcept {
    append(record);
    tree_.nest_lock(record);
  }
  // The thread has begun its part of a team at `begin`, which was opened at `fork`: the time between is management.
  void began_late(std::uint64_t fork, std::uint64_t begin) noexcept {
    tree_.began_late(fork, begin);
  }

  // --- What moves data: the record, the call tree and the event flow graph ---

  // A call of MPI. `key`: its procedure's, where several share a record's; `path`: of caller_path().
  __attribute__((always_inline)) void begin_call(const spool::RecordWords& record,
                                                 std::uint64_t called,
                                                 std::uint32_t path) noexcept {
    begin(record, spool::CallKey::make(spool::kMpiEnter, 0, called));
    flow_.begin(called, path, record.ticks);
  }
  __attribute__((always_inline)) void end_call(const spool::RecordWords& record) noexcept {
    end(record);
    flow_.end(record.ticks);
  }
  // The same for a poll, whose records are appended or extended by themselves.
  void begin_poll(std::uint64_t called, std::uint32_t path, std::uint64_t ticks) noexcept {
    tree_.enter(spool::CallKey::make(spool::kMpiEnter, 0, called), ticks);
    flow_.begin(called, path, ticks);
  }
  void end_poll(std::uint64_t ticks) noexcept {
    poll_end_ = ticks;
    tree_.end(spool::kMpiEnter, ticks);
    flow_.end(ticks);
  }
  // A call that is in the call tree alone: it has begun and ended. What was recorded meanwhile is not in it.
  void count_call(std::uint64_t called, std::uint64_t begin, std::uint64_t end) noexcept {
    const std::uint64_t since = tree_.class_since();
    tree_.enter(spool::CallKey::make(spool::kMpiEnter, 0, called),
                begin < since ? since : begin);
    tree_.leave(end);
  }
  // What happened up to then has its place in the call tree.
  std::uint64_t time_known() const noexcept { return tree_.class_since(); }
  // A message or a collective of the call: the record and its kMpiAmount.
  __attribute__((hot)) void transfer(const spool::RecordWords& first,
                                     std::uint64_t amount_a48,
                                     std::uint64_t amount_payload) noexcept {
    append(first, spool::record_words(spool::kMpiAmount, first.ticks, amount_payload, 0,
                                      amount_a48));
    if (first.kind() == spool::kMpiRecv) {
      tree_.received(amount_payload, 1);
      flow_.moved(0, amount_payload);
    } else if (first.kind() == spool::kMpiSend) {
      tree_.sent(amount_payload, 1);
      flow_.moved(amount_payload, 0);
    } else if (first.payload >> 32 == 0) {
      // A collective; of one that does not block the call that completes it has moved the bytes.
      moved(amount_payload, amount_a48);
    }
  }
  // Bytes of a collective that the call completes.
  void moved(std::uint64_t sent, std::uint64_t received) noexcept {
    tree_.sent(sent, 0);
    tree_.received(received, 0);
    flow_.moved(sent, received);
  }
  // Bytes to and from a device.
  void copied(std::uint64_t sent, std::uint64_t received) noexcept {
    tree_.sent(sent, 0);
    tree_.received(received, 0);
  }
  // Whom the call sends to or receives from, as packed FlowPartner.
  void sends_to(std::uint64_t partner) noexcept { flow_.to(partner); }
  void receives_from(std::uint64_t partner) noexcept { flow_.from(partner); }
  // The number of the callers with this hash in the event flow graph; `unwind(frames)` fills in as many as it
  // returns, where they are new. kNoPath: they are not kept.
  bool keeps_callers() const noexcept { return flow_.wants_callers(); }
  template <std::size_t kMax, typename Unwind>
  std::uint32_t caller_path(std::uint64_t hash, Unwind unwind) noexcept {
    const std::uint32_t path = flow_.find_path(hash);
    if (path != spool::kNoPath) [[likely]]
      return path;
    std::uint64_t frames[kMax];
    return flow_.add_path(hash, frames, unwind(frames));
  }
  // An outermost parallel region as a node of the event flow graph, besides begin() and end(); see FlowGraph.
  template <typename IsLeague>
  __attribute__((always_inline)) void begin_outermost(std::uint64_t address,
                                                      std::uint64_t ticks,
                                                      IsLeague is_league) noexcept {
    flow_.begin_region(address, ticks, is_league);
  }
  __attribute__((always_inline)) void end_outermost(std::uint64_t ticks) noexcept {
    flow_.end_region(ticks);
  }

  // The same for the records alone.
  __attribute__((always_inline)) void put_begin(const spool::RecordWords& record) noexcept {
    if ((metric_kinds_ >> record.kind() & 1) != 0) [[unlikely]]
      put_metrics(record.ticks);
    append(record);
    if (depth_ < spool::kMaxDepth) [[likely]]
      record.store(&stack_[depth_++]);
    else
      count_loss(spool::kLossDepth);
  }
  // An end belongs to the innermost open region of its kind; it closes those inside, too.
  __attribute__((always_inline)) void put_end(const spool::RecordWords& record) noexcept {
    if ((metric_kinds_ >> record.kind() & 1) != 0) [[unlikely]]
      put_metrics(record.ticks);
    append(record);
    if (depth_ > base_depth_ && stack_[depth_ - 1].kind == record.kind() - 1) [[likely]]
      --depth_;
    else
      pop(record);
  }
  // Drops the newest records, which must be in the block and no cuts. They may be where a full ring had its oldest; it is read
  // from a cut on.
  void drop_newest(std::size_t count) noexcept {
    cursor_ -= count;
    commit_value_ -= count * commit_step_;
    commit_->store(commit_value_, std::memory_order_release);
  }
  // The newest three records are a lock that was taken and released: drops them.
  void leave_out_lock() noexcept {
    drop_newest(3);
    header().locks_left_out.store(++locks_left_out_, std::memory_order_relaxed);
  }
  // Makes the end of a region, which has `behind` records behind it in the block, one of `ticks` and counts one more in
  // its a48; values of metrics that belong to it are read again. Those behind it are dropped. False: the values are not in
  // the block.
  bool extend_end(std::uint64_t ticks, std::size_t behind = 0) noexcept {
    spool::Record& newest = *(cursor_ - 1 - behind);
    if ((metric_kinds_ >> newest.kind & 1) != 0 && !renew_metrics(newest, ticks))
        [[unlikely]]
      return false;
    if (behind != 0) [[unlikely]]
      drop_newest(behind);
    newest.ticks = ticks;
    newest.set_a48(newest.a48() + 1);
    return true;
  }
  // Drops the top of the stack: a region whose end its runtime does not report.
  void drop_top(std::uint64_t ticks) noexcept { tree_.end(stack_[--depth_].kind, ticks); }

  std::uint32_t depth() const noexcept { return depth_; }
  const spool::Record* top() const noexcept {
    return depth_ == 0 ? nullptr : &stack_[depth_ - 1];
  }
  // Open regions from the outermost, `index` < depth().
  const spool::Record& open_region(std::uint32_t index) const noexcept {
    return stack_[index];
  }
  // The thread ends, or the region around them: ends the innermost user regions and functions.
  void end_user_regions(std::uint64_t ticks) noexcept;
  spool::Record* top_mutable() noexcept { return &stack_[depth_ - 1]; }
  // The newest record, if it is in the mapped block: lets two events that happen in one
  // instant share one record.
  spool::Record* last() noexcept { return cursor_ == block_ ? nullptr : cursor_ - 1; }

  // The same of `back` records before the newest.
  const spool::Record* last(std::size_t back) const noexcept {
    return static_cast<std::size_t>(cursor_ - block_) <= back ? nullptr
                                                              : cursor_ - 1 - back;
  }

  // How many of the newest records are locks that were taken and released again, three each.
  std::size_t newest_locks() const noexcept {
    const auto is = [this](std::size_t back, spool::Kind kind) {
      const spool::Record* const record = last(back);
      return record != nullptr && record->kind == kind;
    };
    std::size_t locks = 0;
    while (is(locks, spool::kMutexReleased) && is(locks + 1, spool::kMutexAcquired) &&
           is(locks + 2, spool::kMutexAcquire))
      locks += 3;
    return locks;
  }
  // Returns true if the newest records are that of a poll and such locks.
  bool polls_now() const noexcept {
    if (poll_end_ == 0) return false;
    const spool::Record* const record = last(newest_locks());
    return record != nullptr && record->kind == spool::kMpiLeave &&
           record->ticks == poll_end_;
  }

  // All threads of the team stand here: records a possible cut.
  void sync(std::uint64_t epoch, std::uint64_t ticks) noexcept {
    pass(epoch);
    append(spool::record_words(spool::kSync, ticks, depth_, 0, epoch));
    if (depth_ != 0) append_snapshots();
  }
  // The same where the start of a region follows at once: if that record can say it as well,
  // returns the flag (kTeamCut) for its `sub`, else 0.
  std::uint8_t sync_with_begin(std::uint64_t epoch, std::uint64_t ticks) noexcept {
    pass(epoch);
    // Values of metrics stand before the start, and after the cut.
    if (depth_ == 0 && metric_kinds_ == 0) [[likely]]
      return spool::kTeamCut;
    sync(epoch, ticks);
    return 0;
  }
  std::uint64_t epoch() const noexcept { return epoch_; }

  // Applies what was decided since the last call, as far as this thread has come.
  void follow(const DecisionBoard& board) noexcept {
    board_ = &board;
    if (board.count() != followed_) [[unlikely]]
      follow_slow(board);
  }

  // --- Iterations (thread_rows.h) ---

  // Of the primary thread: whether others should know of it.
  bool step(IterationStep& step, std::uint64_t total, std::uint64_t ticks) noexcept {
    rows_.set_total(total);
    look_at_use(ticks);
    IterationRows::Now here = now(ticks);
    // A fork is fed when it has begun in the call tree, and the loop that is left ended before it.
    if (step.ticks < here.since) [[unlikely]] {
      const CallTree::ClassBefore before = tree_.class_before();
      here.before_since = before.since;
      here.before_cls = before.cls;
    }
    return rows_.step(step, here);
  }
  void set_iterations(std::uint64_t total) noexcept { rows_.set_total(total); }
  // See IterationRows.
  bool moment(std::uint64_t ticks, IterationRows::Moment& out) const noexcept {
    return rows_.moment(ticks, now(ticks), out);
  }
  void came_round(const IterationStep& step, const IterationRows::Moment* begin) noexcept {
    rows_.came_round(step, begin);
    rows_.follow_own();
  }
  // Of others: they pass an epoch, inside of a team, or `outside`, where they begin their part of one.
  void pass_epoch(std::uint64_t ticks, bool outside) noexcept {
    rows_.pass(epoch_, now(ticks), outside);
  }
  void follow(const IterationBoard& board, std::uint64_t ticks) noexcept {
    if (!rows_.is_behind(board)) [[likely]]
      return;
    look_at_use(Clock::now());  // `ticks` may be later than now
    rows_.follow(board, epoch_, now(ticks));
  }
  // The recording has ended: what is published up to now.
  void follow_to_end(const IterationBoard& board, std::uint64_t ticks) noexcept {
    if (rows_.is_behind(board)) look_at_use_slow(Clock::now());
    rows_.follow(board, ~std::uint64_t{0}, now(ticks));
  }

  // For a recorder that joins late: only the latest decision counts.
  void follow_from_now(const DecisionBoard& board) noexcept {
    const std::uint64_t count = board.count();
    followed_ = count == 0 ? 0 : count - 1;
  }

  // From now on values are read before starts and ends of these kinds (a bit each): of the
  // thread that owns the recorder. Values go on from those of the owner before. Null: no more.
  // `absolute`: a bit for each value that does not begin anew with its owner.
  void set_metrics(MetricReader* reader, std::uint64_t kinds,
                   std::uint64_t absolute) noexcept;
  bool reads_metrics() const noexcept { return metric_kinds_ != 0; }
  // Reads them, for what is recorded with these ticks. Returns the values; null if there are none.
  const std::uint64_t* read_metrics(std::uint64_t ticks) noexcept;
  // Values as records; read now, unless they have been for these ticks.
  void put_metrics(std::uint64_t ticks) noexcept;

  // Number for the next task created here; goes on when the location changes its thread.
  std::uint32_t next_task() noexcept { return ++tasks_; }

  // Ticks that this thread has spent so far in what is rare and long: writing a full block,
  // beginning and ending gaps. The program did nothing in them.
  std::uint64_t own_ticks() const noexcept { return own_ticks_; }
  void add_own_ticks(std::uint64_t ticks) noexcept { own_ticks_ += ticks; }

  bool suspended() const noexcept { return suspended_; }
  spool::Header& header() noexcept { return *file_.header(); }
  // Of the journal: its table of loops; null: none.
  void* area() noexcept { return file_.area(); }
  bool is_open() const noexcept { return file_.is_open(); }
  // True while appends fail because there is no disk space; the primary thread acts on that.
  bool out_of_space() const noexcept { return blocked_; }
  void count_loss(spool::LossCause cause, std::uint64_t events = 1) noexcept;

 private:
  bool take_over(const FrameMark* user, const FrameMark& here) noexcept;
  void pass(std::uint64_t epoch) noexcept {
    if (epoch < epoch_) [[unlikely]]
      epoch_fell_ = true;
    epoch_ = epoch;
  }
  class OwnTime;
  IterationRows::Now now(std::uint64_t ticks) const noexcept {
    return {ticks, tree_.class_since(), tree_.current_class(),
            metrics_ == nullptr ? nullptr : metric_values_};
  }
  // Of the rows, what the thread uses of the machine: at most each 10 ms.
  __attribute__((hot)) void look_at_use(std::uint64_t ticks) noexcept {
    if (ticks - row_use_ticks_ < row_use_every_) [[likely]]
      return;
    look_at_use_slow(ticks);
  }
  void look_at_use_slow(std::uint64_t ticks) noexcept;
  void add_row_use(base::ThreadUse now) noexcept;
  void append_snapshots() noexcept;
  bool renew_metrics(const spool::Record& end, std::uint64_t ticks) noexcept;
  void suspend(const Decision& decision) noexcept;
  void resume(const Decision& decision) noexcept;
  void follow_slow(const DecisionBoard& board) noexcept;
  void follow_all(const DecisionBoard& board) noexcept;
  bool next_block() noexcept;
  void pop(
      spool::RecordWords end_record) noexcept;  // by value: it stays in registers elsewhere
  void append_after_suspend(const spool::RecordWords& record) noexcept;
  std::uint64_t log_records() const noexcept {
    return suspended_ ? log_at_suspend_ : commit_value_ >> 1;
  }
  std::uint64_t ring_capacity() const noexcept { return spool::kRingFirst << ring_class_; }
  void use_log(std::uint64_t records) noexcept;
  void use_ring(std::uint64_t records) noexcept;
  std::uint64_t ring_word(std::uint64_t records) const noexcept {
    return records << 8 | (ring_forgot_ ? spool::kRingForgot : 0) | ring_class_;
  }
  bool wrap_ring() noexcept;
  void drop_records() noexcept;
  std::uint64_t wanted_from() const noexcept;
  void forget(const spool::Record* records, std::uint64_t count) noexcept;
  void lay_out_ring(std::uint64_t records) noexcept;
  bool flush_stage(std::uint64_t count) noexcept;
  bool use_stage() noexcept;
  bool take_result(SpoolResult result) noexcept;
  bool log_put(const spool::Record* from, std::uint64_t count) noexcept;
  std::uint64_t surely_after(std::uint64_t epoch) noexcept;
  std::uint64_t find_cut(std::uint64_t epoch) noexcept;
  std::uint64_t first_needed(std::uint64_t cut) noexcept;
  std::uint64_t fill_ring(std::uint64_t cut) noexcept;
  std::uint64_t cut_at(std::uint64_t at) const noexcept;
  std::uint64_t events_missing(std::uint64_t epoch, std::uint64_t from) const noexcept;

  // Hot.
  spool::Record* cursor_ = nullptr;
  spool::Record* end_ = nullptr;
  std::atomic<std::uint64_t>* commit_ = nullptr;
  std::uint64_t commit_value_ = 0;
  std::uint64_t commit_step_ = 2;
  std::uint64_t events_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t followed_ = 0;
  std::uint64_t own_ticks_ = 0;
  TracingTime tracing_time_;
  std::uint64_t metric_kinds_ = 0;  // a bit a kind
  std::uint32_t depth_ = 0;
  std::uint32_t base_depth_ = 0;  // while suspended: regions open since the suspend; else 0
  std::atomic<const FrameMark*> user_{nullptr};
  std::uint64_t poll_end_ = 0;  // of the newest poll
  std::uint64_t locks_left_out_ = 0;
  bool suspended_ = false;
  bool blocked_ = false;
  bool writes_ = true;
  spool::LossCause block_cause_ = spool::kLossDiskFull;
  spool::Record* block_ = nullptr;
  std::atomic<std::uint64_t>* events_seen_ = &dropped_;

  std::uint64_t row_use_ticks_ = 0;  // when it was last looked at
  std::uint64_t row_use_every_ = 0;

  FlowGraph flow_;
  CallTree tree_;
  IterationRows rows_;

  // Rare.
  static constinit const FrameMark s_nobody;  // of a recorder that is not entered any more
  spool::LossCause late_cause_ = spool::kLossLateThread;
  base::ThreadUse used_before_;
  base::ThreadUse row_use_seen_;  // of the thread, at the latest look
  RowUseReader row_use_reader_;
  spool::RowUse row_use_{};          // of the location
  double row_cycles_per_ns_ = 0;     // at the latest look of the thread itself
  pid_t thread_ = 0;                 // 0: none
  std::uint64_t events_before_ = 0;  // when it began
  pthread_t posix_thread_{};
  MetricReader* metrics_ = nullptr;
  std::uint64_t metric_ticks_ = 0;  // what they were read for
  std::uint64_t metrics_absolute_ = 0;
  std::uint64_t metric_bases_[MetricReader::kMax] = {};
  std::uint64_t metric_values_[MetricReader::kMax] = {};
  const DecisionBoard* board_ = nullptr;
  std::uint64_t watched_ = ~std::uint64_t{0};
  std::uint64_t ring_class_ = 0;  // of the ring's size in use: kRingFirst << ring_class_
  bool at_rest_ = false;          // has been seen so
  bool epoch_fell_ = false;       // some cut had an earlier epoch than one before
  bool ring_forgot_ = false;      // something of this gap is not in the ring any more
  ForgottenEvents forgotten_;     // of what was wanted
  std::uint64_t looked_at_ = 0;   // up to this record of the ring
  std::uint64_t log_next_ = 0;    // log records written, committed or not
  std::atomic<std::uint64_t> dropped_{0};
  std::uint64_t log_at_suspend_ = 0;  // while suspended: records in the log
  std::uint64_t interval_begin_ = 0;  // no cut lies before this log record
  SpoolFile file_;
  std::uint32_t tasks_ = 0;
  std::uint32_t n_carried_ = 0;
  spool::Record stack_[spool::kMaxDepth];
  spool::Record replayed_[spool::kMaxDepth];  // scratch of fill_ring()
  spool::Record carried_[spool::kMaxDepth];   // ends found by fill_ring()
};

}  // namespace refrain::recorder
