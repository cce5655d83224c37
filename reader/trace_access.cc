#include "reader/trace_access.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <utility>

namespace refrain::reader {
namespace {

bool is_team_barrier(const RegionInfo& region) {
  return region.paradigm != OTF2_PARADIGM_MPI &&
         (region.role == OTF2_REGION_ROLE_BARRIER ||
          region.role == OTF2_REGION_ROLE_IMPLICIT_BARRIER);
}

}  // namespace

EventWindow::~EventWindow() = default;

base::Result<> EventWindow::begin(const TraceDefinitions& definitions) {
  definitions_ = &definitions;
  locations_.resize(definitions.locations.size());
  for (std::size_t i = 0; i < locations_.size(); ++i)
    locations_[i].process =
        std::min(definitions.locations[i].process, ProcessId(definitions.processes.size()));
  matcher_ = std::make_unique<MessageMatcher>(
      definitions, [this](const MatchedMessage& message) { matched(message); },
      [this](const MessageChannel&, const MessageSide& side, bool) { take_message(side); });
  collectives_ = std::make_unique<Collectives>(definitions);
  teams_ = std::make_unique<Teams>(definitions);
  return {};
}

base::Result<> EventWindow::finish(std::uint64_t) {
  matcher_->flush();
  return {};
}

const StatefulEvent* EventWindow::next() {
  if (order_.empty()) return nullptr;
  const EventId id = order_.front();
  order_.pop_front();
  Location& at = locations_[id.location];
  while (id.number - at.first > before_) {
    stacks_.release(at.events.front().stack);
    at.events.pop_front();
    ++at.first;
  }
  return &at.events[id.number - at.first];
}

StatefulEvent* EventWindow::entry(EventId id) {
  return const_cast<StatefulEvent*>(std::as_const(*this).find(id));
}

const StatefulEvent* EventWindow::find(EventId id) const {
  if (id.location >= locations_.size()) return nullptr;
  const Location& at = locations_[id.location];
  if (id.number < at.first || id.number - at.first >= at.events.size()) return nullptr;
  return &at.events[id.number - at.first];
}

std::vector<OpenRegion> EventWindow::open_regions(const StatefulEvent& at) const {
  std::vector<OpenRegion> open;
  for (OpenRegions::Stack stack = at.stack; stack != kNone; stack = stacks_.around(stack))
    open.push_back(stacks_.innermost(stack));
  return open;
}

std::uint64_t EventWindow::memory() const {
  std::uint64_t events = stacks_.memory() + order_.size();
  for (const Location& at : locations_) events += at.events.size() + at.requests.size();
  return events;
}

void EventWindow::event(const TraceEvent& event) {
  Location& at = locations_[event.location];
  StatefulEvent& entry = at.events.emplace_back();
  entry.event = event;
  entry.number = at.first + at.events.size() - 1;
  const std::size_t extras = std::size_t{event.metrics} + event.attributes;
  if (extras != 0) entry.extras.assign(event.extras, event.extras + extras);
  entry.event.extras = entry.extras.data();
  entry.team = teams_->of(event.location);
  if (event.kind == EventKind::kEnter || event.kind == EventKind::kLeave) {
    if (event.ref < definitions_->regions.size() &&
        definitions_->regions[event.ref].is_loop)
      iteration(at, entry);
    else if (event.kind == EventKind::kEnter)
      enter(at, entry);
    else
      leave(at, entry);
  }
  if (entry.stack == kNone && !at.open.empty() && event.kind != EventKind::kLeave) {
    entry.stack = at.open.back().stack;
    stacks_.use(entry.stack);
  }
  entry.in_region = entry.stack != kNone;
  if (entry.in_region) entry.region = stacks_.innermost(entry.stack);
  other(at, entry);
  order_.push_back(entry.id());
}

void EventWindow::enter(Location& at, StatefulEvent& event) {
  at.open.push({event.event.ref,
                stacks_.enter(at.open.empty() ? kNone : at.open.back().stack,
                              RegionId(event.event.ref), event.id(), event.event.ticks)});
  if (event.event.ref < definitions_->regions.size() &&
      is_team_barrier(definitions_->regions[event.event.ref]))
    event.barrier = teams_->enter_barrier(event.id(), event.event.ticks);
}

// A Leave without Enter changes nothing. Regions inside that were not left end with it.
void EventWindow::leave(Location& at, StatefulEvent& event) {
  const std::size_t ended = at.open.ended_by(event.event.ref);
  if (ended == 0) return;
  for (std::size_t i = 1; i < ended; ++i) stacks_.release(at.open.pop().stack);
  event.stack = at.open.pop().stack;  // which is the event's now
  if (StatefulEvent* begin = entry(stacks_.innermost(event.stack).enter))
    begin->leave = event.id();
  if (is_team_barrier(definitions_->regions[event.event.ref]))
    event.barrier = teams_->leave_barrier(event.id(), event.event.ticks);
}

void EventWindow::iteration(Location& at, StatefulEvent& event) {
  event.of_iteration = true;
  if (event.event.kind == EventKind::kEnter) {
    at.iterations.emplace_back(event.event.ref, event.id());
    return;
  }
  while (!at.iterations.empty()) {
    const auto [region, begin] = at.iterations.back();
    at.iterations.pop_back();
    if (region != event.event.ref) continue;
    event.partner = begin;
    if (StatefulEvent* other = entry(begin)) other->partner = event.id();
    return;
  }
}

void EventWindow::request(Location& at, StatefulEvent& event, bool begins, bool ends) {
  const EventId id = event.id();
  const auto open = at.requests.find(event.event.request);
  if (begins || open == at.requests.end()) {
    if (begins) event.request = {id, event.event.ticks, {}, {}};
  } else {
    const RequestLinks& links = open->second;
    event.request = {links.begun, links.begun_ticks, links.after, {}};
    if (StatefulEvent* before = entry(links.after)) before->request.after = id;
  }
  if (ends) {
    if (open != at.requests.end()) at.requests.erase(open);
    return;
  }
  if (!event.request.begun.known()) return;
  if (open == at.requests.end() && at.requests.size() >= kMaxRequests)
    at.requests.erase(at.requests.begin());
  at.requests[event.event.request] = {
      event.request.begun, event.request.begun_ticks, {}, id};
}

void EventWindow::message_end(Location& at, StatefulEvent& event, bool sends) {
  const TraceEvent& e = event.event;
  const bool known =
      definitions_->process_of(e.ref, e.peer, at.process) < definitions_->processes.size();
  if (!known) return matcher_->event(e, {.location = e.location});
  auto message = std::make_shared<Message>();
  message->bytes = e.bytes;
  message->comm = e.ref;
  message->tag = e.tag;
  MessageEnd& end = sends ? message->send : message->receive;
  end = {.event = event.id(),
         .enter = event.region.enter,
         .ticks = e.ticks,
         .enter_ticks = event.in_region ? event.region.enter_ticks : e.ticks};
  const bool requested = !sends && event.request.begun.known();
  end.begun_ticks = requested ? event.request.begun_ticks : end.enter_ticks;
  event.message = message;
  at.messages[event.number] = std::move(message);
  matcher_->event(e, {.location = e.location, .number = event.number});
}

std::shared_ptr<Message> EventWindow::take_message(const MessageSide& side) {
  auto& messages = locations_[side.location].messages;
  const auto at = messages.find(side.number);
  if (at == messages.end()) return nullptr;
  std::shared_ptr<Message> message = std::move(at->second);
  messages.erase(at);
  return message;
}

// Both ends have an object of their own, for one may have left the window: now they know of each other.
void EventWindow::matched(const MatchedMessage& found) {
  const std::shared_ptr<Message> send = take_message(found.send),
                                 receive = take_message(found.receive);
  if (send == nullptr || receive == nullptr) return;
  send->receive = receive->receive;
  receive->send = send->send;
  receive->bytes = send->bytes;
}

void EventWindow::other(Location& at, StatefulEvent& event) {
  switch (event.event.kind) {
    case EventKind::kMpiSend:
      return message_end(at, event, true);
    case EventKind::kMpiIsend:
      request(at, event, true, false);
      return message_end(at, event, true);
    case EventKind::kMpiIrecvRequest:
      matcher_->event(event.event, {.location = event.event.location});
      return request(at, event, true, false);
    case EventKind::kNonBlockingCollectiveRequest:
      return request(at, event, true, false);
    case EventKind::kMpiRequestTest:
      return request(at, event, false, false);
    case EventKind::kMpiRequestCancelled:
      matcher_->cancelled(event.event.location, event.event.request);
      return request(at, event, false, true);
    case EventKind::kMpiIsendComplete:
    case EventKind::kNonBlockingCollectiveComplete:
      return request(at, event, false, true);
    case EventKind::kMpiRecv:
      return message_end(at, event, false);
    case EventKind::kMpiIrecv:
      request(at, event, false, true);
      return message_end(at, event, false);
    case EventKind::kMpiCollectiveEnd:
      if (event.event.uncertain) return;
      event.collective = collectives_->end(event.event, event.id(), event.region);
      return;
    case EventKind::kThreadFork:
    case EventKind::kOmpFork:
      event.team = teams_->fork(at.process, event.id(), event.event.ticks);
      return;
    case EventKind::kThreadJoin:
    case EventKind::kOmpJoin:
      event.team = teams_->join(at.process, event.id());
      return;
    case EventKind::kThreadTeamBegin:
      event.team = teams_->begin(at.process, event.id(), event.event.ref);
      return;
    case EventKind::kThreadTeamEnd:
      event.team = teams_->end(event.event.location);
      return;
    default:
      return;
  }
}

const CollectiveInstance::Member* CollectiveInstance::root_member() const {
  const auto found = std::ranges::find(members, root, &Member::rank);
  return root == kNone || found == members.end() ? nullptr : &*found;
}

Collectives::Instance Collectives::end(const TraceEvent& event, EventId id,
                                       const OpenRegion& call) {
  if (event.ref >= comms_.size()) return nullptr;
  CollectiveInstance::Member member = {0, call.enter, id, call.enter_ticks, event.ticks};
  const auto make = [&](std::uint64_t number, std::size_t size) {
    auto made = std::make_shared<CollectiveInstance>();
    made->comm = event.ref;
    made->op = event.op;
    made->number = number;
    made->size = size;
    return made;
  };
  if (definitions_.comms[event.ref].self) {
    auto alone = make(0, 1);
    alone->members.push_back(member);
    return alone;
  }
  auto& comm = comms_[event.ref];
  if (!comm.known())
    comm = std::decay_t<decltype(comm)>(CommMembers(definitions_, event.ref));
  const auto turn = comm.next(definitions_.locations[id.location].process);
  if (turn.operation == nullptr) return nullptr;
  if (*turn.operation == nullptr) *turn.operation = make(turn.number, comm.size());
  const std::shared_ptr<CollectiveInstance> instance = *turn.operation;
  if (event.peer < comm.size()) instance->root = event.peer;
  member.rank = turn.rank;
  instance->members.push_back(member);
  const auto done = [](const auto& each) { return each != nullptr && each->complete(); };
  while (!comm.open.empty() && (done(comm.open.front()) || comm.open.size() > kMaxPending))
    comm.drop_front();
  return instance;
}

Teams::Instance Teams::fork(ProcessId process, EventId id, std::uint64_t ticks) {
  auto team = std::make_shared<Team>();
  team->master = id.location;
  team->instance->fork = id;
  team->instance->fork_ticks = ticks;
  open_[process].push_back(team);
  return team->instance;
}

Teams::Instance Teams::join(ProcessId process, EventId id) {
  auto& open = open_[process];
  const auto last = std::find_if(open.rbegin(), open.rend(), [&](const auto& team) {
    return team->master == id.location;
  });
  if (last == open.rend()) return nullptr;
  const std::shared_ptr<Team> team = std::move(*last);
  open.erase(std::next(last).base());
  team->instance->join = id;
  return team->instance;
}

Teams::Instance Teams::begin(ProcessId process, EventId id, std::uint32_t comm) {
  auto& open = open_[process];
  const auto newest = [&](auto is_it) {
    const auto found = std::find_if(open.rbegin(), open.rend(), is_it);
    return found == open.rend() ? nullptr : *found;
  };
  auto team = newest([&](const auto& each) {
    const TeamInstance& it = *each->instance;
    return each->master == id.location && (it.comm == kNone || it.comm == comm) &&
           std::ranges::find(it.members, id.location, &EventId::location) ==
               it.members.end();
  });
  if (team == nullptr)
    team = newest([&](const auto& each) { return each->instance->comm == comm; });
  if (team == nullptr)
    team = newest([&](const auto& each) { return each->instance->comm == kNone; });
  if (team == nullptr) return nullptr;
  team->instance->comm = comm;
  team->instance->members.push_back(id);
  threads_[id.location].push_back({team, 0, nullptr, 0});
  return team->instance;
}

Teams::Instance Teams::end(LocationId location) {
  Instance instance = of(location);
  if (instance != nullptr) threads_[location].pop_back();
  return instance;
}

Teams::Instance Teams::of(LocationId location) const {
  const auto& memberships = threads_[location];
  return memberships.empty() ? nullptr : memberships.back().team->instance;
}

Teams::Barrier Teams::enter_barrier(EventId id, std::uint64_t ticks) {
  if (threads_[id.location].empty()) return nullptr;
  Membership& own = threads_[id.location].back();
  Team& team = *own.team;
  const std::uint64_t number = own.barriers++;
  own.in = nullptr;
  if (number < team.first) return nullptr;
  while (number - team.first >= team.barriers.size()) {
    auto& made = team.barriers.emplace_back().instance;
    made->team = team.instance;
    made->number = team.first + team.barriers.size() - 1;
  }
  own.in = team.barriers[number - team.first].instance;
  own.member = own.in->members.size();
  own.in->members.push_back({.enter = id, .leave = {}, .enter_ticks = ticks});
  if (team.barriers.size() > Collectives::kMaxPending) {
    team.barriers.pop_front();
    ++team.first;
  }
  return own.in;
}

Teams::Barrier Teams::leave_barrier(EventId id, std::uint64_t ticks) {
  if (threads_[id.location].empty()) return nullptr;
  Membership& own = threads_[id.location].back();
  if (own.in == nullptr) return nullptr;
  own.in->members[own.member].leave = id;
  own.in->members[own.member].leave_ticks = ticks;
  Team& team = *own.team;
  const std::uint64_t number = own.in->number;
  if (number >= team.first) ++team.barriers[number - team.first].left;
  // When the first one leaves, all have entered; when all have left, nobody comes any more.
  const std::size_t members = team.instance->members.size();
  while (!team.barriers.empty() && team.barriers.front().left >= members) {
    team.barriers.pop_front();
    ++team.first;
  }
  return std::move(own.in);
}

base::Result<> TraceAccess::open(const std::string& archive) {
  auto opened = stream_.open(archive);
  error_ = opened.error();
  return opened;
}

const StatefulEvent* TraceAccess::next() {
  if (!error_.empty()) return nullptr;
  if (!started_) {
    started_ = true;
    error_ = stream_.start(window_).error();
  }
  while (error_.empty() && !finished_ && window_.ahead() <= after_) {
    error_ = stream_.advance(after_ + 1 - window_.ahead()).error();
    if (!error_.empty() || !stream_.at_end()) continue;
    finished_ = true;
    error_ = stream_.finish().error();
  }
  return error_.empty() ? window_.next() : nullptr;
}

}  // namespace refrain::reader
