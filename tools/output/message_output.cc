#include "tools/output/message_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/texts.h"
#include "tools/output/info_screen.h"
#include "tools/output/standard_output.h"

namespace refrain::tools {
namespace {

using analysis::CallSums;
using analysis::MessageTables;
using base::bytes_text;
using base::duration_text;
using Partner = MessageTables::Partner;
using MessageRow = MessageTables::Row;
using Json = nlohmann::ordered_json;

constexpr std::size_t kFewRows = 6;  // in a profile
constexpr std::size_t kManyRows = 24;
constexpr double kMinShareOfMessages = 0.001;
constexpr double kMaxBytesOfMessages = 1e19;  // that fit an integer

std::string procedure_text(const MessageRow& row) {
  return row.procedure.empty() ? "(no name)" : row.procedure;
}

std::string binary_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024; bytes /= 1024) ++unit;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

// "0 B", "12288 B", "8-16 KiB", "512 KiB-1 MiB": one size, or the class of several.
std::string size_text(const MessageRow& row) {
  if (row.size_least == row.size_greatest) return fmt::format("{} B", row.size_least);
  const unsigned cls = analysis::size_class(row.size_least);
  if (cls == 0) return fmt::format("0-{} B", row.size_greatest);
  const std::string least = binary_text(std::uint64_t{1} << (cls - 1));
  if (cls > 63) return least + " and more";
  const std::string greatest = binary_text(std::uint64_t{1} << cls);
  const std::size_t blank = least.find(' ');
  const bool same = least.substr(blank) == greatest.substr(greatest.find(' '));
  return (same ? least.substr(0, blank) : least) + "-" + greatest;
}

std::string partner_of(const MessageRow& row) {
  return summary::partners_text(row.to, row.from);
}

class MessageScreen {
 public:
  MessageScreen(const ProfiledRun& run, const MessageScreenOptions& options)
      : run_(run), messages_(run.messages), options_(options) {}

  std::vector<std::string> lines() {
    if (messages_.sizes) table("MPI by message size", messages_.by_size, true);
    if (messages_.partners) table("MPI by partner", messages_.by_partner, false);
    if (!messages_.complete()) not_known();
    if (messages_.complete() && messages_.by_size.empty() && !options_.brief) {
      out_.emplace_back();
      out_.emplace_back("No calls of MPI");
    }
    if (messages_.calls_elsewhere != 0)
      note(
          fmt::format("{} calls and parallel regions, {} and {}, have no size and partner: "
                      "the summary's memory was full",
                      messages_.calls_elsewhere, duration_text(messages_.elsewhere_ns),
                      bytes_text(messages_.elsewhere_bytes)));
    if (messages_.messages_outside != 0)
      note(fmt::format("{} messages, {}, belong to no call of MPI",
                       messages_.messages_outside, bytes_text(messages_.outside_bytes)));
    return std::move(out_);
  }

 private:
  struct Column {
    const char* title;
    std::size_t width;
    unsigned optional;  // those with the highest number are left out first
    std::string (MessageScreen::*text)(const MessageRow&) const;
  };

  void note(const std::string& text) { out_.push_back("  " + text); }

  void not_known() {
    const char* what = messages_.sizes      ? "partner"
                       : messages_.partners ? "message size"
                                            : "message size and partner";
    out_.emplace_back();
    out_.push_back(
        fmt::format("MPI by {}: not in the summary (see 'refrain run --graph')", what));
    note(run_.summary_only ? "and there are no events"
                           : "--messages counts the events in the archive");
  }

  std::string share(const MessageRow& row) const {
    const double whole = run_.totals.time_ns;
    return fmt::format("{:.1f} %", whole > 0 ? 100 * row.time_ns / whole : 0.0);
  }
  std::string size(const MessageRow& row) const { return size_text(row); }
  std::string calls(const MessageRow& row) const { return std::to_string(row.calls); }
  std::string time(const MessageRow& row) const { return duration_text(row.time_ns); }
  std::string mean(const MessageRow& row) const { return duration_text(row.mean_ns()); }
  std::string shortest(const MessageRow& row) const {
    return duration_text(row.minimum_ns);
  }
  std::string longest(const MessageRow& row) const { return duration_text(row.maximum_ns); }
  std::string rank_min(const MessageRow& row) const {
    return duration_text(row.process_minimum_ns);
  }
  std::string rank_max(const MessageRow& row) const {
    return duration_text(row.process_maximum_ns);
  }
  std::string data(const MessageRow& row) const {
    const std::uint64_t bytes = row.bytes_sent + row.bytes_received;
    return bytes == 0 ? "-" : bytes_text(bytes);
  }
  std::string bandwidth(const MessageRow& row) const {
    const double rate = row.bytes_per_second();
    if (rate <= 0) return "-";
    return bytes_text(static_cast<std::uint64_t>(std::min(rate, kMaxBytesOfMessages))) +
           "/s";
  }

