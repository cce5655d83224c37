#include "analysis/comparison/written_messages.h"

namespace refrain::analysis {

using reader::EventKind;
using reader::TraceEvent;

namespace {

bool is_end(EventKind kind) {
  return kind == EventKind::kMpiSend || kind == EventKind::kMpiIsend ||
         kind == EventKind::kMpiRecv || kind == EventKind::kMpiIrecv;
}

}  // namespace

void WrittenMessages::begin(const reader::TraceDefinitions& definitions) {
  definitions_ = &definitions;
  processes_.resize(definitions.processes.size());
  for (Process& process : processes_) process.next = 0;
}

bool WrittenMessages::keeps(const TraceEvent& event, bool written) {
  const std::uint32_t number = definitions_->locations[event.location].process;
  if (number >= processes_.size()) return true;
  if (!known_) {
    learn(event, written);
    return true;
  }
  Process& process = processes_[number];
  if (!is_end(event.kind)) return true;
  const std::size_t end = process.next++;
  return end >= process.kept.size() || process.kept[end];
}

void WrittenMessages::finish() {
  for (std::uint32_t i = 0; i < processes_.size(); ++i) {
    for (Posted& posted : processes_[i].posted) posted.open = false;
    release(i);
  }
  channels_.clear();
  known_ = true;
}

void WrittenMessages::learn(const TraceEvent& event, bool written) {
  const std::uint32_t number = definitions_->locations[event.location].process;
  Process& process = processes_[number];
  if (event.kind == EventKind::kMpiIrecvRequest) {
    process.requests[{event.location, event.request}] =
        process.first + process.posted.size();
    process.posted.push_back({.open = true, .written = written, .key = {}});
    return;
  }
  if (event.kind == EventKind::kMpiRequestCancelled) {
    const auto request = process.requests.find({event.location, event.request});
    if (request == process.requests.end()) return;
    process.posted[request->second - process.first].open = false;
    process.requests.erase(request);
    return release(number);
  }
  if (!is_end(event.kind)) return;
  process.kept.push_back(false);
  const std::uint32_t peer =
      definitions_->process_of(event.ref, event.peer, ProcessId(number));
  if (event.kind == EventKind::kMpiSend || event.kind == EventKind::kMpiIsend) {
    Channel& channel = channels_[{event.ref, number, peer, event.tag}];
    channel.sends.push_back({number, process.kept.size() - 1, written});
    return match(channel);
  }
  completed(process, event, {event.ref, peer, number, event.tag}, written);
  release(number);
}

void WrittenMessages::completed(Process& process, const TraceEvent& event, const Key& key,
                                bool written) {
  const auto request = event.kind == EventKind::kMpiIrecv
                           ? process.requests.find({event.location, event.request})
                           : process.requests.end();
  Posted* posted = nullptr;
  if (request != process.requests.end()) {
    posted = &process.posted[request->second - process.first];
    process.requests.erase(request);
  } else {
    posted = &process.posted.emplace_back(Posted{.open = true, .written = true, .key = {}});
  }
  posted->open = false;
  posted->matched = true;
  posted->written = posted->written && written;
  posted->key = key;
  posted->number = process.kept.size() - 1;
}

void WrittenMessages::release(std::uint32_t number) {
  Process& process = processes_[number];
  while (!process.posted.empty() && !process.posted.front().open) {
    const Posted posted = process.posted.front();
    process.posted.pop_front();
    ++process.first;
    if (!posted.matched) continue;
    Channel& channel = channels_[posted.key];
    channel.receives.push_back({number, posted.number, posted.written});
    match(channel);
  }
}

void WrittenMessages::match(Channel& channel) {
  if (channel.sends.empty() || channel.receives.empty()) return;
  const End send = channel.sends.front(), receive = channel.receives.front();
  channel.sends.pop_front();
  channel.receives.pop_front();
  if (!send.written || !receive.written) return;
  processes_[send.process].kept[send.number] = true;
  processes_[receive.process].kept[receive.number] = true;
}

}  // namespace refrain::analysis
