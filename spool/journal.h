// The journal of a process, sorted: texts, loops, visits, gaps, clock.
//
// Place in the flow: ARCHITECTURE.md, stage 5, after spool_reader.h. Iterations stay in
// the file, they can be many: iteration_stream.h goes through them, visit by visit.
// Thread-safety: const after parse_journal().
// Ownership: `log` points into the SpoolFile, which must live longer.
// Errors: unknown or cut-off records are skipped; nothing throws but for lack of memory.
// Cost: one pass over the journal; memory for each visit of a loop and each gap, none
// for an iteration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/memory_sample.h"
#include "spool/file_reader.h"
#include "spool/format.h"
#include "spool/mpi_journal.h"
#include "spool/record_sequence.h"

namespace refrain::spool {

// --- The program's own regions, parameters and their values in the journal; part of
// Journal.
//
// Errors: texts that cannot be parsed are skipped; what has no text here is known by its
// number only (the process was killed before it was recorded).

struct UserRegion {
  std::uint32_t name = 0;  // number of the name, which regions of several places may share
  std::string text;
  std::string file;
  std::uint32_t line = 0;
  std::string construct;  // of Kokkos, "parallel_for"; empty: the program's own
  std::string type;       // of Kokkos' kernel without a label, as C++ writes it
};

// A function that is not recorded any more.
struct FunctionOff {
  std::uint64_t address = 0;
  std::uint64_t calls = 0;  // until then
  std::uint64_t ticks = 0;  // that they took
};

// A counter that threads read.
struct Metric {
  std::string unit;
  std::string name;
  bool operator==(const Metric&) const = default;
};

struct UserJournal {
  std::map<std::uint32_t, UserRegion> regions;
  std::map<std::uint32_t, std::string> parameters;
  std::map<std::uint32_t, std::string> strings;
  std::vector<FunctionOff> functions_off;
  std::vector<Metric> metrics;  // by number
  // That the program gave to threads, by location, in their order; no name twice in a row.
  std::map<std::uint32_t, std::vector<std::string>> thread_names;

  // A text of any key.
  void take_text(std::uint8_t key, const std::string& text);
  // With a name in any case.
  UserRegion region(std::uint32_t number) const;
  std::string parameter(std::uint32_t number) const;
};

// One event of a loop's body.
struct LoopBodyEvent {
  std::uint8_t record_kind = 0;  // Kind of the record that gave the symbol
  std::uint16_t sub = 0;         // its ompt_work_t or ompt_sync_region_t
  std::uint64_t address = 0;
  bool operator==(const LoopBodyEvent&) const = default;
};

struct Loop {
  std::uint32_t id = 0;
  std::uint32_t body_events = 0;
  std::vector<LoopBodyEvent> body;
};

// Who called an event of loops: see kTextCallers.
struct CallChain {
  struct Frame {
    std::uint64_t address = 0;  // where the call returns to
    std::uint64_t cfa = 0;
    bool operator==(const Frame&) const = default;
  };
  std::vector<std::uint32_t> loops;
  LoopBodyEvent place;
  std::vector<Frame> frames;  // from the event outwards
};

// The code of a loop: see kTextLoopCode and, where there is a function, kTextLoopSource.
struct LoopCode {
  std::uint64_t header = 0;
  std::vector<std::uint64_t> calls;  // where they return to
  std::string function = {};
  std::string file = {};
  std::uint32_t first_line = 0;
  std::uint32_t last_line = 0;
};

// What no loops are found in: see kTextLoopLimits.
struct LoopLimits {
  std::uint64_t functions = 0;
  std::uint64_t events = 0;
  std::uint64_t paths = 0;
  // How often a thread that had events of its own before took the primary thread's place: what others did at once is in no loop.
  std::uint64_t turns = 0;
};

struct SkippedSummary;

// Durations of complete iterations, in ticks.
struct DurationSums {
  std::uint64_t count = 0;
  double total = 0;
  double squares = 0;
  std::uint64_t least = 0;
  std::uint64_t greatest = 0;