  // That fit next to names of this length.
  std::vector<Column> columns(bool by_size, std::size_t name) const {
    std::vector<Column> all;
    if (by_size) all.push_back({"Size", 14, 0, &MessageScreen::size});
    all.insert(all.end(), {{"Calls", 10, 0, &MessageScreen::calls},
                           {"Time", 9, 0, &MessageScreen::time},
                           {"Share", 8, 0, &MessageScreen::share},
                           {"Mean", 9, 0, &MessageScreen::mean},
                           {"Data", 10, 0, &MessageScreen::data},
                           {"Bandwidth", 12, 1, &MessageScreen::bandwidth}});
    if (messages_.processes.size() > 1)
      all.insert(all.end(), {{"Rank min", 9, 2, &MessageScreen::rank_min},
                             {"Rank max", 9, 2, &MessageScreen::rank_max}});
    all.insert(all.end(), {{"Call min", 9, 3, &MessageScreen::shortest},
                           {"Call max", 9, 3, &MessageScreen::longest}});
    for (unsigned optional = 3; optional != 0; --optional) {
      if (name + width(all) <= options_.width) break;
      std::erase_if(all, [&](const Column& c) { return c.optional == optional; });
    }
    return all;
  }
  static std::size_t width(const std::vector<Column>& columns) {
    std::size_t sum = 0;
    for (const Column& column : columns) sum += column.width;
    return sum;
  }

  static std::string name_of(const MessageRow& row, bool by_size) {
    std::string name = "  " + procedure_text(row);
    const std::string partner = partner_of(row);
    if (!by_size && !partner.empty()) name += " " + partner;
    return name;
  }

  // The largest. In a profile, which has the procedures, those with data or with a partner.
  std::vector<const MessageRow*> chosen_of(const std::vector<MessageRow>& rows,
                                           bool by_size) const {
    std::vector<const MessageRow*> chosen;
    for (const MessageRow& row : rows) {
      if (options_.brief) {
        const bool plain = by_size ? row.size_greatest == 0 : partner_of(row).empty();
        const bool small = row.time_ns < kMinShareOfMessages * run_.totals.time_ns;
        if (!options_.all && (plain || small)) continue;
      }
      if (!options_.all && chosen.size() == (options_.brief ? kFewRows : kManyRows)) break;
      chosen.push_back(&row);
    }
    return chosen;
  }

  void table(const std::string& title, const std::vector<MessageRow>& rows, bool by_size) {
    const std::vector<const MessageRow*> chosen = chosen_of(rows, by_size);
    if (chosen.empty()) return;
    std::size_t name = title.size();
    for (const MessageRow* row : chosen)
      name = std::max(name, name_of(*row, by_size).size());
    const std::vector<Column> cells = columns(by_size, name);
    const std::size_t room =
        std::max<std::size_t>(12, options_.width - std::min(options_.width, width(cells)));
    out_.emplace_back();
    std::string line = fmt::format("{:<{}}", fitted(title, room), room);
    for (const Column& column : cells)
      line += fmt::format("{:>{}}", column.title, column.width);
    out_.push_back(std::move(line));
    for (const MessageRow* row : chosen) {
      line = fmt::format("{:<{}}", fitted(name_of(*row, by_size), room), room);
      for (const Column& column : cells)
        line += fmt::format("{:>{}}", (this->*column.text)(*row), column.width);
      out_.push_back(std::move(line));
    }
    if (chosen.size() < rows.size())
      note(fmt::format("and {} more ({})", rows.size() - chosen.size(),
                       options_.brief ? "--messages" : "--all"));
  }

  const ProfiledRun& run_;
  const MessageTables& messages_;
  const MessageScreenOptions options_;
  std::vector<std::string> out_;
};

// --- Data -------------------------------------------------------------------------------

const char* kind_name(Partner::Kind kind) {
  switch (kind) {
    case Partner::Kind::kNone:
      return "";
    case Partner::Kind::kRelative:
      return "relative";
    case Partner::Kind::kAny:
      return "any";
    case Partner::Kind::kNobody:
      return "nobody";
    case Partner::Kind::kRoot:
      return "root";
    case Partner::Kind::kSeveral:
      return "several";
  }
  return "";
}

bool has_rank(const Partner& partner) {
  return partner.kind == Partner::Kind::kRelative || partner.kind == Partner::Kind::kRoot;
}

Json json_of(const Partner& partner) {
  if (partner.kind == Partner::Kind::kNone) return nullptr;
  Json out = {{"kind", kind_name(partner.kind)}};
  if (has_rank(partner)) out["rank"] = partner.rank;
  return out;
}

void put_partners(Json& out, const MessageRow& row) {
  out["partner"] = partner_of(row);
  out["to"] = json_of(row.to);
  out["from"] = json_of(row.from);
}

void put_size(Json& out, const MessageRow& row) {
  out["size_minimum"] = row.size_least;
  out["size_maximum"] = row.size_greatest;
}

void put_sums(Json& out, const MessageRow& row, const MessageTables& messages) {
  const MessageTables::Process& slowest = messages.processes[row.slowest];
  out["calls"] = row.calls;
  out["time_ns"] = row.time_ns;
  out["minimum_ns"] = row.minimum_ns;
  out["maximum_ns"] = row.maximum_ns;
  out["bytes_sent"] = row.bytes_sent;
  out["bytes_received"] = row.bytes_received;
  out["bytes_per_second"] = row.bytes_per_second();
  out["processes"] = row.parts.size();
  out["process_minimum_ns"] = row.process_minimum_ns;
  out["process_maximum_ns"] = row.process_maximum_ns;
  out["process_with_maximum"] = slowest.number;
}

Json parts_json(const MessageRow& row, const MessageTables& messages) {
  Json out = Json::array();
  for (const MessageTables::Part& part : row.parts) {
    const MessageTables::Process& process = messages.processes[part.process];
    const bool ranked = process.rank != MessageTables::kNone;
    out.push_back({{"process", process.number},
                   {"rank", ranked ? Json(process.rank) : Json(nullptr)},
                   {"calls", part.sums.calls},
                   {"time_ticks", part.sums.time},
                   {"minimum_ticks", part.sums.minimum},
                   {"maximum_ticks", part.sums.maximum},
                   {"bytes_sent", part.sums.bytes_sent},
                   {"bytes_received", part.sums.bytes_received}});
  }
  return out;
}

}  // namespace

