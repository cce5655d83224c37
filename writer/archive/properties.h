// The properties of an archive: Refrain's version and settings, what it recorded, wrote and
// lost, and its loops, so that tools need nothing but the archive.
//
// Place in the flow: ARCHITECTURE.md, stage 5, the last before the archive is closed;
// analysis/archive_info.h reads them.
// Names (all begin with REFRAIN::):
//     VERSION COMMAND                    from the journal
//     RUN                                the `refrain run` that recorded it: its process number, and when it began (epoch, s)
//     RUNTIME                            the name that the OpenMP runtime gives; "libgomp" if that one ran the program's regions
//     RUNTIME_FOR                        "libgomp", if RUNTIME stood in for it
//     SETTING::<NAME>                    one a setting
//     EVENTS_SEEN EVENTS_WRITTEN EVENTS_FILTERED EVENTS_UNMATCHED  callbacks; see
//                                        write_options.h
//     MOVED_TICKS                        the most ticks by which an enter or leave is later than it
//                                        was reported: no two of a location have the same time,
//                                        and none goes backwards
//     EVENTS_BY_KIND                     JSON object: kind of record -> callbacks written
//     MARK_RECORDS                       records in the archive that mark iterations
//     LOCKS_LEFT_OUT                     short locks in a row that have no events, if there are
//     LOST::<CAUSE> LOST                 by cause (those that happened), and in total
//     THREADS_UNRECORDED                 threads that had no room for a spool, if there are: their events are not counted
//     GAPS RECOVERED SPOOL_BYTES
//     LOOPS                              JSON array, see loops_json()
//     FUNCTIONS_OFF                      functions that were switched off, one a line: calls, mean
//                                        duration in ns, name; at most 1000
//     STRUCTURE                          the nest of loops in one line (filters/nest.h)
//     BUDGET_LIMIT                       iterations of a loop with which the budget is kept
//     LIMIT_REASON                       why most of the run is written despite the limit, if so
//     PROCESSES MESSAGES SENDS_DROPPED RECEIVES_DROPPED MESSAGE_BYTES COLLECTIVES
//     COLLECTIVES_DROPPED ONE_SIDED ONE_SIDED_DROPPED POLLS_TOGETHER CLOCK_CHECKED
//     CLOCK_VIOLATIONS CLOCK_REPAIRED ITERATIONS_GIVEN_UP ITERATIONS_ALONE
//                                        of a job that uses MPI; see MpiResult
//     RANKS::POLICY                      "representatives=K", where not all ranks were wanted; then also
//     RANKS::WRITTEN                     ranks whose events are here: "0,3", "0-5:5"; or "all"
//     RANKS::CLUSTERS                    ranks with equal event flow graphs, a cluster a line: those
//                                        that are written, a colon, all of them: "0: 0-2"
//     RANKS::WHY                         the same in words, or why all are written
//     MPI_TAKEN                          procedures of MPI that the program defines itself: there
//                                        are no messages and collectives
//     COMPLAINTS                         what was wrong with the spool, if anything was
//     SHORTENED                          names of properties that are not complete, separated by
//                                        commas; see shortened()
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "spool/journal.h"
#include "writer/archive/write_result.h"
#include "writer/interpret/location_writer.h"

namespace refrain::writer {

using Properties = std::vector<std::pair<std::string, std::string>>;

// In what no loops were looked for, and why; empty: everything was looked at.
std::string loop_limits_text(const spool::LoopLimits& limits);

// Values are never empty (OTF2 would remove the property).
Properties archive_properties(const spool::Journal& journal, const WriteOptions& options,
                              const WriteResult& result,
                              const std::array<std::uint64_t, kEventKinds>& by_kind);

// The anchor file's description of the trace: of a program that uses OpenMP, MPI, both or
// neither.
std::string archive_description(const WriteResult& result,
                                const std::array<std::uint64_t, kEventKinds>& by_kind);

// [{"process", "id", "level", "parent", "name", "file", "line", "body_events",
//   "body": [names], "visits", "iterations", "written", "partly", "total_ns", "mean_ns",
//   "min_ns", "max_ns", "sigma_ns"}]
std::string loops_json(const std::vector<LoopSummary>& loops);

// libotf2 refuses an anchor file of more than 256 KiB, and the archive with it; the loops
// of a program with thousands of events an iteration, or a very long command, exceed that.
// Shortened are first the names of the events in the loops' bodies, then the loops that
// took the least time, and long texts; REFRAIN::SHORTENED names the incomplete properties.
constexpr std::size_t kMaxPropertyBytes = 192 << 10;  // all names and values together

Properties shortened(Properties properties, const std::vector<LoopSummary>& loops,
                     std::size_t most_bytes = kMaxPropertyBytes);

// The beginning of a text longer than `most_bytes`, and " ..."; no character of UTF-8 is
// cut.
std::string beginning(const std::string& text, std::size_t most_bytes);

}  // namespace refrain::writer
