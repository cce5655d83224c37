#include "writer/archive/process_facts.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/texts.h"
#include "summary/merged_flow.h"

namespace refrain::writer {
namespace {

// Calls for the numbers of each, in a fixed order; `Of` is const or not.
template <typename Of, typename Work>
void each_number(Of& of, Work work) requires requires {
  of.sends_dropped;
}
{
  for (auto* value :
       {&of.sends, &of.sends_dropped, &of.receives, &of.receives_dropped, &of.bytes_sent,
        &of.bytes_received, &of.collectives, &of.collectives_dropped, &of.one_sided,
        &of.one_sided_dropped, &of.polls_together, &of.receives_freed, &of.receives_failed,
        &of.receives_open})
    work(*value);
}

template <typename Of, typename Work>
void each_number(Of& of, Work work) requires requires {
  of.archive_events;
}
{
  for (auto* value :
       {&of.archive_events, &of.mark_records, &of.events_written, &of.events_seen,
        &of.threads_begun, &of.threads_ended, &of.thread_begin_ticks, &of.thread_end_ticks,
        &of.kernel_thread, &of.plain, &of.helper})
    work(*value);
  each_number(of.mpi, work);
  for (auto& value : of.lost) work(value);
}

template <typename Of, typename Work>
void each_number(Of& of, Work work) requires requires {
  of.global_start;
}
{
  for (auto* value :
       {&of.rank, &of.global_start, &of.global_end, &of.realtime_ns, &of.primary, &of.gaps,
        &of.spool_bytes, &of.locks_left_out, &of.threads_missing, &of.threads_unrecorded,
        &of.records_damaged, &of.events_seen, &of.events_filtered, &of.events_unmatched,
        &of.moved_ticks, &of.loop_limits.functions, &of.loop_limits.events,
        &of.loop_limits.paths, &of.loop_limits.turns})
    work(*value);
  for (auto& value : of.lost) work(value);
  for (auto& value : of.by_kind) work(value);
}

template <typename Of, typename Work>
void each_number(Of& of, Work work) requires requires {
  of.device;
}
{
  for (auto* value : {&of.device, &of.thread, &of.number, &of.events}) work(*value);
}

template <typename Of, typename Work>
void each_number(Of& of, Work work) requires requires {
  of.pre_created;
}
{
  for (auto* value : {&of.descriptor, &of.stream, &of.pre_created}) work(*value);
}

void put_double(exchange::ByteWriter& out, double value) {
  out.word(std::bit_cast<std::uint64_t>(value));
}
double take_double(exchange::ByteReader& in) { return std::bit_cast<double>(in.word()); }

void put_loop(exchange::ByteWriter& out, const LoopSummary& loop) {
  for (const std::uint64_t value :
       {std::uint64_t{loop.process}, std::uint64_t{loop.id}, std::uint64_t{loop.level},
        std::uint64_t{loop.line}, std::uint64_t{loop.body_events}, loop.visits,
        loop.iterations, loop.written, loop.partly})
    out.number(value);
  out.signed_number(loop.parent);
  out.text(loop.name);
  out.text(loop.file);
  out.number(loop.named ? 1 : 0);
  out.text(loop.function);
  out.number(loop.last_line);
  out.text(loop.region);
  out.number(loop.body.size());
  for (const std::string& text : loop.body) out.text(text);
  for (const double value :
       {loop.total_ns, loop.mean_ns, loop.min_ns, loop.max_ns, loop.sigma_ns})
    put_double(out, value);
  out.number(loop.counters.size());
  for (const LoopCounter& counter : loop.counters) {
    out.text(counter.name);
    out.number(counter.iterations);
    put_double(out, counter.total);
    put_double(out, counter.ns);
  }
}

LoopSummary take_loop(exchange::ByteReader& in) {
  LoopSummary loop;
  loop.process = in.number32();
  loop.id = in.number32();
  loop.level = static_cast<std::uint16_t>(in.number_to(UINT16_MAX));
  loop.line = in.number32();
  loop.body_events = in.number32();
  for (std::uint64_t* value : {&loop.visits, &loop.iterations, &loop.written, &loop.partly})
    *value = in.number();
  loop.parent = in.signed_number();
  loop.name = in.text();
  loop.file = in.text();
  loop.named = in.number_to(1) != 0;
  loop.function = in.text();
  loop.last_line = in.number32();
  loop.region = in.text();
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left)
    loop.body.push_back(in.text());
  for (double* value :
       {&loop.total_ns, &loop.mean_ns, &loop.min_ns, &loop.max_ns, &loop.sigma_ns})
    *value = take_double(in);
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    LoopCounter& counter = loop.counters.emplace_back();
    counter.name = in.text();
    counter.iterations = in.number();
    counter.total = take_double(in);
    counter.ns = take_double(in);
  }
  return loop;
}