std::vector<std::string> message_screen(const ProfiledRun& run,
                                        const MessageScreenOptions& options) {
  return MessageScreen(run, options).lines();
}

Json by_size_json(const MessageTables& messages) {
  if (!messages.sizes) return nullptr;
  Json out = Json::array();
  for (const MessageRow& row : messages.by_size) {
    Json& to = out.emplace_back(Json{{"procedure", row.procedure}});
    put_size(to, row);
    put_sums(to, row, messages);
  }
  return out;
}

Json by_partner_json(const MessageTables& messages) {
  if (!messages.partners) return nullptr;
  Json out = Json::array();
  for (const MessageRow& row : messages.by_partner) {
    Json& to = out.emplace_back(Json{{"procedure", row.procedure}});
    put_partners(to, row);
    put_sums(to, row, messages);
  }
  return out;
}

Json messages_value(const ProfiledRun& run, MessageParts parts) {
  const MessageTables& messages = run.messages;
  Json out = {{"format", "refrain messages"},
              {"version", 2},
              {"archive", run.archive},
              {"command", run.command},
              {"source", run.from_events ? "events" : "summary"},
              {"intervals_not_written", run.gaps},
              {"time_ns", run.totals.time_ns},
              {"calls_elsewhere", messages.calls_elsewhere},
              {"elsewhere_ns", messages.elsewhere_ns},
              {"bytes_elsewhere", messages.elsewhere_bytes},
              {"messages_outside", messages.messages_outside},
              {"bytes_outside", messages.outside_bytes},
              {"by_size", by_size_json(messages)},
              {"by_partner", by_partner_json(messages)}};
  Json& all = out["by_signature"] = Json::array();
  for (const MessageRow& row : messages.by_signature) {
    Json& to = all.emplace_back(Json{{"procedure", row.procedure}});
    if (messages.partners) put_partners(to, row);
    if (messages.sizes) put_size(to, row);
    put_sums(to, row, messages);
    if (parts == MessageParts::kPut) to["parts"] = parts_json(row, messages);
  }
  return out;
}

std::string messages_json(const ProfiledRun& run) {
  // A name that is no UTF-8 must not cost the rest.
  return messages_value(run, MessageParts::kPut)
             .dump(1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

std::string messages_csv(const ProfiledRun& run) {
  const MessageTables& messages = run.messages;
  std::string out =
      "procedure,to,to_rank,from,from_rank,size_minimum,size_maximum,process,rank,calls,"
      "time_ns,minimum_ns,maximum_ns,bytes_sent,bytes_received\n";
  const auto rank_text = [](const Partner& partner) {
    return has_rank(partner) ? std::to_string(partner.rank) : std::string();
  };
  const auto size_cell = [&](std::uint64_t size) {
    return messages.sizes ? std::to_string(size) : std::string();
  };
  for (const MessageRow& row : messages.by_signature)
    for (const MessageTables::Part& part : row.parts) {
      const MessageTables::Process& process = messages.processes[part.process];
      const CallSums& sums = part.sums;
      const auto ns = [&](std::uint64_t ticks) {
        return static_cast<double>(ticks) * 1e9 / process.ticks_per_second;
      };
      fmt::format_to(
          std::back_inserter(out),
          "{},{},{},{},{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{},{}\n",
          csv_quoted(row.procedure), kind_name(row.to.kind), rank_text(row.to),
          kind_name(row.from.kind), rank_text(row.from), size_cell(row.size_least),
          size_cell(row.size_greatest), process.number,
          process.rank == MessageTables::kNone ? "" : std::to_string(process.rank),
          sums.calls, ns(sums.time), ns(sums.minimum), ns(sums.maximum), sums.bytes_sent,
          sums.bytes_received);
    }
  return out;
}

}  // namespace refrain::tools
