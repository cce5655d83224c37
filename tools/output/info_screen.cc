#include "tools/output/info_screen.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "analysis/archive_info.h"
#include "base/file_use.h"
#include "base/memory_use.h"
#include "base/texts.h"
#include "base/thread_use.h"
#include "reader/trace.h"
#include "writer/summary.h"

namespace refrain::tools {
namespace {

using analysis::ArchiveInfo;
using analysis::PhaseInfo;

// The nest of an archive's loops as a table: an indented tree, a row each.
//
// Pure.

struct TableOptions {
  std::size_t width = 100;
  std::size_t rows = 20;  // at most, unless `all`
  bool all = false;  // also of less than a hundredth of the time; every rank that differs
  bool bodies = false;
};

std::vector<std::string> loop_table(const analysis::ArchiveInfo& info,
                                    const TableOptions& options);

constexpr double kMinShare = 0.01;

struct Range {
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;
  void add(std::uint64_t value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  std::string text() const {
    return least == most ? std::to_string(most) : fmt::format("{}-{}", least, most);
  }
};

// A loop on all of its ranks.
struct Row {
  PhaseInfo first;
  double total_ns = 0;
  double iterations_of_all = 0;
  double max_ns = 0;
  Range iterations, written, partly, visits, period;
  std::vector<std::uint32_t> ranks;
  std::vector<const PhaseInfo*> each;
  bool agrees() const {
    return iterations.least == iterations.most && written.least == written.most &&
           visits.least == visits.most;
  }
};
using Rows = std::map<std::uint32_t, Row>;  // by the loop's number

Rows rows_of(const ArchiveInfo& info) {
  Rows rows;
  for (const PhaseInfo& phase : info.phases) {
    Row& row = rows[phase.id];
    if (row.each.empty()) row.first = phase;
    row.each.push_back(&phase);
    row.total_ns += phase.total_ns;
    row.iterations_of_all += static_cast<double>(phase.iterations);
    row.max_ns = std::max(row.max_ns, phase.max_ns);
    row.iterations.add(phase.iterations);
    row.written.add(phase.written);
    row.partly.add(phase.partly);
    row.visits.add(phase.visits);
    row.period.add(phase.body_events);
    row.ranks.push_back(phase.process);
  }
  return rows;
}

std::string base_name(const std::string& file) {
  return std::filesystem::path(file).filename();
}

std::string place_text(const PhaseInfo& phase) {
  if (phase.named) return phase.name;
  std::string text = phase.function;
  if (!phase.file.empty() && phase.line != 0) {
    text +=
        (text.empty() ? "" : " ") + base_name(phase.file) + fmt::format(":{}", phase.line);
    if (phase.last_line > phase.line) text += fmt::format("-{}", phase.last_line);
  }
  return text.empty() ? "?" : text;
}

// "parallel @cg.c:43": without the `!$omp`, which is for programs that read archives.
std::string plain_region(std::string region) {
  constexpr std::string_view kPrefix = "!$omp ";
  if (region.starts_with(kPrefix)) region.erase(0, kPrefix.size());
  return region;
}

class Table {
 public:
  Table(const ArchiveInfo& info, const TableOptions& options)
      : info_(info),
        options_(options),
        rows_(rows_of(info)),
        time_ns_(info.duration_s * 1e9 *
                 static_cast<double>(std::max<std::uint64_t>(1, info.processes))) {
    for (const auto& [id, row] : rows_) {
      const bool inner = row.first.parent >= 0 &&
                         rows_.contains(static_cast<std::uint32_t>(row.first.parent)) &&
                         row.first.parent < std::int64_t{id};
      children_[inner ? row.first.parent : -1].push_back(id);
    }
    auto& outermost = children_[-1];
    std::stable_sort(outermost.begin(), outermost.end(), [this](auto a, auto b) {
      return rows_.at(a).total_ns > rows_.at(b).total_ns;
    });
  }

  std::vector<std::string> lines() {
    wide_ = options_.width >= 110;
    add_shown(-1);
    if (order_.empty() && !children_[-1].empty()) order_.push_back(children_[-1].front());
    head();
    for (const std::uint32_t id : order_) put(rows_.at(id));
    if (order_.size() < rows_.size())
      out_.push_back(fmt::format("{} more with --all{}", rows_.size() - order_.size(),
                                 options_.bodies ? "" : "; loop bodies with --bodies"));
    disagreements();
    return std::move(out_);
  }

