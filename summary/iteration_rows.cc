#include "summary/iteration_rows.h"

#include <utility>

#include "summary/summary_json.h"

namespace refrain::summary {
namespace {

constexpr std::array<const char*, IterationRows::kClasses> kNames = {
    "useful",
    "synchronization",
    "imbalance",
    "limited_parallelism",
    "thread_management",
    "mpi_point_to_point",
    "mpi_collective",
    "mpi_synchronization",
    "mpi_one_sided",
    "mpi_io",
    "mpi_management",
    "target_wait",
    "target_data",
    "target_kernels",
    "file_io",
    "unknown",
    "outside",
};
constexpr const char* kSeveral = "several";

}  // namespace

void merge_rows(IterationRows& rows, std::size_t most) {
  while (rows.rows.size() > most) {
    std::vector<IterationRows::Row> merged;
    bool open = false;  // the last one may have a partner
    for (IterationRows::Row& row : rows.rows) {
      const bool pair = open && row.loop == merged.back().loop &&
                        row.loop != IterationRows::kNoLoop &&
                        row.around == merged.back().around && row.around_count == 0 &&
                        row.first > merged.back().first;  // of the same visit
      open = !pair;
      if (!pair) {
        merged.push_back(std::move(row));
        continue;
      }
      IterationRows::Row& to = merged.back();
      to.count += row.count;
      for (std::size_t i = 0; i < to.times.size(); ++i) to.times[i] += row.times[i];
      for (std::size_t i = 0; i < to.counters.size(); ++i)
        to.counters[i] += row.counters[i];
    }
    const bool done = merged.size() == rows.rows.size();
    rows.rows = std::move(merged);
    if (done) return;
  }
}

const char* row_class_name(std::size_t cls) noexcept { return kNames[cls]; }

namespace summary_json {
namespace {

using Row = IterationRows::Row;

const json& column(const json& from, const char* name, std::size_t rows) {
  const json& values = list(member(from, name), name);
  if (values.size() != rows) fail(std::string("'") + name + "' has not one value a row");
  return values;
}

json loop_to_json(std::uint32_t loop) {
  if (loop == IterationRows::kNoLoop) return nullptr;
  if (loop == IterationRows::kSeveral) return kSeveral;
  return loop;
}

// A value a row; or where it changes, if that is seldom: from which rows on, and these values.
json in_runs(json all) {
  json rows = json::array(), values = json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i != 0 && all[i] == all[i - 1]) continue;
    rows.push_back(i);
    values.push_back(all[i]);
  }
  if (2 * rows.size() > all.size()) return all;
  return {{"rows", std::move(rows)}, {"values", std::move(values)}};
}

json out_of_runs(const json& from, const char* name, std::size_t rows) {
  const json& of = member(from, name);
  if (!of.is_object()) return column(from, name, rows);
  const json& begins = list(member(of, "rows"), "rows");
  const json& values = column(of, "values", begins.size());
  json all = json::array();
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::uint64_t begin = number(begins[i], "rows"),
                        end = i + 1 < begins.size() ? number(begins[i + 1], "rows") : rows;
    if (begin != all.size() || end < begin || end > rows)
      fail(std::string("'") + name + "' has not one value a row");
    all.insert(all.end(), end - begin, values[i]);
  }
  if (all.size() != rows) fail(std::string("'") + name + "' has not one value a row");
  return all;
}

// A value a row; where most are 0, the rows that have one, and these.
json counter_to_json(const std::vector<Row>& rows, std::size_t counter) {
  json all = json::array(), some = json::array(), values = json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t value = rows[i].counters[counter];
    all.push_back(value);
    if (value == 0) continue;
    some.push_back(i);
    values.push_back(value);
  }
  if (2 * some.size() > rows.size()) return all;
  return {{"rows", std::move(some)}, {"values", std::move(values)}};
}

void counter_of(const json& from, std::vector<Row>& rows) {
  for (Row& row : rows) row.counters.push_back(0);
  if (from.is_object()) {
    const json& some = list(member(from, "rows"), "rows");
    const json& values = column(from, "values", some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      const std::uint64_t at = number(some[i], "rows");
      if (at >= rows.size()) fail("'counters' lead nowhere");
      rows[at].counters.back() = number(values[i], "counters");
    }
    return;
  }
  if (list(from, "counters").size() != rows.size())
    fail("'counters' has not one value a row");
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i].counters.back() = number(from[i], "counters");
}

// Begins are the sums of what was before; if they are not, one a row.
json begins_to_json(const IterationRows& from) {
  std::uint64_t next = from.rows.empty() ? 0 : from.rows.front().begin;
  bool sums = true;
  json all = json::array();
  for (const Row& row : from.rows) {
    sums = sums && row.begin == next;
    all.push_back(row.begin);
    for (const std::int64_t time : row.times) next += static_cast<std::uint64_t>(time);
  }
  return sums && !from.rows.empty() ? all.front() : all;
}

// Where iterations do not go on from the row before: these rows, and with which.
json first_to_json(const std::vector<Row>& rows) {
  json all = json::array(), some = json::array(), values = json::array();
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    all.push_back(rows[i].first);
    if (rows[i].first != next) {
      some.push_back(i);
      values.push_back(rows[i].first);
    }
    next = rows[i].first + rows[i].count;
  }
  if (2 * some.size() > rows.size()) return all;
  return {{"rows", std::move(some)}, {"values", std::move(values)}};
}

