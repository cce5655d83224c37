#include "analysis/report/row_blocks.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace refrain::report {
namespace {

using analysis::IterationProfile;
using analysis::kTimeClasses;
using Row = IterationProfile::Row;
using json = nlohmann::ordered_json;

// Iterations `begin` to `end` of a loop, counted over its visits, took from begin_ns to end_ns.
struct Part {
  double begin = 0, end = 0;
  double begin_ns = 0, end_ns = 0;
};

std::vector<Part> parts_of(const IterationProfile::Location& location, std::uint32_t loop) {
  std::vector<Part> parts;
  for (const Row& row : location.rows)
    if (row.loop == loop && row.count != 0)
      parts.push_back({static_cast<double>(row.first),
                       static_cast<double>(row.first + row.count), row.begin_ns,
                       row.end_ns});
  return parts;
}

// Where a row lies in the iterations of its process: those of the primary thread that ran meanwhile.
struct Interval {
  double begin = 0, end = 0;
};

class Painter {
 public:
  Painter(const IterationProfile& profile, std::uint32_t loop, const RowLimits& limits)
      : profile_(profile), loop_(loop), limits_(limits) {}

  RowPicture paint() {
    for (std::uint32_t i = 0; i < profile_.locations.size(); ++i) {
      const auto& location = profile_.locations[i];
      if (std::ranges::any_of(location.rows,
                              [&](const Row& row) { return row.loop == loop_; }))
        out_.locations.push_back(i);
    }
    if (out_.locations.empty()) return std::move(out_);
    choose_classes();
    find_primaries();
    choose_columns();
    choose_lines();
    if (out_.columns.empty()) return std::move(out_);
    values_.assign(kinds() * out_.lines.size() * out_.columns.size(), 0);
    for (std::size_t line = 0; line < out_.lines.size(); ++line)
      for (std::uint32_t i = out_.lines[line].first; i <= out_.lines[line].second; ++i)
        add_location(out_.locations[i], line);
    out_.values.assign(values_.begin(), values_.end());
    return std::move(out_);
  }

 private:
  std::size_t kinds() const { return out_.classes.size() + profile_.counters.size(); }

  void choose_classes() {
    for (std::size_t cls = 0; cls < kTimeClasses; ++cls)
      if (profile_.loops[loop_].times[cls] != 0) out_.classes.push_back(cls);
  }

  void find_primaries() {
    for (const std::uint32_t i : out_.locations) {
      const auto& location = profile_.locations[i];
      const bool is_new = !primary_.contains(location.process);
      if (is_new || location.primary) primary_[location.process] = i;
    }
    for (const auto& [process, location] : primary_)
      parts_[process] = parts_of(profile_.locations[location], loop_);
    for (const std::uint32_t i : out_.locations) {
      out_.process = profile_.locations[i].process;
      if (!parts_[out_.process].empty()) break;
    }
  }