 private:
  void add_shown(std::int64_t parent) {
    for (const std::uint32_t id : children_[parent]) {
      const bool small = rows_.at(id).total_ns < kMinShare * time_ns_;
      if (!options_.all && (small || order_.size() >= options_.rows)) continue;
      order_.push_back(id);
      add_shown(id);
    }
  }

  std::size_t name_width() const { return options_.width - (wide_ ? 63 : 44); }

  void head() {
    std::string line = fmt::format("{:<{}} {:>6}", "Loop", name_width(), "Time");
    if (wide_) line += fmt::format(" {:>8}", "Visits");
    line += fmt::format(" {:>11} {:>12}", "Iterations", "Written");
    if (wide_) line += fmt::format(" {:>9}", "Partial");
    line += fmt::format(" {:>10}", "Mean");
    out_.push_back(line);
  }

  void put(const Row& row) {
    const PhaseInfo& phase = row.first;
    std::string name(2 * std::size_t{phase.level}, ' ');
    const std::string number = std::to_string(phase.id) + " ";
    std::string place = place_text(phase);
    const std::size_t room = name_width() - std::min(name_width() / 2, name.size());
    const std::string region = plain_region(phase.region);
    name += number;
    const std::size_t left = room > number.size() ? room - number.size() : 8;
    if (place.size() + 2 + region.size() <= left && !phase.named && !region.empty())
      place += ", " + region;
    name += fitted(place, left);
    std::string line = fmt::format("{:<{}} {:>5.1f}%", fitted(name, name_width()),
                                   name_width(), 100 * row.total_ns / time_ns_);
    const double mean =
        row.iterations_of_all == 0 ? 0 : row.total_ns / row.iterations_of_all;
    if (wide_) line += fmt::format(" {:>8}", row.visits.text());
    std::string written = row.written.text();
    if (!wide_ && row.partly.most != 0) written += "+" + row.partly.text();
    line += fmt::format(" {:>11} {:>12}", row.iterations.text(), written);
    if (wide_) line += fmt::format(" {:>9}", row.partly.text());
    line += fmt::format(" {:>10}", base::duration_text(mean));
    out_.push_back(fitted(line, options_.width));
    details(row);
  }

  void details(const Row& row) {
    const PhaseInfo& phase = row.first;
    const std::string indent(2 * std::size_t{phase.level} + 4, ' ');
    for (const analysis::CounterInfo& counter : phase.counters)
      out_.push_back(
          fitted(fmt::format("{}{}: {:.6g} per iteration, {:.4g} per second", indent,
                             counter.name, counter.per_iteration(), counter.per_second()),
                 options_.width));
    if (options_.all && !row.agrees()) ranks(row, indent);
    if (options_.bodies) body(phase, indent, row.period.text());
  }

  void ranks(const Row& row, const std::string& indent) {
    ArchiveInfo of_loop;
    for (const PhaseInfo* each : row.each) of_loop.phases.push_back(*each);
    for (const analysis::RankPhase& alike : analysis::rank_phases(of_loop))
      out_.push_back(fitted(
          fmt::format("{}ranks {}: {} iterations in {} visits, {} written, {} partial",
                      indent, analysis::ranks_text(alike.ranks, info_.processes),
                      alike.phase.iterations, alike.phase.visits, alike.phase.written,
                      alike.phase.partly),
          options_.width));
  }

  // The events of an iteration, as many lines as they need.
  void body(const PhaseInfo& phase, const std::string& indent, const std::string& period) {
    std::string line = indent + period + " events: ";
    const std::size_t room = options_.width - indent.size();
    std::size_t times = 0;
    for (std::size_t i = 0; i < phase.body.size(); ++i) {
      ++times;
      if (i + 1 < phase.body.size() && phase.body[i + 1] == phase.body[i]) continue;
      std::string word = fitted(plain_region(phase.body[i]), room - 8);
      if (times > 1) word = fmt::format("{} x {}", times, word);
      times = 0;
      word += i + 1 < phase.body.size() ? "; " : "";
      if (line.size() + word.size() > options_.width + 1) {  // its last blank goes
        line.erase(line.find_last_not_of(' ') + 1);
        out_.push_back(std::move(line));
        line = indent;
      }
      line += word;
    }
    if (phase.body.size() < phase.body_events) line += "...";
    out_.push_back(std::move(line));
  }

