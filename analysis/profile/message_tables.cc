#include "analysis/profile/message_tables.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace refrain::analysis {
namespace {

using Row = MessageTables::Row;
using Partner = MessageTables::Partner;

// A table while it grows.
class Table {
 public:
  enum class By { kSize, kPartner, kSignature };

  explicit Table(By by) : by_(by) {}

  void add(std::uint32_t process, const MessageCalls& calls) {
    Key key{calls.procedure, {}, {}, 0};
    if (by_ != By::kSize) {
      std::get<1>(key) = calls.to;
      std::get<2>(key) = calls.from;
    }
    if (by_ != By::kPartner) std::get<3>(key) = size_class(calls.size_least);
    const auto [at, is_new] = rows_.try_emplace(std::move(key));
    Row& row = at->second;
    if (is_new) {
      std::tie(row.procedure, row.to, row.from, std::ignore) = at->first;
      row.size_least = calls.size_least;
    }
    row.size_least = std::min(row.size_least, calls.size_least);
    row.size_greatest = std::max(row.size_greatest, calls.size_greatest);
    if (row.parts.empty() || row.parts.back().process != process)
      row.parts.push_back({.process = process});
    row.parts.back().sums.add(calls.sums);
  }

  std::vector<Row> take(const std::vector<MessageTables::Process>& processes) {
    std::vector<Row> out;
    for (auto& [key, row] : rows_) {
      total(row, processes);
      out.push_back(std::move(row));
    }
    // Of rows with the same time those of the smaller name, partner and size come first.
    std::ranges::stable_sort(out, std::ranges::greater{}, &Row::time_ns);
    return out;
  }

 private:
  using Key = std::tuple<std::string, Partner, Partner, unsigned>;

  static void total(Row& row, const std::vector<MessageTables::Process>& processes) {
    for (const MessageTables::Part& part : row.parts) {
      const double frequency = processes[part.process].ticks_per_second;
      const auto ns = [&](std::uint64_t ticks) {
        return static_cast<double>(ticks) * 1e9 / frequency;
      };
      const double time = ns(part.sums.time);
      const double minimum = ns(part.sums.minimum);
      const bool first = &part == row.parts.data();
      row.minimum_ns = first ? minimum : std::min(row.minimum_ns, minimum);
      row.maximum_ns = std::max(row.maximum_ns, ns(part.sums.maximum));
      row.process_minimum_ns = first ? time : std::min(row.process_minimum_ns, time);
      if (first || time > row.process_maximum_ns) {
        row.process_maximum_ns = time;
        row.slowest = part.process;
      }
      row.time_ns += time;
      row.calls += part.sums.calls;
      row.bytes_sent += part.sums.bytes_sent;
      row.bytes_received += part.sums.bytes_received;
    }
  }

  By by_;
  std::map<Key, Row> rows_;
};

}  // namespace

double Row::mean_ns() const {
  return calls == 0 ? 0 : time_ns / static_cast<double>(calls);
}

double Row::bytes_per_second() const {
  const double bytes =
      static_cast<double>(bytes_sent) + static_cast<double>(bytes_received);
  return time_ns > 0 ? bytes / (time_ns / 1e9) : 0;
}

MessageTables message_tables(const std::vector<ProcessMessages>& processes) {
  MessageTables out;
  Table by_size(Table::By::kSize);
  Table by_partner(Table::By::kPartner);
  Table by_signature(Table::By::kSignature);
  for (const ProcessMessages& from : processes) {
    const auto index = static_cast<std::uint32_t>(out.processes.size());
    out.processes.push_back({from.process, from.rank, from.ticks_per_second});
    out.sizes = out.sizes && from.sizes;
    out.partners = out.partners && from.partners;
    for (const MessageCalls& calls : from.calls) {
      if (calls.sums.calls == 0) continue;
      for (Table* const table : {&by_size, &by_partner, &by_signature})
        table->add(index, calls);
    }
    out.calls_elsewhere += from.elsewhere.calls;
    out.elsewhere_ns +=
        static_cast<double>(from.elsewhere.time) * 1e9 / from.ticks_per_second;
    out.elsewhere_bytes += from.elsewhere.bytes_sent + from.elsewhere.bytes_received;
    out.messages_outside += from.outside.calls;
    out.outside_bytes += from.outside.bytes_sent + from.outside.bytes_received;
  }
  if (out.sizes) out.by_size = by_size.take(out.processes);
  if (out.partners) out.by_partner = by_partner.take(out.processes);
  out.by_signature = by_signature.take(out.processes);
  return out;
}

}  // namespace refrain::analysis