  void add(std::uint64_t ticks) noexcept;
  // Iterations of which only the sum is known count for the deviation as if each had
  // lasted their mean.
  void add(const SkippedSummary& skipped) noexcept;
};

// One stay in a loop, from its first iteration until it was left.
struct LoopVisit {
  std::uint32_t loop = 0;
  std::uint16_t level = 0;  // 0: in no other loop
  std::uint32_t visit = 0;
  std::uint64_t found_ticks = 0;
  std::size_t first_record = 0;   // of the journal: the visit's records lie in
  std::size_t end_record = 0;     // [first_record, end_record)
  std::uint64_t first_ticks = 0;  // start of its first iteration
  std::uint64_t begun = 0;        // iterations that have a mark
  std::uint64_t complete = 0;     // iterations with a lesser number were completed
  std::uint64_t left_ticks = 0;
  bool left = false;  // false: the process ended inside
  // Found by journal.h when all is known:
  std::uint32_t parent = kNoParent;   // the loop whose iterations this visit lies in
  std::uint64_t cut_ticks = kNotCut;  // another loop begins inside the last iteration

  static constexpr std::uint32_t kNoParent = ~std::uint32_t{0};
  static constexpr std::uint64_t kNotCut = ~std::uint64_t{0};
};

struct JournalGap {
  std::uint64_t id = 0;
  std::uint64_t suspend_epoch = 0;
  std::uint64_t suspend_ticks = 0;
  std::uint8_t suspend_reason = 0;
  bool resumed = false;
  std::uint64_t resume_epoch = 0;
  std::uint64_t resume_ticks = 0;
  std::uint8_t resume_reason = 0;
};

struct LoopMismatch {
  std::uint32_t loop = 0;
  std::uint64_t iteration = 0;
  std::uint64_t ticks = 0;
};

// Iterations of one loop, in one gap, that have no marks of their own: of inner loops of
// skipped iterations, with marks=summary of every loop.
struct SkippedSummary {
  std::uint64_t ticks = 0;
  std::uint32_t loop = 0;
  std::uint64_t iterations = 0;
  std::uint64_t total = 0;
  std::uint64_t least = 0;
  std::uint64_t greatest = 0;
  std::uint64_t visits = 0;  // without any mark
  std::uint32_t parent = LoopVisit::kNoParent;
};

// An iteration that is in the archive because it left the band of its loop.
struct SlowIteration {
  std::uint64_t ticks = 0;
  std::uint32_t loop = 0;
  std::uint64_t number = 0;
  std::uint64_t duration = 0;
  std::uint64_t median = 0;  // of the loop, before it
  std::uint64_t mad = 0;     // median absolute deviation
};

struct LimitReached {
  std::uint64_t ticks = 0;
  std::uint8_t cause = 0;
  std::uint64_t epoch = 0;
};

struct ClockPair {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
};

struct Journal {
  RecordSequence log;
  std::map<std::uint8_t, std::string> texts;  // by TextKey, without kTextModule
  std::vector<std::string> modules;           // texts of kTextModule
  std::map<std::uint32_t, Loop> loops;
  std::vector<LoopVisit> visits;  // by first_ticks, outer ones first
  std::vector<JournalGap> gaps;   // by number
  std::vector<LoopMismatch> mismatches;
  std::vector<SkippedSummary> summaries;
  std::vector<SlowIteration> slow;
  std::vector<base::MemorySample> memory;
  std::vector<LimitReached> limits;
  std::vector<CallChain> chains;
  std::map<std::uint32_t, LoopCode>
      loop_code;  // by loop; of loops that were found by their code
  MpiJournal mpi;
  UserJournal user;
  FileTable files;  // from the file next to it
  ClockPair first_clock;
  ClockPair last_clock;
  std::uint64_t last_ticks = 0;  // largest of all records
  bool summary_only = false;     // no events and no marks: see summary_areas.h
  bool marks_summary = false;    // skipped iterations have no marks of their own

  std::string text(TextKey key) const;
  LoopLimits loop_limits() const;
};

// `facts`: the log of the file next to it, if there is one.
Journal parse_journal(const RecordSequence& log, const RecordSequence& facts = {});

// --- Finds out which visits of loops lie in which.
//
// Place in the flow: inside journal.h, when all of the journal has been read. The nested
// detector reports inner loops before the one around them is known, so the reported level
// of a visit may be too low. Complete iterations nest as reported; but the last, broken
// iteration of a loop may turn out to be the start of another loop: it is cut there.
//
// Thread-safety: pure. Cost: a sort, then O(levels) a visit.

// Sorts the visits by their start, outer ones first, and sets level, parent and cut_ticks,
// such that two visits either lie apart or one within the other.
void nest_visits(std::vector<LoopVisit>& visits);

}  // namespace refrain::spool
