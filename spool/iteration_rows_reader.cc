#include "spool/iteration_rows_reader.h"

#include <algorithm>

#include "spool/copy_at.h"

namespace refrain::spool {
namespace {

// What the sums are at the begin of a row.
struct Begin {
  IterationRow row{};
  std::vector<std::uint64_t> counters;
};

class RowParser {
 public:
  RowParser(std::span<const std::byte> area, const CallTree& tree)
      : area_(area), tree_(tree) {}

  IterationRows read(std::uint64_t team_end, std::uint64_t end) {
    if (!read_header()) return std::move(out_);
    find_rows();
    close(std::min(team_end, end), end);
    for (std::size_t i = 0; i + 1 < begins_.size(); ++i) add(begins_[i], begins_[i + 1]);
    return std::move(out_);
  }

 private:
  bool read_header() {
    if (area_.size() < row_offset(1, 0)) return false;
    capacity_ = copy_at<std::uint32_t>(area_, offsetof(IterationRowsHeader, capacity));
    const auto counters =
        copy_at<std::uint32_t>(area_, offsetof(IterationRowsHeader, counters));
    if (capacity_ == 0) return false;
    out_.damaged =
        counters > kMostRowCounters || capacity_ > kMostRows ||
        row_offset(capacity_, std::min(counters, kMostRowCounters)) > area_.size();
    out_.counters = out_.damaged ? 0 : counters;
    begin_ = copy_at<std::uint64_t>(area_, offsetof(IterationRowsHeader, begin));
    return !out_.damaged;
  }

  void find_rows() {
    const auto state =
        RowState::of(copy_at<std::uint64_t>(area_, offsetof(IterationRowsHeader, state)));
    const std::uint64_t rows = std::min<std::uint64_t>(state.rows, capacity_);
    out_.damaged = rows != state.rows || state.merged > rows || state.next > rows;
    if (out_.damaged) return;
    for (std::uint64_t i = 0; i < (state.merged == 0 ? rows : state.merged); ++i) take(i);
    if (state.merged == 0) return;
    for (std::uint64_t i = state.next; i < rows; ++i) take(i);
  }

  void take(std::uint64_t index) {
    if (out_.damaged) return;
    const std::uint64_t at = row_offset(index, out_.counters);
    Begin begin;
    begin.row = copy_at<IterationRow>(area_, at);
    begin.counters = counters_at(at + sizeof(IterationRow));
    out_.damaged = begin.row.begin < (begins_.empty() ? begin_ : begins_.back().row.begin);
    if (!out_.damaged) begins_.push_back(std::move(begin));
  }

  std::vector<std::uint64_t> counters_at(std::uint64_t offset) const {
    std::vector<std::uint64_t> values;
    for (unsigned i = 0; i < out_.counters; ++i)
      values.push_back(copy_at<std::uint64_t>(area_, offset + i * sizeof(std::uint64_t)));
    return values;
  }

  // The innermost region that is open, and the innermost outside of all teams.
  struct Open {
    std::size_t inner = kRootNode;
    std::size_t outside = kRootNode;
    bool in_team = false;
  };
  Open find_open() const {
    std::vector<std::uint32_t> depth(tree_.nodes.size());
    std::vector<bool> in_team(tree_.nodes.size());
    Open open;
    for (std::size_t i = 1; i < tree_.nodes.size(); ++i) {
      const CallTree::Node& node = tree_.nodes[i];
      depth[i] = depth[node.parent] + 1;
      in_team[i] = in_team[node.parent] || node.key.kind() == kImplicitTaskBegin;
      if (!node.open) continue;
      if (depth[i] > depth[open.inner]) open.inner = i;
      if (!in_team[i] && depth[i] > depth[open.outside]) open.outside = i;
    }
    open.in_team = in_team.empty() ? false : in_team[open.inner];
    return open;
  }

  std::size_t class_of(std::size_t node) const {
    return node < tree_.nodes.size() && node != kRootNode &&
                   tree_.nodes[node].cls < kRowClasses
               ? tree_.nodes[node].cls
               : kOutsideClass;
  }

  // The sums at the end, as the begin of one more row.
  void close(std::uint64_t team_end, std::uint64_t end) {
    ClassSums times;
    for (std::size_t i = 0; i < kRowClasses; ++i)
      times[i] = copy_at<std::uint64_t>(
          area_, offsetof(IterationRowsHeader, times) + i * sizeof(std::uint64_t));
    const Open open = find_open();
    std::size_t cls = kRowClasses;
    for (std::size_t i = 0; i < kRowClasses; ++i)
      if (static_cast<std::int64_t>(times[i]) < -static_cast<std::int64_t>(begin_ / 2))
        cls = i;
    if (cls == kRowClasses) {
      // Died in the middle of a change: complete up to there.
      cls = class_of(open.inner);
      std::uint64_t sum = 0;
      for (const std::uint64_t time : times) sum += time;
      times[cls] -= begin_ + sum;
    }
    std::uint64_t until = end;
    if (open.in_team) {
      until = std::clamp(tree_.nodes[open.inner].enter_ticks, team_end, end);
      times[class_of(open.outside)] += end - until;
      end_team(cls, class_of(open.outside), until);
    }
    times[cls] += until;
    Begin last;
    last.row.begin = end;
    last.row.total = copy_at<std::uint64_t>(area_, offsetof(IterationRowsHeader, total));
    std::copy(times.begin() + 1, times.end(), last.row.times);
    last.counters = counters_at(offsetof(IterationRowsHeader, counter_values));
    if (!begins_.empty() && begins_.back().row.begin > end)
      last.row.begin = begins_.back().row.begin;
    begins_.push_back(std::move(last));
  }

  // Rows that begin after the end of the team did so while the thread had not learned of it.
  void end_team(std::size_t inside, std::size_t outside, std::uint64_t team_end) {
    for (auto at = begins_.rbegin(); at != begins_.rend(); ++at) {
      if (at->row.begin <= team_end) return;
      const std::uint64_t late = at->row.begin - team_end;
      if (inside != 0) at->row.times[inside - 1] -= late;
      if (outside != 0) at->row.times[outside - 1] += late;
    }
  }

  void add(const Begin& from, const Begin& to) {
    IterationRows::Row& row = out_.rows.emplace_back();
    row.begin = from.row.begin;
    row.end = to.row.begin;
    row.loop = loop_of_row(from.row.place);
    row.first = from.row.place >> 16;
    row.count = to.row.total - std::min(to.row.total, from.row.total);
    std::uint64_t rest = row.end - row.begin;
    for (std::size_t i = 1; i < kRowClasses; ++i) {
      const std::uint64_t time = to.row.times[i - 1] - from.row.times[i - 1];
      row.times[i] = static_cast<std::int64_t>(time);
      rest -= time;
    }
    row.times[0] = static_cast<std::int64_t>(rest);
    row.counters = to.counters;
  }

  const std::span<const std::byte> area_;
  const CallTree& tree_;
  std::uint64_t capacity_ = 0;
  std::uint64_t begin_ = 0;
  std::vector<Begin> begins_;
  IterationRows out_;
};

}  // namespace

IterationRows read_iteration_rows(std::span<const std::byte> area, const CallTree& tree,
                                  std::uint64_t team_end, std::uint64_t end) {
  return RowParser(area, tree).read(team_end, end);
}

}  // namespace refrain::spool