  // Neighbours are merged until they fit.
  void choose_columns() {
    const std::vector<Part>& parts = parts_[out_.process];
    const std::size_t lines = std::min(out_.locations.size(), limits_.lines);
    const std::size_t fit = std::max<std::size_t>(
        1, std::min(limits_.columns,
                    std::max<std::size_t>(
                        512, limits_.numbers / std::max<std::size_t>(1, kinds() * lines))));
    const std::size_t together = (parts.size() + fit - 1) / std::max<std::size_t>(1, fit);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i % together == 0)
        out_.columns.push_back({parts[i].begin, 0, parts[i].begin_ns, 0});
      RowPicture::Column& column = out_.columns.back();
      column.count += parts[i].end - parts[i].begin;
      column.end_ns = parts[i].end_ns;
    }
    for (const RowPicture::Column& column : out_.columns)
      out_.exact = out_.exact && column.count == 1;
  }

  void choose_lines() {
    const std::size_t per_line =
        std::max<std::size_t>(1, kinds() * std::max<std::size_t>(1, out_.columns.size()));
    const std::size_t most =
        std::max<std::size_t>(1, std::min(limits_.lines, limits_.numbers / per_line));
    const std::size_t together = (out_.locations.size() + most - 1) / most;
    for (std::size_t i = 0; i < out_.locations.size(); i += together)
      out_.lines.emplace_back(i, std::min(out_.locations.size(), i + together) - 1);
  }

  // The iterations of the primary thread that lie in the row's time, each with its part of the row.
  std::vector<std::pair<Interval, double>> iterations_of(const std::vector<Part>& parts,
                                                         const Row& row) const {
    const double middle = (row.begin_ns + row.end_ns) / 2;
    auto at =
        std::upper_bound(parts.begin(), parts.end(), middle,
                         [](double ns, const Part& part) { return ns < part.begin_ns; });
    if (at != parts.begin()) --at;
    const double own = at->end_ns - at->begin_ns;
    if (row.end_ns - row.begin_ns <= 1.5 * own) return {{{at->begin, at->end}, 1}};
    std::vector<std::pair<Interval, double>> out;
    double sum = 0;
    auto first =
        std::upper_bound(parts.begin(), parts.end(), row.begin_ns,
                         [](double ns, const Part& part) { return ns < part.end_ns; });
    for (; first != parts.end() && first->begin_ns < row.end_ns; ++first) {
      const double part =
          std::min(row.end_ns, first->end_ns) - std::max(row.begin_ns, first->begin_ns);
      if (part <= 0) continue;
      out.push_back({{first->begin, first->end}, part});
      sum += part;
    }
    if (out.empty()) return {{{at->begin, at->end}, 1}};
    for (auto& [interval, part] : out) part /= sum;
    return out;
  }

  void add_location(std::uint32_t number, std::size_t line) {
    const auto& location = profile_.locations[number];
    const std::vector<Part>& parts = parts_[location.process];
    const bool primary = primary_[location.process] == number;
    const double size = out_.lines[line].second - out_.lines[line].first + 1;
    for (const Row& row : location.rows) {
      if (row.loop != loop_) continue;
      if (primary && row.count != 0) {
        const auto first = static_cast<double>(row.first);
        put(row, {first, first + static_cast<double>(row.count)}, 1 / size, line);
      } else if (!parts.empty()) {
        for (const auto& [interval, part] : iterations_of(parts, row))
          put(row, interval, part / size, line);
      }
    }
  }

  // Divided between the columns that have these iterations; what the first process has no column for goes to the nearest.
  void put(const Row& row, const Interval& interval, double factor, std::size_t line) {
    auto column = std::upper_bound(
        out_.columns.begin(), out_.columns.end(), interval.begin,
        [](double first, const RowPicture::Column& other) { return first < other.first; });
    if (column != out_.columns.begin()) --column;
    const auto nearest = static_cast<std::size_t>(column - out_.columns.begin());
    const double whole = interval.end - interval.begin;
    double left = whole;
    for (; column != out_.columns.end() && column->first < interval.end; ++column) {
      const double part = std::min(interval.end, column->first + column->count) -
                          std::max(interval.begin, column->first);
      if (part <= 0) continue;
      left -= part;
      add(row, factor * part / whole, line,
          static_cast<std::size_t>(column - out_.columns.begin()));
    }
    if (left > 1e-9 * whole) add(row, factor * left / whole, line, nearest);
  }

  void add(const Row& row, double factor, std::size_t line, std::size_t column) {
    const std::size_t plane = out_.lines.size() * out_.columns.size();
    std::size_t at = line * out_.columns.size() + column;
    for (const std::size_t cls : out_.classes) {
      values_[at] += factor * row.times[cls];
      at += plane;
    }
    for (const std::uint64_t counter : row.counters) {
      if (at < values_.size()) values_[at] += factor * static_cast<double>(counter);
      at += plane;
    }
  }

  const IterationProfile& profile_;
  const std::uint32_t loop_;
  const RowLimits limits_;
  RowPicture out_;
  std::vector<double> values_;
  std::map<std::uint32_t, std::uint32_t> primary_;    // by process: location
  std::map<std::uint32_t, std::vector<Part>> parts_;  // by process
};

}  // namespace

RowPicture row_picture(const IterationProfile& profile, std::uint32_t loop,
                       const RowLimits& limits) {
  return Painter(profile, loop, limits).paint();
}

void add_rows(Blocks& blocks, const std::string& key, const IterationProfile& profile,
              const std::function<std::uint32_t(std::uint32_t, std::uint32_t)>& location_of,
              const std::function<double(std::uint32_t)>& begin_ns) {
  for (std::uint32_t i = 0; i < profile.loops.size(); ++i) {
    const std::string name = key + "rows/" + std::to_string(profile.loops[i].number);
    const RowPicture picture = row_picture(profile, i);
    if (picture.columns.empty() || blocks.has(name)) continue;
    json classes = json::array();
    for (const std::size_t cls : picture.classes) {
      const auto which = static_cast<analysis::TimeClass>(cls);
      classes.push_back(
          {{"name", analysis::class_title(which)}, {"key", analysis::class_name(which)}});
    }
    const auto profiled = [&](std::uint32_t number) {
      const auto& location = profile.locations[picture.locations[number]];
      return location_of(location.process, location.thread);
    };
    json groups, locations;
    const bool grouped = picture.lines.size() < picture.locations.size();
    for (const auto& [first, last] : picture.lines) {
      if (grouped)
        groups.push_back({profiled(first), profiled(last)});
      else
        locations.push_back(profiled(first));
    }
    blocks.add(name, json{{"name", profile.loops[i].name},
                          {"classes", classes},
                          {"counters", profile.counters},
                          {"columns", picture.columns.size()},
                          {"lines", picture.lines.size()},
                          {"groups", groups},
                          {"locations", locations},
                          {"exact", picture.exact}});
    const double begin = begin_ns(picture.process);
    std::vector<double> columns;
    for (const RowPicture::Column& column : picture.columns)
      columns.insert(columns.end(), {column.first, column.count, begin + column.begin_ns,
                                     begin + column.end_ns});
    blocks.add(name + "/columns", columns, {picture.columns.size(), 4});
    blocks.add(name + "/values", picture.values,
               {picture.classes.size() + profile.counters.size(), picture.lines.size(),
                picture.columns.size()});
  }
}

}  // namespace refrain::report
