#include "waits/modules/pattern_modules.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

namespace refrain::waits {
namespace {

std::string text(const char* of_module) { return of_module == nullptr ? "" : of_module; }

refrain_call call_of(const Call& call, Call* takes) {
  return {.process = call.process,
          .location = call.location,
          .path = call.path,
          .multiple = call.multiple,
          .test = call.test,
          .neighbours = call.neighbours,
          .enter = call.enter,
          .leave = call.leave,
          .own = call.own,
          .of_host = takes};
}

constexpr std::pair<refrain_event_kind, Compound> kCompounds[] = {
    {REFRAIN_CALL, Compound::kCall},
    {REFRAIN_RECEIVE, Compound::kReceive},
    {REFRAIN_LATE_SENDER, Compound::kLateSender},
    {REFRAIN_WRONG_ORDER, Compound::kWrongOrder},
    {REFRAIN_SEND, Compound::kSend},
    {REFRAIN_COLLECTIVE, Compound::kCollective},
    {REFRAIN_COLLECTIVE_COMPLETION, Compound::kCollectiveCompletion},
    {REFRAIN_ACCESS_EPOCH, Compound::kAccessEpoch},
    {REFRAIN_EXPOSURE_EPOCH, Compound::kExposureEpoch},
    {REFRAIN_LOCK_EPOCH, Compound::kLockEpoch},
    {REFRAIN_BARRIER, Compound::kBarrier},
    {REFRAIN_TASK_WAIT, Compound::kTaskWait},
    {REFRAIN_FORK, Compound::kFork},
    {REFRAIN_LOCK_WAIT, Compound::kLockWait},
    {REFRAIN_LEFT_OUT, Compound::kLeftOut},
};

static_assert(static_cast<int>(CollectiveKind::kBarrier) == REFRAIN_KIND_BARRIER &&
              static_cast<int>(CollectiveKind::kOneToAll) == REFRAIN_KIND_ONE_TO_ALL &&
              static_cast<int>(CollectiveKind::kScan) == REFRAIN_KIND_SCAN &&
              static_cast<int>(CollectiveKind::kInit) == REFRAIN_KIND_INIT &&
              static_cast<int>(CollectiveKind::kFence) == REFRAIN_KIND_FENCE &&
              static_cast<int>(CollectiveKind::kOther) == REFRAIN_KIND_OTHER);

}  // namespace

ModulePattern::ModulePattern(const refrain_pattern_info& info, std::string of)
    : info_(info), of_(std::move(of)), host_(functions(this)) {}

ModulePattern::~ModulePattern() {
  if (pattern_ != nullptr) info_.destroy(pattern_);
}

refrain_host ModulePattern::functions(ModulePattern* self) {
  static constexpr auto of = [](void* it) { return static_cast<ModulePattern*>(it); };
  return {
      .self = self,
      .charge =
          [](void* it, std::uint32_t location, std::uint32_t path, std::uint64_t ticks) {
            if (of(it)->there_is(LocationId(location), PathId(path)))
              of(it)->charge(LocationId(location), PathId(path), ticks);
          },
      .charge_call =
          [](void* it, const refrain_call* call, std::uint64_t ticks) {
            if (!of(it)->there_is(LocationId(call->location), PathId(call->path))) return;
            Call charged;
            charged.location = LocationId(call->location);
            charged.path = PathId(call->path);
            charged.own = call->own;
            of(it)->charge(charged, ticks);
          },
      .take = [](void*, const refrain_call* call, std::uint64_t wanted) -> std::uint64_t {
        return call->of_host == nullptr
                   ? 0
                   : static_cast<Call*>(call->of_host)->take_more(wanted);
      },
      .region =
          [](void* it, std::uint32_t process, std::uint32_t path, refrain_region* to) {
            RunView::Region found;
            const RunView* run = of(it)->run_;
            if (run == nullptr || !run->region(ProcessId(process), PathId(path), found))
              return 0;
            *to = {found.name, found.file, found.line, found.site};
            return 1;
          },
      .parent = [](void* it, std::uint32_t process, std::uint32_t path) -> std::uint32_t {
        const RunView* run = of(it)->run_;
        return run == nullptr ? kNone : run->parent(ProcessId(process), PathId(path));
      },
      .location =
          [](void* it, std::uint32_t number, refrain_location* to) {
            RunView::Location found;
            const RunView* run = of(it)->run_;
            if (run == nullptr || !run->location(LocationId(number), found)) return 0;
            *to = {found.process, found.thread, found.rank};
            return 1;
          },
      .fail =
          [](void* it, const char* message) {
            std::string line = "the pattern of the metric '" + text(of(it)->info_.name) +
                               "' (" + of(it)->of_ + ") has failed: " + text(message);
            std::ranges::replace(line, '\n', ' ');
            of(it)->failed_ = true;
            of(it)->Pattern::fail(line);
          },
  };
}

bool ModulePattern::there_is(LocationId location, PathId path) {
  RunView::Location at;
  RunView::Region region;
  const bool found = run_ != nullptr && run_->location(location, at) &&
                     run_->region(at.process, path, region);
  if (!found) host_.fail(this, "it charges to a location or call path that does not exist");
  return found;
}

MetricInfo ModulePattern::metric() const {
  return {text(info_.name),        text(info_.parent), text(info_.title),
          text(info_.description), text(info_.cause),  true};
}

std::vector<Compound> ModulePattern::wants() const {
  std::vector<Compound> wanted;
  for (const auto& [kind, compound] : kCompounds)
    if ((info_.wants >> kind & 1) != 0) wanted.push_back(compound);
  return wanted;
}

void ModulePattern::notify(std::uint32_t kind, const void* event) {
  if (!failed_ && pattern_ != nullptr) info_.event(pattern_, kind, event);
}

void ModulePattern::begin(const RunView& run) {
  run_ = &run;
  pattern_ = info_.create(&host_, info_.data);
  if (pattern_ == nullptr && !failed_) host_.fail(this, "it could not be made");
  const refrain_run event = {run.ticks_per_second(), run.processes(), run.locations()};
  notify(REFRAIN_BEGIN, &event);
}

void ModulePattern::call(const Call& event) {
  const refrain_call call = call_of(event, nullptr);
  notify(REFRAIN_CALL, &call);
}

void ModulePattern::receive(ReceiveCall& event) {
  messages_.clear();
  for (const Received& each : event.messages)
    messages_.push_back({each.sent, each.source, each.sender});
  const refrain_receive receive = {call_of(event.call, &event.call), messages_.data(),
                                   messages_.size()};
  notify(REFRAIN_RECEIVE, &receive);
}

void ModulePattern::late_sender(const LateSender& event) {
  const refrain_late_sender late = {
      call_of(event.call, nullptr),
      {event.message.sent, event.message.source, event.message.sender},
      event.wait};
  notify(REFRAIN_LATE_SENDER, &late);
}

void ModulePattern::wrong_order(const WrongOrder& event) {
  const refrain_wrong_order order = {event.location, event.path, event.wait,
                                     event.same_source};
  notify(REFRAIN_WRONG_ORDER, &order);
}

void ModulePattern::send(SendCall& event) {
  posted_.clear();
  for (const PostedReceive& each : event.posted)
    posted_.push_back({each.enter, each.receiver});
  const refrain_send send = {call_of(event.call, &event.call), posted_.data(),
                             posted_.size(), event.late_sender};
  notify(REFRAIN_SEND, &send);
}

void ModulePattern::collective(CollectiveMember& event) {
  const refrain_collective member = {.call = call_of(event.call, &event.call),
                                     .kind = static_cast<std::uint32_t>(event.kind),
                                     .root = event.root,
                                     .latest_enter = event.latest_enter,
                                     .earliest_leave = event.earliest_leave,
                                     .root_enter = event.root_enter,
                                     .lower_enter = event.lower_enter,
                                     .accessed = event.accessed};
  notify(REFRAIN_COLLECTIVE, &member);
}

void ModulePattern::collective_completion(CollectiveCompletion& event) {
  const refrain_collective_completion completion = {call_of(event.call, &event.call),
                                                    event.until};
  notify(REFRAIN_COLLECTIVE_COMPLETION, &completion);
}

void ModulePattern::access_epoch(AccessEpoch& event) {
  accesses_.clear();
  for (AccessCall& each : event.calls)
    accesses_.push_back({call_of(each.call, &each.call), each.posted});
  const refrain_access_epoch epoch = {
      call_of(event.start, &event.start), call_of(event.complete, &event.complete),
      accesses_.data(), accesses_.size(), event.latest_post};
  notify(REFRAIN_ACCESS_EPOCH, &epoch);
}

void ModulePattern::exposure_epoch(ExposureEpoch& event) {
  const refrain_exposure_epoch epoch = {call_of(event.wait, &event.wait),
                                        event.latest_complete, event.last_access};
  notify(REFRAIN_EXPOSURE_EPOCH, &epoch);
}

void ModulePattern::lock_epoch(LockEpoch& event) {
  lock_accesses_.clear();
  for (LockCall& each : event.calls)
    lock_accesses_.push_back({call_of(each.call, &each.call), each.target, each.progress});
  const refrain_lock_epoch epoch = {lock_accesses_.data(), lock_accesses_.size(),
                                    event.released};
  notify(REFRAIN_LOCK_EPOCH, &epoch);
}

void ModulePattern::barrier(TeamBarrier& event) {
  const refrain_barrier barrier = {call_of(event.call, &event.call), event.is_explicit,
                                   event.latest_enter, event.ran};
  notify(REFRAIN_BARRIER, &barrier);
}

void ModulePattern::task_wait(TaskWait& event) {
  const refrain_task_wait wait = {call_of(event.call, &event.call), event.children_done,
                                  event.ran};
  notify(REFRAIN_TASK_WAIT, &wait);
}

void ModulePattern::fork(const TeamFork& event) {
  const refrain_fork fork = {event.location, event.path, event.delay};
  notify(REFRAIN_FORK, &fork);
}

void ModulePattern::lock_wait(const LockWait& event) {
  const refrain_lock_wait wait = {event.location, event.path, event.wait, event.critical};
  notify(REFRAIN_LOCK_WAIT, &wait);
}

void ModulePattern::left_out(const LeftOut& event) {
  const refrain_left_out left = {event.location, event.path, event.time};
  notify(REFRAIN_LEFT_OUT, &left);
}

void ModulePattern::finish() { notify(REFRAIN_FINISH, nullptr); }

}  // namespace refrain::waits