void put_process(exchange::ByteWriter& out, const ProcessFacts& process) {
  each_number(process, [&out](std::uint64_t value) { out.number(value); });
  out.number((process.uses_mpi ? 1U : 0U) | (process.blank ? 2U : 0U));
  for (const std::string* text : {&process.host, &process.program, &process.structure})
    out.text(*text);
  put_double(out, process.ticks_per_second);
  put_double(out, process.duration_s);
  out.number(process.locations.size());
  for (const LocationFacts& location : process.locations) {
    each_number(location, [&out](std::uint64_t value) { out.number(value); });
    out.text(location.function);
    out.text(location.name);
  }
  out.number(process.streams.size());
  for (const StreamFacts& stream : process.streams)
    each_number(stream, [&out](std::uint64_t value) { out.number(value); });
  out.number(process.handles.size());
  for (const HandleFacts& handle : process.handles) {
    each_number(handle, [&out](std::uint64_t value) { out.number(value); });
    out.text(handle.path);
  }
  out.number(process.teams.size());
  for (const auto& team : process.teams) {
    out.number(team.size());
    for (const std::uint64_t member : team) out.number(member);
  }
  out.number(process.contingent.size());
  for (const std::uint64_t member : process.contingent) out.number(member);
  out.number(process.markers.size());
  for (const MarkerFacts& marker : process.markers) {
    out.number(marker.marker);
    out.number(marker.global_ticks);
    out.number(marker.duration);
    out.text(marker.text);
  }
  out.number(process.loops.size());
  for (const LoopSummary& loop : process.loops) put_loop(out, loop);
  out.number(process.functions_off.size());
  for (const FunctionOff& off : process.functions_off) {
    out.text(off.name);
    out.number(off.calls);
    put_double(out, off.mean_ns);
  }
  out.number(process.complaints.size());
  for (const std::string& text : process.complaints) out.text(text);
}

ProcessFacts take_process(exchange::ByteReader& in) {
  ProcessFacts process;
  each_number(process, [&in](std::uint64_t& value) { value = in.number(); });
  const std::uint64_t flags = in.number_to(3);
  process.uses_mpi = (flags & 1) != 0;
  process.blank = (flags & 2) != 0;
  for (std::string* text : {&process.host, &process.program, &process.structure})
    *text = in.text();
  process.ticks_per_second = take_double(in);
  process.duration_s = take_double(in);
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    LocationFacts& location = process.locations.emplace_back();
    each_number(location, [&in](std::uint64_t& value) { value = in.number(); });
    location.function = in.text();
    location.name = in.text();
  }
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left)
    each_number(process.streams.emplace_back(),
                [&in](std::uint64_t& value) { value = in.number(); });
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    HandleFacts& handle = process.handles.emplace_back();
    each_number(handle, [&in](std::uint64_t& value) { value = in.number(); });
    handle.path = in.text();
  }
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    auto& team = process.teams.emplace_back();
    for (std::size_t members = in.count(); members != 0 && in.ok(); --members)
      team.push_back(in.number());
  }
  for (std::size_t members = in.count(); members != 0 && in.ok(); --members)
    process.contingent.push_back(in.number());
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    MarkerFacts& marker = process.markers.emplace_back();
    marker.marker = in.number32();
    marker.global_ticks = in.number();
    marker.duration = in.number();
    marker.text = in.text();
  }
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left)
    process.loops.push_back(take_loop(in));
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left) {
    FunctionOff& off = process.functions_off.emplace_back();
    off.name = in.text();
    off.calls = in.number();
    off.mean_ns = take_double(in);
  }
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left)
    process.complaints.push_back(in.text());
  return process;
}

// CLOCK_REALTIME, ns, at the process' first tick.
std::uint64_t start_of_day(const ProcessModel& process) {
  const spool::SpoolFacts& facts = process.spool().journal.facts();
  if (facts.start_epoch_ns == 0) return OTF2_UNDEFINED_TIMESTAMP;
  const double early_ns = (static_cast<double>(facts.start_ticks) -
                           static_cast<double>(process.start_ticks())) *
                          1e9 / process.ticks_per_second();
  return facts.start_epoch_ns - static_cast<std::uint64_t>(std::max(0.0, early_ns));
}