// After their counts.
void first_of(const json& from, std::vector<Row>& rows) {
  const json& of = member(from, "first");
  if (!of.is_object()) {
    const json& all = column(from, "first", rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].first = number(all[i], "first");
    return;
  }
  const json& some = list(member(of, "rows"), "rows");
  const json& values = column(of, "values", some.size());
  std::size_t at = 0;
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (at < some.size() && number(some[at], "rows") == i)
      next = number(values[at++], "first");
    rows[i].first = next;
    next += rows[i].count;
  }
  if (at != some.size()) fail("'first' leads nowhere");
}

// Where rows lie in first iterations, if any do.
void add_around(const std::vector<Row>& rows, json& out) {
  json loop = json::array(), count = json::array();
  bool any = false, begins = false;
  for (const Row& row : rows) {
    loop.push_back(loop_to_json(row.around));
    count.push_back(row.around_count);
    any = any || row.around != IterationRows::kNoLoop;
    begins = begins || row.around_count != 0;
  }
  if (any) out["around"] = in_runs(std::move(loop));
  if (begins) out["around_count"] = in_runs(std::move(count));
}

std::uint32_t loop_of(const json& value, std::size_t loops) {
  if (value.is_null()) return IterationRows::kNoLoop;
  if (value.is_string() && value == kSeveral) return IterationRows::kSeveral;
  const std::uint32_t loop = small(value, "loop");
  if (loop >= loops) fail("'loop' leads nowhere");
  return loop;
}

std::int64_t signed_number(const json& value, const char* name) {
  // An unsigned number that is too large would become a negative one.
  constexpr auto kMax =
      static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > kMax))
    fail(std::string("'") + name + "' is not a number");
  return value.get<std::int64_t>();
}

// Of a damaged file: before there is memory for them.
void check_number_of_rows(const json& from, std::size_t rows) {
  constexpr std::size_t kMostWithoutTimes = 4096;
  bool times = false;
  for (const char* const name : kNames) {
    if (!from.contains(name)) continue;
    column(from, name, rows);
    times = true;
  }
  if (!times && rows > kMostWithoutTimes) fail("rows have no times");
}

}  // namespace

json to_json(const IterationRows& from) {
  json loop = json::array(), count = json::array();
  for (const Row& row : from.rows) {
    loop.push_back(loop_to_json(row.loop));
    count.push_back(row.count);
  }
  json out = {{"rows", from.rows.size()},           {"begin", begins_to_json(from)},
              {"loop", in_runs(std::move(loop))},   {"first", first_to_json(from.rows)},
              {"count", in_runs(std::move(count))}, {"end", from.end}};
  for (std::size_t cls = 0; cls < IterationRows::kClasses; ++cls) {
    json values = json::array();
    bool any = false;
    for (const Row& row : from.rows) {
      values.push_back(row.times[cls]);
      any = any || row.times[cls] != 0;
    }
    if (any) out[kNames[cls]] = std::move(values);
  }
  add_around(from.rows, out);
  const std::size_t counters = from.rows.empty() ? 0 : from.rows.front().counters.size();
  json all = json::array();
  for (std::size_t i = 0; i < counters; ++i) all.push_back(counter_to_json(from.rows, i));
  if (counters != 0) out["counters"] = std::move(all);
  return out;
}

IterationRows iteration_rows_of(const json& from, std::size_t loops, std::size_t counters) {
  const json& begin = member(from, "begin");
  const std::size_t rows =
      begin.is_array() ? begin.size() : number(member(from, "rows"), "rows");
  check_number_of_rows(from, rows);
  const json loop = out_of_runs(from, "loop", rows);
  const json count = out_of_runs(from, "count", rows);
  IterationRows out;
  out.end = number(member(from, "end"), "end");
  out.rows.resize(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    out.rows[i].loop = loop_of(loop[i], loops);
    out.rows[i].count = number(count[i], "count");
  }
  first_of(from, out.rows);
  if (from.contains("around")) {
    const json around = out_of_runs(from, "around", rows);
    for (std::size_t i = 0; i < rows; ++i) out.rows[i].around = loop_of(around[i], loops);
  }
  if (from.contains("around_count")) {
    const json around = out_of_runs(from, "around_count", rows);
    for (std::size_t i = 0; i < rows; ++i)
      out.rows[i].around_count = number(around[i], "around_count");
  }
  for (std::size_t cls = 0; cls < IterationRows::kClasses; ++cls) {
    if (!from.contains(kNames[cls])) continue;
    const json& values = column(from, kNames[cls], rows);
    for (std::size_t i = 0; i < rows; ++i)
      out.rows[i].times[cls] = signed_number(values[i], kNames[cls]);
  }
  std::uint64_t next = begin.is_array() || rows == 0 ? 0 : number(begin, "begin");
  for (std::size_t i = 0; i < rows; ++i) {
    Row& row = out.rows[i];
    row.begin = begin.is_array() ? number(begin[i], "begin") : next;
    for (const std::int64_t time : row.times) next += static_cast<std::uint64_t>(time);
    if (i != 0 && row.begin < out.rows[i - 1].begin) fail("rows are not in their order");
  }
  if (rows != 0 && out.end < out.rows.back().begin) fail("rows are not in their order");
  if (!from.contains("counters")) return out;
  const json& all = list(from["counters"], "counters");
  if (all.size() != counters || rows == 0) fail("'counters' are not those of the summary");
  for (const json& values : all) counter_of(values, out.rows);
  return out;
}

}  // namespace summary_json
}  // namespace refrain::summary