  void disagreements() {
    if (info_.processes < 2 || !info_.mpi.used) return;
    std::size_t differ = 0;
    for (const auto& [id, row] : rows_)
      differ += !row.agrees() || row.ranks.size() != info_.processes;
    out_.push_back(differ == 0
                       ? "All ranks agree on all loops."
                       : fmt::format("Ranks differ in {} of {} loops{}.", differ,
                                     rows_.size(), options_.all ? "" : ": see --all"));
  }

  const ArchiveInfo& info_;
  const TableOptions& options_;
  Rows rows_;
  double time_ns_;
  bool wide_ = false;
  std::map<std::int64_t, std::vector<std::uint32_t>> children_;
  std::vector<std::uint32_t> order_;
  std::vector<std::string> out_;
};

std::vector<std::string> loop_table(const ArchiveInfo& info, const TableOptions& options) {
  return Table(info, options).lines();
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 100.0
                    : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string property(const ArchiveInfo& info, const std::string& name) {
  const auto found = info.properties.find("REFRAIN::" + name);
  return found == info.properties.end() ? "" : found->second;
}

class InfoScreen {
 public:
  InfoScreen(const ArchiveInfo& info, const std::string& archive,
             const ScreenOptions& options)
      : info_(info), archive_(archive), options_(options) {}

  std::vector<std::string> lines() {
    run();
    totals();
    written();
    missing();
    messages();
    reservations();
    loops();
    return std::move(out_);
  }

 private:
  // Wrapped at blanks; further lines begin under the text.
  void put(const char* label, const std::string& text) {
    std::string line = fmt::format("{:<{}}", label, kLabel);
    std::istringstream words(text);
    bool first = true;
    for (std::string word; words >> word; first = false) {
      const std::size_t room = options_.width - kLabel;
      if (word.size() > room) word = fitted(word, room);
      if (!first && line.size() + 1 + word.size() > options_.width) {
        out_.push_back(std::move(line));
        line.assign(kLabel, ' ');
        first = true;
      }
      line += (first ? "" : " ") + word;
    }
    out_.push_back(std::move(line));
  }

  void run() {
    out_.push_back(fmt::format("{:<{}}{}", "Program", kLabel,
                               fitted(info_.command, options_.width - kLabel)));
    std::string text =
        info_.mpi.used ? counted(info_.processes, "rank", "ranks") + ", " : std::string();
    if (!info_.mpi.used && info_.processes > 1)
      text = counted(info_.processes, "process", "processes") + ", ";
    const std::size_t helpers = info_.locations.size() - info_.threads();
    text +=
        counted(info_.threads(), "thread", "threads") +
        (helpers == 0 ? std::string()
                      : " and " + counted(helpers, "helper thread", "helper threads") +
                            " of OpenMP's runtime") +
        (info_.processes > 1 && info_.threads() > info_.processes ? " in all, " : ", ") +
        base::duration_text(info_.duration_s * 1e9) + " on " + info_.machine;
    if (info_.start_epoch_ns != 0)
      text += fmt::format(
          ", {:%Y-%m-%d %H:%M:%S}",
          fmt::localtime(static_cast<std::time_t>(info_.start_epoch_ns / 1'000'000'000)));
    put("Run", text);
    if (const std::string note = reader::openmp_note(info_.properties); !note.empty())
      put("OpenMP", note);
    put("Archive", archive_ + ", " + base::bytes_text(info_.archive_bytes) +
                       ", by Refrain " + info_.version +
                       (!info_.recovered               ? ""
                        : info_.recovered_after_kill() ? ", recovered after a kill"
                                                       : ", recovered after exit()"));
  }

  // Of the whole run, counted.
  void totals() {
    if (!info_.totals) return;
    const std::string text = totals_text(*info_.totals);
    if (!text.empty()) put("Whole run", text);
    memory(info_.totals->processes);
    cores(info_.totals->processes);
    files(info_.totals->files);
    allocations(info_.totals->allocations);
  }

  // How much was allocated, who had most of it when most was in use, and what was left.
  void allocations(const analysis::RunTotals::Allocations& from) {
    if (from.processes == 0) return;
    const base::MemoryCalls& sums = from.sums;
    std::string text = fmt::format(
        "{}, {}; high-water mark {}{}{}", counted(sums.allocations(), "block", "blocks"),
        base::bytes_text(sums.bytes()), base::bytes_text(sums.high_water_bytes),
        info_.processes < 2 ? std::string() : " (" + from.most + ")",
        from.most_s < 0 ? std::string()
                        : " after " + base::duration_text(from.most_s * 1e9, 3));
    text += holders_text(": ", from.holders, sums.high_water_bytes);
    if (sums.current_bytes != 0)
      text += fmt::format("; {} not freed", base::bytes_text(sums.current_bytes)) +
              holders_text(": ", from.left, sums.current_bytes);
    if (sums.failed != 0)
      text += fmt::format("; {} gave no memory", counted(sums.failed, "call", "calls"));
    put("Allocations", text);
  }

  // The three that have most, those with a twentieth at least.
  static std::string holders_text(const char* begin,
                                  const std::vector<base::MemoryHolder>& holders,
                                  std::uint64_t all) {
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, holders.size()); ++i)
      if (holders[i].bytes >= all / 20)
        text +=
            (text.empty() ? begin : ", ") +
            percent_text(static_cast<double>(holders[i].bytes), static_cast<double>(all)) +
            " " + holders[i].text;
    return text;
  }

  // What was done with files, and which took the most time.
  void files(const std::vector<analysis::RunTotals::File>& files) {
    if (files.empty()) return;
    base::FileUse all;
    for (const analysis::RunTotals::File& file : files) all.add(file.use);
    std::string text = counted(files.size(), "file", "files");
    const auto add = [&](std::uint64_t bytes, const char* done, std::uint64_t calls,
                         std::uint64_t ns, const char* one, const char* more) {
      if (calls != 0)
        text += fmt::format(", {} {} in {} ({})", base::bytes_text(bytes), done,
                            counted(calls, one, more),
                            base::duration_text(static_cast<double>(ns), 3));
    };
    add(all.written_bytes, "written", all.writes, all.write_ns, "write", "writes");
    add(all.read_bytes, "read", all.reads, all.read_ns, "read", "reads");
    if (all.syncs != 0)
      text += fmt::format(", {} ({})", counted(all.syncs, "sync", "syncs"),
                          base::duration_text(static_cast<double>(all.sync_ns), 3));
    text += fmt::format(
        ", {} ({} with closes)", counted(all.opens, "open", "opens"),
        base::duration_text(static_cast<double>(all.open_ns + all.close_ns), 3));
    const analysis::RunTotals::File& most = files.front();
    if (most.use.ns() != 0)
      text += fmt::format(
          "; most time: {}, {}{}", most.path.empty() ? "other files" : base_name(most.path),
          base::duration_text(static_cast<double>(most.use.ns()), 3),
          info_.processes < 2 ? std::string()
          : most.processes == 1
              ? " of " + most.most
              : fmt::format(" of {} processes, {} of {}", most.processes,
                            base::duration_text(static_cast<double>(most.most_ns), 3),
                            most.most));
    put("Files", text);
  }

  // Resident sets, at their largest.
  void memory(const std::vector<analysis::RunTotals::Process>& processes) {
    using Process = analysis::RunTotals::Process;
    const auto [least, most] = std::minmax_element(
        processes.begin(), processes.end(), [](const Process& a, const Process& b) {
          return a.peak_memory_bytes < b.peak_memory_bytes;
        });
    if (most == processes.end() || most->peak_memory_bytes == 0) return;
    std::string text = "peak " + base::bytes_text(most->peak_memory_bytes);
    if (processes.size() > 1)
      text += " (" + most->name + ")" +
              (least->peak_memory_bytes == 0
                   ? std::string()
                   : ", minimum " + base::bytes_text(least->peak_memory_bytes) + " (" +
                         least->name + ")");
    put("Memory", text + ", including Refrain");
  }

  // What the threads used of the machine.
  void cores(const std::vector<analysis::RunTotals::Process>& processes) {
    std::size_t threads = 0;
    double threads_ns = 0;
    base::ThreadUse use;
    std::set<base::CoreSet> sets;
    for (const analysis::RunTotals::Process& process : processes) {
      if (process.threads == 0) continue;
      threads += process.threads;
      threads_ns += process.threads_ns;
      use.add(process.use);
      sets.insert(process.use.cores);
    }
    if (threads == 0) return;
    std::string text = counted(threads, "thread", "threads");
    if (!use.cores.empty())
      text += (use.cores.size() == 1 ? " on core " : " on cores ") + use.cores.text();
    if (sets.size() > 1) text += " (each process on some of them)";
    const auto add = [&](double ns, const char* what) {
      text += ", " + base::duration_text(ns, 3) + what;
    };
    add(static_cast<double>(use.core_wait_ns), " without a core");
    add(static_cast<double>(use.kernel_ns), " in the kernel");
    text += ", " + counted(use.page_faults, "page fault", "page faults");
    if (use.disk_faults != 0) text += fmt::format(" ({} from disk)", use.disk_faults);
    if (use.migrations != 0)
      text += ", " + counted(use.migrations, "migration", "migrations");
    put("Cores", text);
    tracing(static_cast<double>(use.tracing_ns), threads_ns);
  }

  // What Refrain itself took of them.
  void tracing(double ns, double all) {
    if (ns > 0 && all > 0)
      put("Tracing",
          fmt::format("took about {}, {} of the time of all threads",
                      base::duration_text(ns, 2),
                      ns >= 0.1 * all ? fmt::format("{:.0f} %", 100 * ns / all)
                                      : fmt::format("{:.2g} %", 100 * ns / all)));
  }

  bool summary_only() const { return property(info_, "SETTING::SUMMARY_ONLY") == "yes"; }

  void written() {
    if (summary_only())
      return put("Written", fmt::format("the summary of {} (--summary-only), no events",
                                        counted(info_.events_seen, "event", "events")));
    std::string text = fmt::format("{} of {}", info_.events_written,
                                   counted(info_.events_seen, "event", "events"));
    if (info_.events_seen != 0 && info_.threads_unrecorded == 0)
      text += fmt::format(" ({:.3g} %)", percent(info_.events_written, info_.events_seen));
    std::uint64_t iterations = 0;
    for (const analysis::PhaseInfo& phase : info_.phases) iterations += phase.iterations;
    const std::uint64_t whole = writer::full_bytes({.bytes = info_.archive_bytes,
                                                    .event_bytes = info_.event_bytes,
                                                    .records = info_.archive_events,
                                                    .mark_records = info_.mark_records,
                                                    .iterations = iterations,
                                                    .seen = info_.events_seen,
                                                    .written = info_.events_written});
    if (info_.events_written < info_.events_seen &&
        !property(info_, "MARK_RECORDS").empty())  // older archives do not say
      text += "; full trace: ~" + base::bytes_text(whole);
    put("Written", text);
    if (const std::string ranks = property(info_, "RANKS::WHY"); !ranks.empty())
      put("Ranks", ranks);
    put("Why", why());
    const std::string reason = property(info_, "LIMIT_REASON");
    if (!reason.empty()) put("", reason);
    if (info_.locks_left_out != 0)
      put("Locks",
          fmt::format("{} in a row left out, of at most 5 us each; totals have them",
                      counted(info_.locks_left_out, "short one", "short ones")));
    if (info_.events_filtered != 0)
      put("Filtered",
          counted(info_.events_filtered, "enter or leave", "enters and leaves"));
  }

  // What kept events from being written besides loops; empty: nothing.
  std::string bounds() const {
    std::string text;
    const auto add = [&text](const std::string& part) {
      text += (text.empty() ? "" : "; ") + part;
    };
    const std::string from = property(info_, "SETTING::FROM");
    const std::string until = property(info_, "SETTING::UNTIL");
    const auto is_set = [](const std::string& value) {
      return std::strtod(value.c_str(), nullptr) > 0;
    };
    if (is_set(from) || is_set(until))
      add("only" + (is_set(from) ? " from " + from + " s on" : std::string()) +
          (is_set(until) ? " until " + until + " s" : std::string()) +
          " of the run (--from, --until)");
    for (const auto& [cause, count] : info_.lost)
      if (count != 0 && (cause == "disk_limit" || cause == "disk_full"))
        add(std::string("nothing after ") +
            (cause == "disk_full" ? "the disk was full"
                                  : "the disk limit was reached (--disk-limit)"));
    if (info_.threads_unrecorded != 0)
      add(std::string("nothing of ") +
          counted(info_.threads_unrecorded, "thread", "threads") +
          ", for want of memory or disk space");
    return text;
  }

  std::string why() const {
    const std::string bounded = bounds();
    if (!bounded.empty())
      return (info_.phases.empty() ? std::string("no loop detected; ")
              : property(info_, "SETTING::LIMIT") == "0"
                  ? std::string("no limit (-n 0); ")
                  : "the first " + property(info_, "SETTING::LIMIT") +
                        " iterations of each loop; ") +
             bounded;
    const std::string written = property(info_, "RANKS::WRITTEN");
    const char* of = written.empty() || written == "all" ? "" : " of these ranks";
    if (info_.phases.empty())
      return std::string("no loop detected, so everything is written") + of +
             writer::exceptions_text(info_.mpi.polls_together, info_.locks_left_out);
    const std::string limit = property(info_, "SETTING::LIMIT");
    if (limit == "0") return std::string("no limit (-n 0): everything is written") + of;
    const bool all = info_.events_written >= info_.events_seen;
    std::string text = (all ? "nothing was skipped: after " : "") +
                       std::string("the first ") +
                       (limit.empty() ? std::string("iterations") : limit + " iterations");
    text += " of each loop";
    const std::string nested = property(info_, "SETTING::NESTED");
    if (!nested.empty()) text += " (nested=" + nested + ")";
    const bool few =
        std::ranges::none_of(info_.phases, [&](const analysis::PhaseInfo& loop) {
          return loop.iterations > std::strtoull(limit.c_str(), nullptr, 10);
        });
    if (all && few && !limit.empty())
      return "nothing was skipped: no loop has more iterations than the limit of " + limit;
    if (all) {
      const std::string shortest = property(info_, "SETTING::MIN_GAP");
      return text + ", no gap would have been " +
             (shortest.empty() ? "long enough" : "as long as " + shortest + " s") +
             " (--min-gap)";
    }
    text += ", breaks of the pattern, slow iterations; suspended in " +
            counted(info_.gaps, "gap", "gaps");
    return text;
  }

  void missing() {
    std::string text;
    for (const auto& [cause, count] : info_.lost)
      if (count != 0)
        text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", count, cause);
    const auto add = [&text](std::uint64_t count, const char* one, const char* many) {
      if (count != 0) text += (text.empty() ? "" : ", ") + counted(count, one, many);
    };
    add(info_.threads_missing, "thread (no spool)", "threads (no spools)");
    add(info_.threads_unrecorded, "thread that was not recorded at all",
        "threads that were not recorded at all");
    add(info_.records_damaged, "damaged record", "damaged records");
    add(info_.events_unreadable, "event that cannot be read", "events that cannot be read");
    put("Lost", text.empty() ? "nothing" : text);
  }

  void messages() {
    const analysis::MpiInfo& mpi = info_.mpi;
    if (!mpi.used || summary_only()) return;
    const std::uint64_t dropped = mpi.sends_dropped + mpi.receives_dropped;
    if (info_.processes == 1 && mpi.messages + dropped == 0 && !options_.all) return;
    const double sent = info_.totals ? info_.totals->traffic.messages_sent : 0;
    std::string all;  // where not all were written
    if (info_.totals && info_.totals->complete() &&
        sent > static_cast<double>(mpi.messages))
      all = fmt::format(" of {:.0f}", sent);
    std::string text = fmt::format("{}{} written, {}; {} dropped", mpi.messages, all,
                                   base::bytes_text(mpi.bytes), dropped);
    if (dropped != 0)
      text += fmt::format(" because only one end was written ({}, {})",
                          counted(mpi.sends_dropped, "send", "sends"),
                          counted(mpi.receives_dropped, "receive", "receives"));
    put("Messages", text);
    if (mpi.collectives_dropped != 0 || options_.all)
      put("Collectives",
          fmt::format("{} ends of collectives written, {} dropped; {} one-sided operations",
                      mpi.collectives, mpi.collectives_dropped, mpi.one_sided));
    if (mpi.polls_together != 0)
      put("Polls",
          fmt::format("{} coalesced with the polls before them", mpi.polls_together));
    if (info_.processes > 1 && (mpi.iterations_given_up != 0 || mpi.iterations_alone != 0))
      put("Dropped",
          fmt::format("{} not recorded on every rank; {} written by one rank only",
                      counted(mpi.iterations_given_up, "iteration", "iterations"),
                      mpi.iterations_alone));
    if (mpi.clock_violations != 0 || mpi.clock_repaired != 0 || options_.all)
      put("Clocks", fmt::format("{} of {} messages received before they were sent{}",
                                mpi.clock_violations, mpi.clock_checked,
                                mpi.clock_repaired == 0
                                    ? ""
                                    : fmt::format("; {} more before clocks were corrected",
                                                  mpi.clock_repaired)));
  }

  // Other ways in which this archive is unusual.
  void reservations() {
    if (const std::string taken = property(info_, "MPI_TAKEN"); !taken.empty())
      put("Not traced", "messages, collectives and calls that were not recorded: " + taken);
    if (std::string names = property(info_, "SHORTENED"); !names.empty()) {
      // Of loops it is first of all what --bodies shows.
      const std::string loops = "REFRAIN::LOOPS";
      if (const std::size_t at = names.find(loops); at != std::string::npos)
        names.replace(at, loops.size(),
                      "bodies of loops (--bodies), and loops that took the least time");
      put("Shortened", names + ": longer than an archive allows");
    }
    if (const std::string limits = property(info_, "LOOP_LIMITS"); !limits.empty())
      put("No loops", "were looked for in " + limits);
    if (const std::string turns = property(info_, "LOOP_TURNS"); !turns.empty())
      put("Loops",
          "are those of one thread at a time, and several had some at once: when it ended another one "
          "went on in its place (" +
              turns + (turns == "1" ? " time" : " times") +
              "). Numbers of iterations differ from run to run; regions and their times are of all "
              "threads");
    list("Warning", property(info_, "COMPLAINTS"));
    std::string off;
    std::istringstream functions(property(info_, "FUNCTIONS_OFF"));
    for (std::string line; std::getline(functions, line);) {
      std::istringstream words(line);
      std::uint64_t calls = 0;
      double mean_ns = 0;
      std::string name;
      words >> calls >> mean_ns >> std::ws;
      std::getline(words, name);
      off += fmt::format("{} after {} calls of {}\n", name, calls,
                         base::duration_text(mean_ns));
    }
    list("Switched off", off);
  }

  void list(const char* label, const std::string& lines) {
    constexpr std::size_t kFew = 3;
    std::istringstream in(lines);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    const std::size_t shown = options_.all ? all.size() : std::min(kFew, all.size());
    for (std::size_t i = 0; i < shown; ++i) put(i == 0 ? label : "", all[i]);
    if (shown < all.size()) put("", fmt::format("{} more with --all", all.size() - shown));
  }

  void loops() {
    if (info_.phases.empty()) return;
    out_.emplace_back();
    const std::size_t used = out_.size() + 2;
    const std::size_t room = options_.all || options_.bodies ? info_.phases.size()
                             : options_.height > used + 4    ? options_.height - used
                                                             : 4;
    for (std::string& line :
         loop_table(info_, {options_.width, room, options_.all, options_.bodies}))
      out_.push_back(std::move(line));
  }

  const ArchiveInfo& info_;
  const std::string& archive_;
  const ScreenOptions& options_;
  std::vector<std::string> out_;
};

bool inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

}  // namespace

std::string counted(std::uint64_t number, const char* one, const char* more) {
  return fmt::format("{} {}", number, number == 1 ? one : more);
}

namespace {

// "read_mesh mesh.c:120 < setup main.c:30 < main main.c:12": from the innermost function of the program outwards.
std::string path_text(const analysis::RunTotals::AllocatingPath& path) {
  std::string text;
  for (std::size_t i = path.at; i < path.frames.size(); ++i)
    text += (i == path.at ? "" : " < ") + base::place_text(path.frames[i]);
  return text;
}

// The innermost functions say most.
std::string begin_of(std::string text, std::size_t width) {
  if (text.size() <= width) return text;
  text.resize(width - 3);
  // Not within a character.
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0)
    text.pop_back();
  return text + "...";
}

}  // namespace

std::vector<std::string> allocation_lines(const analysis::RunTotals::Allocations& from,
                                          std::size_t width) {
  constexpr std::size_t kPaths = 10;
  using Row = std::pair<std::string, base::MemoryUse>;
  // Calls in one line are one row.
  std::map<std::string, base::MemoryUse> uses;
  for (const analysis::RunTotals::AllocatingPath& path : from.paths)
    uses[path_text(path)].add(path.use);
  uses["blocks of less than " + base::bytes_text(from.sums.from_bytes)].add(
      from.sums.small);
  uses["other call paths"].add(from.sums.rest);
  std::vector<std::string> lines;
  const auto section = [&](const char* title, std::uint64_t base::MemoryUse::*value) {
    std::vector<Row> rows(uses.begin(), uses.end());
    std::erase_if(rows, [&](const Row& row) { return row.second.*value == 0; });
    if (rows.empty()) return;
    std::ranges::stable_sort(rows, std::greater(),
                             [&](const Row& row) { return row.second.*value; });
    rows.resize(std::min(rows.size(), kPaths));
    if (!lines.empty()) lines.emplace_back();
    lines.emplace_back(title);
    lines.push_back(fmt::format("{:>10} {:>10} {:>10} {:>10}  {}", "at mark", "at end",
                                "blocks", "in all", "allocated in"));
    for (const auto& [text, use] : rows)
      lines.push_back(fmt::format(
          "{:>10} {:>10} {:>10} {:>10}  {}", base::bytes_text(use.high_water_bytes),
          base::bytes_text(use.current_bytes), use.calls, base::bytes_text(use.bytes),
          begin_of(text, std::max<std::size_t>(width, 84) - 46)));
  };
  section("Most at the high-water mark of each process",
          &base::MemoryUse::high_water_bytes);
  section("Most that is not freed at the end", &base::MemoryUse::current_bytes);
  section("Most blocks", &base::MemoryUse::calls);
  return lines;
}

std::string percent_text(double part, double whole) {
  return fmt::format("{:.1f} %", whole > 0 ? 100 * part / whole : 0.0);
}

std::string fitted(const std::string& text, std::size_t width) {
  constexpr std::size_t kDots = 3;
  if (text.size() <= width) return text;
  if (width <= kDots) return std::string(width, '.');
  std::size_t head = (width - kDots) * 3 / 5;
  std::size_t tail = text.size() - (width - kDots - head);
  while (head > 0 && inside_character(text[head])) --head;
  while (tail < text.size() && inside_character(text[tail])) ++tail;
  return text.substr(0, head) + "..." + text.substr(tail);
}

std::string totals_text(const analysis::RunTotals& totals) {
  if (totals.summaries == 0) return {};
  std::string text = fmt::format("{:.0f} calls of {}", totals.calls,
                                 counted(totals.regions.size(), "region", "regions"));
  if (totals.traffic.messages_sent > 0) {
    constexpr double kMax = 9e18;
    text += fmt::format(", {:.0f} messages of {}", totals.traffic.messages_sent,
                        base::bytes_text(static_cast<std::uint64_t>(
                            std::min(kMax, totals.traffic.bytes_sent))));
  }
  if (totals.traffic.collectives.value_or(0) > 0)
    text += fmt::format(", {:.0f} calls of collectives", *totals.traffic.collectives);
  text += " (exact)";
  if (!totals.complete())
    text +=
        fmt::format(" (of {} of {} processes)", totals.summaries, totals.processes.size());
  if (totals.calls_without_region > 0)
    text += fmt::format("; {:.0f} calls of unknown regions", totals.calls_without_region);
  return text;
}

std::vector<std::string> info_screen(const ArchiveInfo& info, const std::string& archive,
                                     const ScreenOptions& options) {
  return InfoScreen(info, archive, options).lines();
}

}  // namespace refrain::tools
