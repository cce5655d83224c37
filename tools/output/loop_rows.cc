#include "tools/output/loop_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "analysis/rank_phases.h"
#include "base/quantity_text.h"
#include "tools/output/info_screen.h"

namespace refrain::tools {
namespace {

using analysis::ArchiveInfo;
using analysis::PhaseInfo;

constexpr double kLeastShare = 0.01;

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
                                 options_.bodies ? ""
                                                 : "; what iterations consist of with "
                                                   "--bodies"));
    disagreements();
    return std::move(out_);
  }

 private:
  void add_shown(std::int64_t parent) {
    for (const std::uint32_t id : children_[parent]) {
      const bool small = rows_.at(id).total_ns < kLeastShare * time_ns_;
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
          fitted(fmt::format("{}{}: {:.6g} an iteration, {:.4g} a second", indent,
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

}  // namespace

std::vector<std::string> loop_table(const ArchiveInfo& info, const TableOptions& options) {
  return Table(info, options).lines();
}

}  // namespace refrain::tools
