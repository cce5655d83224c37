#include "writer/interpret/mpi_interpreter.h"

#include <algorithm>

#include "spool/mpi_format.h"

namespace refrain::writer {
namespace {

using spool::Record;

std::uint32_t request_of(const Record& record) {
  switch (record.kind) {
    case spool::kMpiSend:
    case spool::kMpiRecv:
    case spool::kMpiCollective:
      return static_cast<std::uint32_t>(record.payload >> 32);
    default:
      return static_cast<std::uint32_t>(record.payload);
  }
}

const MpiContext kNoMpi;

std::uint64_t collective_number(const Record& record) {
  return (record.payload & 0xffffffff) >> 1;
}

}  // namespace

MpiInterpreter::MpiInterpreter(const LocationInput& input, ShadowStack& stack,
                               LocationOutcome& outcome)
    : input_(input),
      mpi_(input.mpi == nullptr ? kNoMpi : *input.mpi),
      stack_(stack),
      outcome_(outcome) {}

void MpiInterpreter::take(const Record& record, std::size_t index) {
  if (stack_.in_gap()) return;
  switch (record.kind) {
    case spool::kMpiSend:
      return send(record, index);
    case spool::kMpiRecv:
      return receive(record, index);
    case spool::kMpiPost:
      return post(record);
    case spool::kMpiDone:
      return done(record);
    case spool::kMpiTested:
      return tested(record);
    case spool::kMpiLeave:
      return polled(record);
    case spool::kMpiCancelled:
      return cancelled(record);
    case spool::kMpiCollective:
      return collective(record, index);
    case spool::kMpiRma:
      return one_sided(record);
    case spool::kMpiIo:
      return stack_.point(record.ticks, [&](EventSink& sink) {
        sink.bytes_moved(record.ticks, record.payload, regions::kNoRegion);
      });
    default:
      return;
  }
}

// For a location without epochs, by time.
bool MpiInterpreter::gap_begins_within(std::uint64_t begin, std::uint64_t end) const {
  const std::vector<Gap>& gaps = input_.process->gaps->gaps;
  const auto next = std::upper_bound(
      gaps.begin(), gaps.end(), begin,
      [](std::uint64_t ticks, const Gap& gap) { return ticks < gap.suspend_ticks; });
  return next != gaps.end() && next->suspend_ticks <= end;
}

// OTF2 needs the start of a collective at the start of the call; its record is at the
// call's end.
void MpiInterpreter::entered(std::uint64_t ticks, std::size_t index) {
  constexpr std::size_t kFarthest = 4096;
  if (stack_.in_gap() || mpi_.plan == nullptr) return;
  const spool::RecordSequence& records = *input_.records;
  const std::size_t end = std::min(records.size(), index + kFarthest);
  for (std::size_t i = index + 1; i < end; ++i) {
    const Record& record = records[i];
    if (record.kind == spool::kMpiLeave || record.kind == spool::kSuspend ||
        record.kind == spool::kResume || spool::is_cut(record))
      return;
    if (record.kind != spool::kMpiCollective || request_of(record) != 0) continue;
    if (!input_.scan->has_sync && gap_begins_within(ticks, record.ticks)) return;
    const LocalWindow* window = window_of(record);
    const LocalComm* comm = comm_of(record);
    if ((window == nullptr && comm == nullptr) || amount_after(i) == nullptr ||
        !keeps_collective(window != nullptr ? window->identity : comm->identity,
                          collective_number(record)))
      return;
    begun_collective_ = i;
    stack_.point(ticks, [&](EventSink& sink) {
      if (window != nullptr) return sink.rma_collective_begin(ticks);
      sink.collective_begin(ticks);
    });
    return;
  }
}

const Record* MpiInterpreter::amount_after(std::size_t index) const {
  const spool::RecordSequence& records = *input_.records;
  if (index + 1 >= records.size()) return nullptr;
  const Record& next = records[index + 1];
  return next.kind == spool::kMpiAmount ? &next : nullptr;
}

const LocalComm* MpiInterpreter::comm_of(const Record& record) const {
  const auto found = mpi_.comms.comms.find(record.aux16);
  return found == mpi_.comms.comms.end() ? nullptr : &found->second;
}

const LocalWindow* MpiInterpreter::window_of(const Record& record) const {
  const auto found = mpi_.comms.windows.find(record.aux16);
  return found == mpi_.comms.windows.end() ? nullptr : &found->second;
}

OTF2_CommRef MpiInterpreter::reference(const LocalComm& comm) const {
  return mpi_.first_comm + comm.index;
}

Collective MpiInterpreter::collective_of(const Record& record, const Record& amount,
                                         const LocalComm& comm) const {
  Collective out;
  out.operation = static_cast<OTF2_CollectiveOp>(record.sub);
  out.comm = reference(comm);
  out.root = record.aux32 == spool::kMpiNoRoot ? OTF2_UNDEFINED_UINT32 : record.aux32;
  out.sent = amount.payload;
  out.received = amount.a48();
  return out;
}

// Number of the record's message; both ends have the same.
std::uint64_t MpiInterpreter::number_of(bool sent, const Record& message,
                                        const Record& amount) const {
  return input_.process->journal->mpi.right_number(
      {sent, message.aux16, message.aux32, static_cast<std::uint32_t>(message.payload)},
      amount.a48());
}

bool MpiInterpreter::keeps(const Channel& channel, std::uint64_t number) const {
  return mpi_.plan != nullptr && mpi_.plan->keeps(channel, number);
}

bool MpiInterpreter::keeps_collective(std::uint64_t comm, std::uint64_t number) const {
  return mpi_.plan != nullptr && mpi_.plan->keeps_collective(comm, number);
}

std::uint64_t MpiInterpreter::open_request(std::uint32_t request, Request opened) {
  opened.ordinal = ordinals_++;
  if (input_.decide != nullptr) input_.decide->push_back(false);
  const std::uint64_t ordinal = opened.ordinal;
  requests_[request] = opened;
  return ordinal;
}

bool MpiInterpreter::decided(std::uint64_t ordinal) const {
  return input_.decided != nullptr && ordinal < input_.decided->size() &&
         (*input_.decided)[ordinal];
}

void MpiInterpreter::decide(std::uint64_t ordinal, bool kept) {
  if (input_.decide != nullptr) (*input_.decide)[ordinal] = kept;
}

void MpiInterpreter::send(const Record& record, std::size_t index) {
  const LocalComm* comm = comm_of(record);
  const Record* amount = amount_after(index);
  const std::uint32_t peer = comm == nullptr ? kNoRank : comm->world_rank(record.aux32);
  if (amount == nullptr || peer == kNoRank) {
    ++outcome_.mpi.sends_dropped;
    return;
  }
  const Channel channel{comm->identity, mpi_.comms.rank, peer,
                        static_cast<std::uint32_t>(record.payload)};
  const std::uint64_t number = number_of(true, record, *amount);
  if (input_.collect != nullptr) input_.collect->sent[channel].add(number);
  const bool kept = keeps(channel, number);
  std::uint64_t request = 0;
  if (const std::uint32_t id = request_of(record); id != 0) {
    Request opened;
    opened.kept = kept;
    const std::uint64_t ordinal = open_request(id, opened);
    if (decided(ordinal)) request = id_of(ordinal);
  }
  if (!kept) {
    ++outcome_.mpi.sends_dropped;
    return;
  }
  ++outcome_.mpi.sends;
  outcome_.mpi.bytes_sent += amount->payload;
  if (input_.checks != nullptr) input_.checks->sent(channel, number, record.ticks);
  const MessageEnd message{record.aux32, reference(*comm), channel.tag, amount->payload};
  stack_.point(record.ticks,
               [&](EventSink& sink) { sink.send(record.ticks, message, request); });
}

void MpiInterpreter::receive(const Record& record, std::size_t index) {
  const LocalComm* comm = comm_of(record);
  const Record* amount = amount_after(index);
  const std::uint32_t peer = comm == nullptr ? kNoRank : comm->world_rank(record.aux32);
  const std::uint32_t id = request_of(record);
  const auto open = id == 0 ? requests_.end() : requests_.find(id);
  const bool posted = open != requests_.end() && open->second.start == Start::kReceive;
  if (amount == nullptr || peer == kNoRank || (id != 0 && !posted)) {
    ++outcome_.mpi.receives_dropped;
    return;
  }
  const Channel channel{comm->identity, peer, mpi_.comms.rank,
                        static_cast<std::uint32_t>(record.payload)};
  const std::uint64_t number = number_of(false, record, *amount);
  if (input_.collect != nullptr) {
    const std::uint64_t place = posted ? open->second.ordinal : ordinals_;
    input_.collect->received[channel].add(number);
    open_receives_.gone(place);
    open_receives_.received(record, place, channel, number);
  }
  const bool kept = keeps(channel, number);
  std::uint64_t request = 0;
  if (posted) {
    decide(open->second.ordinal, kept);
    request = id_of(open->second.ordinal);
    requests_.erase(open);
  }
  if (!kept) {
    ++outcome_.mpi.receives_dropped;
    return;
  }
  ++outcome_.mpi.receives;
  outcome_.mpi.bytes_received += amount->payload;
  if (input_.checks != nullptr) input_.checks->received(channel, number, record.ticks);
  const MessageEnd message{record.aux32, reference(*comm), channel.tag, amount->payload};
  stack_.point(record.ticks,
               [&](EventSink& sink) { sink.receive(record.ticks, message, request); });
}

void MpiInterpreter::post(const Record& record) {
  Request opened;
  opened.start = Start::kReceive;
  const std::uint64_t ordinal = open_request(request_of(record), opened);
  if (input_.collect != nullptr) open_receives_.posted(record, ordinal);
  if (!decided(ordinal)) return;
  stack_.point(record.ticks, [&](EventSink& sink) {
    sink.receive_request(record.ticks, id_of(ordinal));
  });
}

void MpiInterpreter::done(const Record& record) {
  const auto open = requests_.find(request_of(record));
  if (open == requests_.end() || open->second.start == Start::kReceive) return;
  const Request request = open->second;
  requests_.erase(open);
  if (request.start == Start::kCollective) return collective_done(record.ticks, request);
  decide(request.ordinal, request.kept);
  if (!decided(request.ordinal)) return;
  stack_.point(record.ticks, [&](EventSink& sink) {
    sink.send_complete(record.ticks, id_of(request.ordinal));
  });
}

std::uint32_t MpiInterpreter::innermost() const {
  return stack_.size() == 0 ? regions::kNoRegion : stack_[stack_.size() - 1].region;
}

// A call ends: it may be the last of several coalesced polls.
void MpiInterpreter::polled(const Record& record) {
  if (record.a48() == 0) return;
  outcome_.mpi.polls_together += record.a48();
  const std::uint32_t call = innermost();
  stack_.point(record.ticks,
               [&](EventSink& sink) { sink.polls(record.ticks, record.a48() + 1, call); });
}

void MpiInterpreter::tested(const Record& record) {
  const auto open = requests_.find(request_of(record));
  if (open == requests_.end() || !decided(open->second.ordinal)) return;
  const std::uint64_t request = id_of(open->second.ordinal);
  const std::uint32_t call = innermost();
  stack_.point(record.ticks,
               [&](EventSink& sink) { sink.request_test(record.ticks, request, call); });
}

// A cancelled receive got nothing: its request is written, and no message is missing.
void MpiInterpreter::cancelled(const Record& record) {
  const auto open = requests_.find(request_of(record));
  if (open == requests_.end()) return;
  const Request request = open->second;
  requests_.erase(open);
  if (request.start != Start::kReceive) return;
  open_receives_.gone(request.ordinal);
  decide(request.ordinal, true);
  if (!decided(request.ordinal)) return;
  stack_.point(record.ticks, [&](EventSink& sink) {
    sink.request_cancelled(record.ticks, id_of(request.ordinal));
  });
}

void MpiInterpreter::finish() {
  if (input_.collect != nullptr && input_.died) open_receives_.leave_out(*input_.collect);
}

void MpiInterpreter::collective(const Record& record, std::size_t index) {
  if (const LocalWindow* window = window_of(record))
    return window_collective(record, index, *window);
  const LocalComm* comm = comm_of(record);
  const Record* amount = amount_after(index);
  if (comm == nullptr || amount == nullptr) {
    ++outcome_.mpi.collectives_dropped;
    return;
  }
  Request request;
  request.start = Start::kCollective;
  request.comm = comm->identity;
  request.number = collective_number(record);
  request.collective = collective_of(record, *amount, *comm);
  if (const std::uint32_t id = request_of(record); id != 0) {
    const std::uint64_t ordinal = open_request(id, request);
    if (!decided(ordinal)) return;
    stack_.point(record.ticks, [&](EventSink& sink) {
      sink.collective_request(record.ticks, id_of(ordinal));
    });
    return;
  }
  if (input_.collect != nullptr)
    input_.collect->collectives[request.comm].add(request.number);
  if (!keeps_collective(request.comm, request.number)) {
    ++outcome_.mpi.collectives_dropped;
    return;
  }
  ++outcome_.mpi.collectives;
  const bool begun = begun_collective_ == index;
  begun_collective_ = kNone;
  stack_.point(record.ticks, [&](EventSink& sink) {
    if (!begun) sink.collective_begin(record.ticks);
    sink.collective_end(record.ticks, request.collective);
  });
}

void MpiInterpreter::collective_done(std::uint64_t ticks, const Request& request) {
  if (input_.collect != nullptr)
    input_.collect->collectives[request.comm].add(request.number);
  const bool kept = keeps_collective(request.comm, request.number);
  decide(request.ordinal, kept);
  if (!kept) {
    ++outcome_.mpi.collectives_dropped;
    return;
  }
  ++outcome_.mpi.collectives;
  if (!decided(request.ordinal)) return;
  stack_.point(ticks, [&](EventSink& sink) {
    sink.collective_complete(ticks, request.collective, id_of(request.ordinal));
  });
}

void MpiInterpreter::window_collective(const Record& record, std::size_t index,
                                       const LocalWindow& window) {
  const std::uint64_t number = (record.payload & 0xffffffff) >> 1;
  if (input_.collect != nullptr) input_.collect->collectives[window.identity].add(number);
  if (!keeps_collective(window.identity, number)) {
    ++outcome_.mpi.one_sided_dropped;
    return;
  }
  const bool begun = begun_collective_ == index;
  begun_collective_ = kNone;
  stack_.point(record.ticks, [&](EventSink& sink) {
    if (!begun) sink.rma_collective_begin(record.ticks);
    sink.rma_collective_end(record.ticks, static_cast<OTF2_CollectiveOp>(record.sub),
                            window.index);
  });
}

void MpiInterpreter::one_sided(const Record& record) {
  const LocalWindow* window = window_of(record);
  if (window == nullptr) {
    ++outcome_.mpi.one_sided_dropped;
    return;
  }
  switch (record.sub) {
    case spool::kMpiRmaComplete:
      return operations_complete(record, *window);
    case spool::kMpiRmaGroupSync: {
      const auto group = mpi_.comms.groups.find(static_cast<std::uint16_t>(record.aux32));
      if (group == mpi_.comms.groups.end()) {
        ++outcome_.mpi.one_sided_dropped;
        return;
      }
      return stack_.point(record.ticks, [&](EventSink& sink) {
        sink.rma_group_sync(record.ticks, window->index, mpi_.group_of(group->second),
                            static_cast<OTF2_RmaSyncLevel>(record.payload));
      });
    }
    case spool::kMpiRmaRequestLock:
      return stack_.point(record.ticks, [&](EventSink& sink) {
        sink.rma_request_lock(record.ticks, window->index, record.aux32,
                              record.payload != 0);
      });
    case spool::kMpiRmaReleaseLock:
      return stack_.point(record.ticks, [&](EventSink& sink) {
        sink.rma_release_lock(record.ticks, window->index, record.aux32);
      });
    default:
      break;
  }
  const std::uint64_t id = operation_ids_++;
  operations_.push_back({record.aux16, record.aux32, id});
  ++outcome_.mpi.one_sided;
  stack_.point(record.ticks, [&](EventSink& sink) {
    sink.rma(record.ticks, record.sub, window->index, record.aux32, record.payload, id);
  });
}

void MpiInterpreter::operations_complete(const Record& record, const LocalWindow& window) {
  const auto is_complete = [&record](const Operation& operation) {
    return operation.window == record.aux16 &&
           (record.aux32 == spool::kMpiNoRoot || operation.target == record.aux32);
  };
  for (const Operation& operation : operations_)
    if (is_complete(operation))
      stack_.point(record.ticks, [&](EventSink& sink) {
        sink.rma_complete(record.ticks, window.index, operation.id);
      });
  std::erase_if(operations_, is_complete);
}

namespace {

// Returns true if the receive posted by `post` takes this message, too.
bool takes(const spool::Record& post, const spool::Record& message) {
  const auto tag = [](const spool::Record& record) { return record.payload >> 32; };
  return post.aux16 == message.aux16 &&
         ((post.sub & spool::kMpiAnySource) != 0 || post.aux32 == message.aux32) &&
         ((post.sub & spool::kMpiAnyTag) != 0 ||
          tag(post) == static_cast<std::uint32_t>(message.payload));
}

}  // namespace

void OpenReceives::posted(const spool::Record& post, std::uint64_t place) {
  if (post.sub != 0) open_.push_back({post, place, {}});
}

void OpenReceives::gone(std::uint64_t place) {
  std::erase_if(open_, [place](const Open& open) { return open.place == place; });
}

void OpenReceives::received(const spool::Record& message, std::uint64_t place,
                            const Channel& channel, std::uint64_t number) {
  for (Open& open : open_) {
    if (open.place >= place || !takes(open.post, message)) continue;
    std::uint64_t& least = open.first_later.try_emplace(channel, number).first->second;
    least = std::min(least, number);
  }
}

void OpenReceives::leave_out(MessageLog& log) const {
  for (const Open& open : open_)
    for (const auto& [channel, number] : open.first_later) {
      NumberRanges& received = log.received[channel];
      received.normalize();
      received = intersect(received, {{0, number}});
    }
}

}  // namespace refrain::writer