// The last one; a location may have several threads, one after the other.
std::string name_of_thread(const ProcessModel& process, std::uint32_t location) {
  const auto& all = process.journal().user.thread_names;
  const auto found = all.find(location);
  if (found == all.end()) return {};
  const std::vector<std::string>& names = found->second;
  const bool several = std::ranges::any_of(
      names, [&](const std::string& each) { return each != names.front(); });
  return base::clean_line(names.back()) + (several ? " and others" : "");
}

void add_locations(const ProcessModel& process,
                   const std::vector<LocationOutcome>& outcomes, ProcessFacts& out) {
  for (std::size_t i = 0; i < process.locations(); ++i) {
    const LocationOutcome& outcome = outcomes[i];
    const spool::SpoolFacts& facts = process.spool().locations[i].facts();
    const LocationScan& scan = process.scan(i);
    LocationFacts& location = out.locations.emplace_back();
    location.archive_events = outcome.archive_events;
    location.mark_records = outcome.mark_records;
    location.events_written = outcome.events_written;
    location.mpi = outcome.mpi;
    location.events_seen = facts.events_seen;
    location.lost = facts.lost;
    location.threads_begun = scan.threads_begun;
    location.threads_ended = scan.threads_ended;
    location.thread_begin_ticks = scan.thread_begin_ticks;
    location.thread_end_ticks = scan.thread_end_ticks;
    location.kernel_thread = scan.kernel_thread;
    location.plain = facts.role == spool::kRoleRoot && scan.threads_begun == 0 ? 1 : 0;
    location.helper = facts.role == spool::kRoleHelper ? 1 : 0;
    if (facts.thread_function != 0)
      location.function = regions::thread_name(process.resolver().at(facts.thread_function),
                                               facts.thread_function);
    location.name = name_of_thread(process, facts.location);
    out.events_seen += facts.events_seen;
    out.locks_left_out += facts.locks_left_out;
    out.events_filtered += outcome.filtered;
    out.events_unmatched += outcome.unmatched;
    out.moved_ticks = std::max(out.moved_ticks, outcome.moved_ticks);
    for (std::size_t cause = 0; cause < spool::kLossCauses; ++cause)
      out.lost[cause] += facts.lost[cause];
    for (std::size_t kind = 0; kind < kEventKinds; ++kind)
      out.by_kind[kind] += outcome.by_kind[kind];
  }
}

// Of each thread they come in the order of its devices.
void add_streams(const ProcessModel& process, const std::vector<LocationOutcome>& outcomes,
                 ProcessFacts& out) {
  std::vector<std::size_t> next(outcomes.size());
  for (const DeviceStream& stream : process.streams()) {
    const std::vector<std::uint64_t>& events = outcomes[stream.thread].stream_events;
    const std::size_t at = next[stream.thread]++;
    out.streams.push_back(
        {stream.device, stream.thread, stream.number, at < events.size() ? events[at] : 0});
  }
}

}  // namespace

