#include "spool/mpi_journal.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace refrain::spool {
namespace {

std::string_view next_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(begin);
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

template <typename T>
std::optional<T> number_of(std::string_view word) {
  T number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// The number that a text begins with, and the blank after it.
std::optional<std::uint16_t> take_reference(std::string_view& text) {
  const auto number = number_of<std::uint32_t>(next_word(text));
  if (!number || *number > 0xffff) return std::nullopt;
  if (!text.empty()) text.remove_prefix(1);
  return static_cast<std::uint16_t>(*number);
}

void read_members(std::string_view text, JournalComm& comm) {
  std::vector<std::uint32_t> groups[2];
  std::size_t group = 0;
  while (!text.empty()) {
    const std::string_view word = next_word(text);
    if (word.empty()) break;
    const auto number = number_of<std::uint32_t>(word);
    if (word == "/" && group == 0) {
      group = 1;
    } else if (number) {
      groups[group].push_back(*number);
    } else {
      return;
    }
  }
  comm.members = std::move(groups[0]);
  comm.remote = std::move(groups[1]);
}

void read_numbers(std::string_view text, std::map<ChannelEnd, MessageNumbers>& numbers) {
  const std::string_view way = next_word(text);
  const auto comm = number_of<std::uint16_t>(next_word(text));
  const auto peer = number_of<std::uint32_t>(next_word(text));
  const auto tag = number_of<std::uint32_t>(next_word(text));
  const auto number = number_of<std::uint64_t>(next_word(text));
  const std::string_view to = next_word(text);
  if ((way != "s" && way != "r") || !comm || !peer || !tag || !number) return;
  MessageNumbers& channel = numbers[{way == "s", *comm, *peer, *tag}];
  if (to == "-") {
    channel.take_out(*number);
  } else if (const auto new_number = number_of<std::uint64_t>(to)) {
    channel.move(*number, *new_number);
  }
}

}  // namespace

void MpiJournal::take(const Record& record) {
  switch (record.kind) {
    case kMpiWorld:
      known = true;
      rank = record.aux32;
      size = static_cast<std::uint32_t>(record.payload);
      break;
    case kMpiComm: {
      JournalComm& comm = comms[record.aux16];
      comm.kind = static_cast<MpiCommKind>(record.sub);
      comm.rank = record.aux32;
      comm.identity = record.payload;
      break;
    }
    case kMpiMembers:
      comms[record.aux16].size = record.aux32;
      comms[record.aux16].parent = record.payload;
      break;
    case kClockOffset:
      offsets.push_back(
          {record.ticks, static_cast<std::int64_t>(record.payload), record.a48()});
      break;
    default:
      break;
  }
}

void MpiJournal::take_text(std::uint8_t key, const std::string& text) {
  std::string_view rest = text;
  if (key == kTextProcedures) {
    while (!rest.empty()) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      const auto number = take_reference(line);
      if (number && !line.empty()) procedures[*number] = line;
    }
    return;
  }
  if (key == kTextNumbers) return read_numbers(rest, numbers);
  if (key == kTextTaken) {
    taken = text;
    return;
  }
  if (key == kTextNotReceived) {
    for (std::uint64_t* count :
         {&not_received.freed, &not_received.failed, &not_received.open})
      *count = number_of<std::uint64_t>(next_word(rest)).value_or(0);
    return;
  }
  if (key != kTextMembers && key != kTextCommName && key != kTextTopology) return;
  const auto number = take_reference(rest);
  if (!number) return;
  JournalComm& comm = comms[*number];
  if (key == kTextMembers) read_members(rest, comm);
  if (key == kTextCommName) comm.name = rest;
  if (key == kTextTopology) comm.topology = rest;
}

void MpiJournal::finish() {
  for (auto& [channel, reported] : numbers) reported.finish();
  // Without identity it is useless: its record was cut off.
  std::erase_if(comms, [](const auto& comm) { return comm.second.identity == 0; });
  std::stable_sort(offsets.begin(), offsets.end(),
                   [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
}

const JournalComm* MpiJournal::world() const {
  const auto found = std::find_if(comms.begin(), comms.end(), [](const auto& comm) {
    return comm.second.kind == kMpiCommWorld;
  });
  return found == comms.end() ? nullptr : &found->second;
}

void MpiJournal::settle(std::uint32_t job_rank, std::uint32_t job_size) {
  known = job_rank < job_size;
  rank = job_rank;
  size = job_size;
}

void MessageNumbers::move(std::uint64_t from, std::uint64_t to) {
  // Numbers are given in ascending order: anything else is a damaged journal.
  if (to >= from || (!moves_.empty() && moves_.back().from >= from)) return;
  moves_.push_back({from, to, to});
}

void MessageNumbers::take_out(std::uint64_t number) { out_.push_back(number); }

void MessageNumbers::finish() {
  for (std::size_t i = moves_.size(); i-- > 1;)
    moves_[i - 1].least = std::min(moves_[i - 1].to, moves_[i].least);
  for (std::uint64_t& number : out_) number = moved(number);
  std::sort(out_.begin(), out_.end());
}

std::uint64_t MessageNumbers::moved(std::uint64_t number) const noexcept {
  auto at =
      std::lower_bound(moves_.begin(), moves_.end(), number,
                       [](const Move& move, std::uint64_t n) { return move.from < n; });
  for (; at != moves_.end() && at->least <= number; ++at) {
    if (number == at->from)
      number = at->to;
    else if (number >= at->to)
      ++number;
  }
  return number;
}

std::uint64_t MessageNumbers::right(std::uint64_t number) const noexcept {
  number = moved(number);
  const auto before = std::lower_bound(out_.begin(), out_.end(), number) - out_.begin();
  return number - static_cast<std::uint64_t>(before);
}

}  // namespace refrain::spool