namespace refrain::waits {
namespace {

std::string last_error() {
  const char* text = dlerror();
  std::string line = text == nullptr ? "unknown error" : text;
  std::ranges::replace(line, '\n', ' ');
  return line;
}

// What is missing, or nothing.
base::Result<> check(const refrain_pattern_list& list) {
  if (list.count != 0 && list.patterns == nullptr)
    return base::Failure{"it has no list of patterns"};
  for (std::uint32_t i = 0; i < list.count; ++i) {
    const refrain_pattern_info& each = list.patterns[i];
    if (each.name == nullptr || each.name[0] == '\0')
      return base::Failure{"pattern " + std::to_string(i) + " has no name"};
    if (each.create == nullptr || each.destroy == nullptr || each.event == nullptr)
      return base::Failure{std::string("its pattern '") + each.name + "' lacks a function"};
  }
  return {};
}

}  // namespace

base::Result<> PatternModules::load(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error))
    return base::Failure{"'" + file + "': no such file"};
  // A name without a slash would be looked for among the system's libraries.
  const std::string path = std::filesystem::absolute(file, error).string();
  void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr)
    return base::Failure{"'" + file + "' cannot be loaded: " + last_error()};
  const auto function =
      reinterpret_cast<refrain_patterns_function>(dlsym(loaded, "refrain_patterns"));
  if (function == nullptr)
    return base::Failure{"'" + file +
                         "' offers no patterns: it has no function refrain_patterns "
                         "(REFRAIN_PATTERNS of refrain_patterns.h makes it)"};
  const refrain_pattern_list* list = function();
  if (list == nullptr) return base::Failure{"'" + file + "' offers no patterns"};
  if (list->version != REFRAIN_PATTERNS_VERSION)
    return base::Failure{"'" + file + "' was built for version " +
                         std::to_string(list->version) +
                         " of refrain_patterns.h, this refrain has version " +
                         std::to_string(REFRAIN_PATTERNS_VERSION) +
                         ": build it again with the header that was installed with it"};
  if (const auto done = check(*list); !done)
    return base::Failure{"'" + file + "' cannot be used: " + done.error()};
  modules_.push_back({file, list});
  return {};
}

std::vector<std::unique_ptr<Pattern>> PatternModules::make() const {
  std::vector<std::unique_ptr<Pattern>> made;
  for (const Module& module : modules_)
    for (std::uint32_t i = 0; i < module.list->count; ++i)
      made.push_back(
          std::make_unique<ModulePattern>(module.list->patterns[i], module.file));
  return made;
}

}  // namespace refrain::waits
