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

}  // namespace

json to_json(const IterationRows& from) {
  json begin = json::array(), loop = json::array(), first = json::array(),
       count = json::array();
  for (const Row& row : from.rows) {
    begin.push_back(row.begin);
    loop.push_back(loop_to_json(row.loop));
    first.push_back(row.first);
    count.push_back(row.count);
  }
  json out = {{"begin", std::move(begin)},
              {"loop", in_runs(std::move(loop))},
              {"first", std::move(first)},
              {"count", in_runs(std::move(count))},
              {"end", from.end}};
  for (std::size_t cls = 0; cls < IterationRows::kClasses; ++cls) {
    json values = json::array();
    bool any = false;
    for (const Row& row : from.rows) {
      values.push_back(row.times[cls]);
      any = any || row.times[cls] != 0;
    }
    if (any) out[kNames[cls]] = std::move(values);
  }
  const std::size_t counters = from.rows.empty() ? 0 : from.rows.front().counters.size();
  json all = json::array();
  for (std::size_t i = 0; i < counters; ++i) all.push_back(counter_to_json(from.rows, i));
  if (counters != 0) out["counters"] = std::move(all);
  return out;
}

IterationRows iteration_rows_of(const json& from, std::size_t loops, std::size_t counters) {
  const json& begin = list(member(from, "begin"), "begin");
  const std::size_t rows = begin.size();
  const json loop = out_of_runs(from, "loop", rows);
  const json& first = column(from, "first", rows);
  const json count = out_of_runs(from, "count", rows);
  IterationRows out;
  out.end = number(member(from, "end"), "end");
  out.rows.resize(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    Row& row = out.rows[i];
    row.begin = number(begin[i], "begin");
    row.loop = loop_of(loop[i], loops);
    row.first = number(first[i], "first");
    row.count = number(count[i], "count");
    if (i != 0 && row.begin < out.rows[i - 1].begin) fail("rows are not in their order");
  }
  if (rows != 0 && out.end < out.rows.back().begin) fail("rows are not in their order");
  for (std::size_t cls = 0; cls < IterationRows::kClasses; ++cls) {
    if (!from.contains(kNames[cls])) continue;
    const json& values = column(from, kNames[cls], rows);
    for (std::size_t i = 0; i < rows; ++i)
      out.rows[i].times[cls] = signed_number(values[i], kNames[cls]);
  }
  if (!from.contains("counters")) return out;
  const json& all = list(from["counters"], "counters");
  if (all.size() != counters || rows == 0) fail("'counters' are not those of the summary");
  for (const json& values : all) counter_of(values, out.rows);
  return out;
}

}  // namespace summary_json
}  // namespace refrain::summary