ProcessFacts process_facts(const ProcessModel& process,
                           const std::vector<LocationOutcome>& outcomes,
                           const ClockMap* clock) {
  const auto global = [clock](std::uint64_t ticks) {
    return clock == nullptr ? ticks : clock->to_global(ticks);
  };
  ProcessFacts out;
  out.rank = process.rank();
  out.uses_mpi = process.journal().mpi.known;
  out.blank = process.blank();
  out.host = process.journal().text(spool::kTextHost);
  out.program = process.journal().text(spool::kTextProgram);
  out.ticks_per_second = process.ticks_per_second();
  out.duration_s = static_cast<double>(process.end_ticks() - process.start_ticks()) /
                   process.ticks_per_second();
  out.global_start = global(process.start_ticks());
  // Events at equal times are written ticks apart (event_sink.h), also at the end.
  std::uint64_t end = process.end_ticks();
  for (const LocationOutcome& outcome : outcomes) end = std::max(end, outcome.last_ticks);
  out.global_end = global(end);
  out.realtime_ns = start_of_day(process);
  out.primary = process.primary();
  out.gaps = process.gaps().gaps.size();
  out.loop_limits = process.journal().loop_limits();
  for (const auto& team : process.teams().teams())
    out.teams.emplace_back(team.begin(), team.end());
  const std::vector<std::uint32_t>& contingent = process.context().threads.members();
  out.contingent.assign(contingent.begin(), contingent.end());
  add_locations(process, outcomes, out);
  if (!out.locations.empty()) {
    const spool::NotReceived& not_received = process.journal().mpi.not_received;
    MpiCounts& counts = out.locations.front().mpi;
    counts.receives_freed = not_received.freed;
    counts.receives_failed = not_received.failed;
    counts.receives_open = not_received.open;
  }
  add_streams(process, outcomes, out);
  for (const FileHandle& handle : process.context().files.handles()) {
    const auto file = process.journal().files.files.find(handle.slot);
    const bool known = handle.slot != 0 && file != process.journal().files.files.end();
    out.handles.push_back({known ? file->second.path : std::string(), handle.descriptor,
                           handle.stream ? 1U : 0U, handle.pre_created ? 1U : 0U});
  }
  // The journal has the losses of threads without a location.
  const spool::SpoolFile& journal = process.spool().journal;
  if (!journal.usable()) return out;
  out.events_seen += journal.facts().events_seen;
  out.threads_unrecorded = journal.facts().threads_unrecorded;
  for (std::size_t cause = 0; cause < spool::kLossCauses; ++cause)
    out.lost[cause] += journal.facts().lost[cause];
  return out;
}

void add_up(JobFacts& job, WriteResult& result,
            std::array<std::uint64_t, kEventKinds>& by_kind) {
  result.processes = job.processes.size();
  result.structure = job.processes.front().structure;
  result.mpi.iterations_given_up = job.iterations_given_up;
  result.mpi.iterations_alone = job.iterations_alone;
  for (ProcessFacts& process : job.processes) {
    result.locations += process.locations.size();
    result.gaps += process.gaps;
    result.spool_bytes += process.spool_bytes;
    result.duration_s = std::max(result.duration_s, process.duration_s);
    result.events_seen += process.events_seen;
    result.locks_left_out += process.locks_left_out;
    result.threads_missing += process.threads_missing;
    result.threads_unrecorded += process.threads_unrecorded;
    result.records_damaged += process.records_damaged;
    result.events_filtered += process.events_filtered;
    result.events_unmatched += process.events_unmatched;
    result.moved_ticks = std::max(result.moved_ticks, process.moved_ticks);
    result.loop_limits.functions += process.loop_limits.functions;
    result.loop_limits.events += process.loop_limits.events;
    result.loop_limits.paths += process.loop_limits.paths;
    result.loop_limits.turns += process.loop_limits.turns;
    for (const LocationFacts& location : process.locations) {
      result.events_written += location.events_written;
      result.archive_events += location.archive_events;
      result.mark_records += location.mark_records;
      result.mpi.counts.add(location.mpi);
    }
    for (const StreamFacts& stream : process.streams)
      result.archive_events += stream.events;
    for (std::size_t cause = 0; cause < spool::kLossCauses; ++cause)
      result.lost[cause] += process.lost[cause];
    for (std::size_t kind = 0; kind < kEventKinds; ++kind)
      by_kind[kind] += process.by_kind[kind];
    std::move(process.loops.begin(), process.loops.end(), std::back_inserter(result.loops));
    std::move(process.functions_off.begin(), process.functions_off.end(),
              std::back_inserter(result.functions_off));
    std::move(process.complaints.begin(), process.complaints.end(),
              std::back_inserter(result.complaints));
  }
}

JobFacts merge(JobFacts a, const JobFacts& b) {
  a.processes.insert(a.processes.end(), b.processes.begin(), b.processes.end());
  a.iterations_given_up += b.iterations_given_up;
  a.iterations_alone += b.iterations_alone;
  a.flow = summary::merge(std::move(a.flow), b.flow);
  return a;
}

void put(exchange::ByteWriter& out, const JobFacts& job) {
  out.number(job.iterations_given_up);
  out.number(job.iterations_alone);
  out.number(job.processes.size());
  for (const ProcessFacts& process : job.processes) put_process(out, process);
  put(out, job.flow);
}

void take(exchange::ByteReader& in, JobFacts& job) {
  job.iterations_given_up = in.number();
  job.iterations_alone = in.number();
  for (std::size_t left = in.count(); left != 0 && in.ok(); --left)
    job.processes.push_back(take_process(in));
  take(in, job.flow);
}

}  // namespace refrain::writer
