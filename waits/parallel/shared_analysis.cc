#include "waits/parallel/shared_analysis.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "exchange/mailboxes.h"
#include "reader/trace.h"
#include "waits/parallel/step_bytes.h"
#include "waits/parallel/step_splitter.h"
#include "waits/replay/joint_replay.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {
namespace {

using paths::Place;

constexpr const char* kStopped = "another part of the analysis has failed";
constexpr const char* kDamaged = "what another part of the analysis has found is damaged";

void put(exchange::Bytes& out, const void* data, std::size_t bytes) {
  if (bytes == 0) return;
  const auto* from = static_cast<const std::uint8_t*>(data);
  out.insert(out.end(), from, from + bytes);
}
template <typename Value>
void put(exchange::Bytes& out, const Value& value) {
  put(out, &value, sizeof value);
}

// Values that were put there; not ok() beyond the end.
class Taker {
 public:
  explicit Taker(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
  template <typename Value>
  Value take() {
    Value value{};
    const auto from = take_bytes(sizeof value);
    if (from.size() == sizeof value) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::span<const std::uint8_t> take_bytes(std::size_t count) {
    if (count > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::span<const std::uint8_t> rest_;
  bool ok_ = true;
};

Say said(const exchange::Bytes& bytes) {
  return bytes.empty() ? Say::kError : static_cast<Say>(bytes[0]);
}

// What the causers of one reader's waits did, between two readers: each path's name once, then by its number.
//
// Thread-safety: none. One a pair of readers and direction.
class ActivityWriter {
 public:
  void put_next(const paths::Activity& activity, const paths::PathNames& names) {
    const bool same = !first_ && activity == latest_;
    first_ = false;
    const auto& all = names.all();
    Head head{activity.since, activity.waited, 0, 0, same};
    if (!same) {
      head.names = static_cast<std::uint32_t>(all.size() - known_);
      head.times = static_cast<std::uint32_t>(activity.times.size());
      latest_ = activity;
    }
    put(bytes_, head);
    if (same) return;
    for (; known_ < all.size(); ++known_)
      put(bytes_, Name{all[known_].parent, all[known_].region});
    put(bytes_, activity.times.data(),
        activity.times.size() * sizeof(paths::Activity::Time));
  }
  exchange::Bytes& bytes() { return bytes_; }

  struct Head {
    Ticks since, waited;
    std::uint32_t names, times;
    bool same;
  };
  struct Name {
    PathId parent;
    RegionId region;
  };

 private:
  exchange::Bytes bytes_;
  std::size_t known_ = 1;  // names; the program is known
  bool first_ = true;
  paths::Activity latest_;
};

class ActivityReader {
 public:
  void add(SharedBytes bytes) {
    if (!bytes.empty()) batches_.push_back(std::move(bytes));
  }
  bool has_next() const { return !batches_.empty(); }
  // Not ok: it is damaged.
  bool next(paths::Activity& activity, paths::PathNames& names) {
    Taker from(batches_.front().span().subspan(at_));
    const auto head = from.take<ActivityWriter::Head>();
    if (!head.same) {
      latest_.since = head.since;
      latest_.waited = head.waited;
      for (std::uint32_t i = 0; i < head.names && from.ok(); ++i) {
        const auto name = from.take<ActivityWriter::Name>();
        if (name.parent >= names_.size()) return false;
        names_.push_back(names.child(names_[name.parent], name.region));
      }
      latest_.times.clear();
      for (std::uint32_t i = 0; i < head.times && from.ok(); ++i) {
        latest_.times.push_back(from.take<paths::Activity::Time>());
        PathId& name = latest_.times.back().name;
        if (name >= names_.size()) return false;
        name = names_[name];
      }
    }
    if (!from.ok()) return false;
    activity = latest_;
    at_ += sizeof head + (head.same ? 0
                                    : head.names * sizeof(ActivityWriter::Name) +
                                          head.times * sizeof(paths::Activity::Time));
    if (at_ == batches_.front().size()) {
      batches_.pop_front();
      at_ = 0;
    }
    return true;
  }

 private:
  std::deque<SharedBytes> batches_;
  std::size_t at_ = 0;
  std::vector<PathId> names_ = {PathId{}};  // of the other one's numbers
  paths::Activity latest_;
};

// The records of one log.
class LogRecords final : public paths::PlacedRecords {
 public:
  // From the last one on, whoever has read them before.
  explicit LogRecords(paths::WaitLog& log) : files_{&log.file(), &log.file_of_others()} {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      files_[i]->rewind();
      look(i);
    }
  }
  bool has_next() const override { return next_[0].there || next_[1].there; }
  const Place& place() const override { return next_[first()].place; }
  std::string_view record() const override { return next_[first()].record; }
  void pop() override { look(first()); }
  const std::string& error() const {
    return files_[0]->error().empty() ? files_[1]->error() : files_[0]->error();
  }

 private:
  struct Next {
    bool there = false;
    Place place;
    std::string_view record;
  };
  std::size_t first() const {
    return next_[0].there && (!next_[1].there || next_[1].place < next_[0].place) ? 0 : 1;
  }
  void look(std::size_t file) {
    Next& next = next_[file];
    next.there = files_[file]->previous(next.record) && take_place(next.record, next.place);
  }
  std::array<paths::RecordFile*, 2> files_;
  std::array<Next, 2> next_;
};

constexpr std::size_t kRecordBatch = std::size_t{1} << 17;  // bytes, about

// A batch of them: the kind, whether there are more (2: what follows is an error's text), then each place and record.
exchange::Bytes batch_of(LogRecords& records, bool waits_only) {
  exchange::Bytes out(2);
  out[0] = static_cast<std::uint8_t>(Say::kRecords);
  for (; records.has_next() && out.size() < kRecordBatch; records.pop()) {
    if (waits_only && !paths::is_wait(records.record())) continue;
    put(out, records.place());
    put(out, static_cast<std::uint32_t>(records.record().size()));
    put(out, records.record().data(), records.record().size());
  }
  out[1] = records.has_next() ? 1 : 0;
  if (!records.error().empty()) {
    out.resize(2);
    out[1] = 2;
    put(out, records.error().data(), records.error().size());
  }
  return out;
}

// What the first one's backward pass wants of the records of all readers.
struct Wanted {
  bool waits_only = false;              // clocks agree, and others follow the critical path
  std::optional<Place> disagreement{};  // the first one
  std::uint64_t base_ticks = 0;
};

// The records of all readers in one order, for the first one. Of waits alone, segments of nobody say until when all are there.
//
// Thread-safety: none. Memory: a batch of each, and one on its way.
class MergedRecords final : public paths::Records {
 public:
  // `ranks`: those that wait to be asked.
  MergedRecords(exchange::Exchange& exchange, const std::vector<std::uint32_t>& ranks,
                LogRecords& own, const Wanted& wanted)
      : exchange_(exchange),
        ranks_(ranks),
        own_(own),
        wanted_(wanted),
        others_(exchange.size()) {
    for (const std::uint32_t rank : ranks_) ask(rank);
    for (const std::uint32_t rank : ranks_) get(rank);
    skip_segments();
    for (std::uint32_t rank = 0; rank < exchange.size(); ++rank)
      if (has_next(rank)) heap_.push_back(rank);
    std::ranges::make_heap(heap_, Earlier{*this});
  }
  ~MergedRecords() override {
    try {
      for (const std::uint32_t rank : ranks_)
        if (others_[rank].asked) exchange_.receive(rank);
    } catch (const std::exception&) {  // they cannot be reached
    }
  }
  MergedRecords(const MergedRecords&) = delete;
  MergedRecords& operator=(const MergedRecords&) = delete;

  bool previous(std::string_view& record) override {
    if (std::exchange(taken_, false)) {
      std::ranges::pop_heap(heap_, Earlier{*this});
      const std::uint32_t rank = heap_.back();
      pop(rank);
      if (has_next(rank))
        std::ranges::push_heap(heap_, Earlier{*this});
      else
        heap_.pop_back();
    }
    if (!own_.error().empty()) error_ = own_.error();
    if (heap_.empty() || !error_.empty()) return false;
    const std::uint32_t first = heap_.front();
    if (wanted_.waits_only && --until_nobody_ == 0 && is_earlier(place(first))) {
      record = encode(nobody_, record_);
      return true;
    }
    taken_ = true;
    record = first == 0 ? own_.record() : others_[first].record;
    if (wanted_.waits_only) return true;
    record_ = record;
    paths::set_clocks_disagree(
        record_, wanted_.disagreement && !(place(first) < *wanted_.disagreement));
    record = record_;
    return true;
  }
  const std::string& error() const noexcept override { return error_; }

 private:
  struct Other {
    exchange::Bytes batch;
    std::size_t at = 0;
    Place place;
    std::string_view record;
    bool there = false, more = true, asked = false;
  };
  struct Earlier {
    const MergedRecords& records;
    bool operator()(std::uint32_t a, std::uint32_t b) const {
      return records.place(a) < records.place(b);
    }
  };
  const Place& place(std::uint32_t rank) const {
    return rank == 0 ? own_.place() : others_[rank].place;
  }
  bool has_next(std::uint32_t rank) const {
    return rank == 0 ? own_.has_next() : others_[rank].there;
  }
  // Nothing behind it has ended later than this.
  bool is_earlier(const Place& place) {
    until_nobody_ = kWaitsOfNobody;
    if (place.part != static_cast<std::uint8_t>(JointSteps::Part::kEvents)) return false;
    const Ticks end = place.ticks - std::min(place.ticks, wanted_.base_ticks);
    if (end >= nobody_.end) return false;
    nobody_.begin = nobody_.end = end;
    return true;
  }
  void skip_segments() {
    while (wanted_.waits_only && own_.has_next() && !paths::is_wait(own_.record()))
      own_.pop();
  }
  void pop(std::uint32_t rank) {
    if (rank != 0) return look(rank);
    own_.pop();
    skip_segments();
  }
  void ask(std::uint32_t rank) {
    exchange_.send(rank, exchange::Bytes{static_cast<std::uint8_t>(
                             wanted_.waits_only ? Say::kGoWaits : Say::kGo)});
    others_[rank].asked = true;
  }
  void get(std::uint32_t rank) {
    Other& from = others_[rank];
    from.batch = exchange_.receive(rank);
    from.asked = false;
    from.at = 2;
    const bool good = from.batch.size() >= 2 && said(from.batch) == Say::kRecords;
    from.more = good && from.batch[1] == 1;
    if (!good || from.batch[1] == 2) {
      from.there = false;
      error_ = good ? std::string(from.batch.begin() + 2, from.batch.end()) : kDamaged;
      return;
    }
    if (from.more) ask(rank);
    look(rank);
  }
  void look(std::uint32_t rank) {
    Other& from = others_[rank];
    if (from.at == from.batch.size() && from.more) return get(rank);
    Taker next(std::span<const std::uint8_t>(from.batch).subspan(from.at));
    from.there = !next.empty();
    if (!from.there) return;
    from.place = next.take<Place>();
    const auto size = next.take<std::uint32_t>();
    const auto bytes = next.take_bytes(size);
    from.record = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    from.at += sizeof from.place + sizeof size + size;
    if (next.ok()) return;
    from.there = false;
    error_ = kDamaged;
  }

  exchange::Exchange& exchange_;
  const std::vector<std::uint32_t>& ranks_;
  LogRecords& own_;
  const Wanted& wanted_;
  std::vector<Other> others_;  // by rank
  std::vector<std::uint32_t> heap_;
  std::string record_;
  static constexpr int kWaitsOfNobody = 64;
  int until_nobody_ = kWaitsOfNobody;
  paths::Segment nobody_{LocationId{kNone}, false, ~Ticks{0}, ~Ticks{0}, {}};
  bool taken_ = false;
  std::string error_;
};

class ShareReader final : private reader::TraceSink, private paths::OtherLogs {
 public:
  ShareReader(exchange::Exchange& exchange, EventSource& source,
              const ShareOptions& options)
      : exchange_(exchange),
        source_(source),
        options_(options),
        own_(exchange.rank()),
        readers_(exchange.size()),
        patterns_(all_patterns()),
        peers_(readers_),
        boxes_(readers_),
        steps_(readers_),
        notes_(2 * std::size_t{readers_}),
        merged_steps_(steps_),
        merged_notes_(notes_) {}

  base::Result<WaitAnalysis> run() {
    try {
      if (const auto done = hello(); !done) return done.failure();
    } catch (const std::exception& wrong) {
      return base::Failure{std::string("the archive cannot be read: ") + wrong.what()};
    }
    try {
      read();
    } catch (const std::exception& wrong) {
      fail(std::string("the events cannot be analysed: ") + wrong.what());
    }
    try {
      end();
      if (all_informed()) return own_ == 0 ? put_together() : hand_over();
    } catch (const std::exception& wrong) {
      fail(std::string("the events cannot be analysed: ") + wrong.what());
    }
    return base::Failure{error_.empty() ? kStopped : error_};
  }

 private:
  // Of a batch: nothing before a place comes after it, of what the processes did, and of what was found of it. Then four
  // parts: steps, notes, facts and answers.
  struct Head {
    Say kind;
    bool answer;           // to a batch, by the first one that puts all together
    std::uint64_t events;  // until then
    Place until, found_until;
    std::array<std::size_t, 4> sizes;
  };
  struct Peer {
    ActivityWriter answers;  // of those that it has asked for
    ActivityReader activities;
    std::uint64_t events = 0;
    bool informed_last = false;  // it has our last word
    bool has_ended = false;      // we have its
  };

  // All have come to the end, and so have we.
  bool all_informed() const {
    for (std::uint32_t reader = 0; reader < readers_; ++reader)
      if (reader != own_ && !peers_[reader].informed_last) return false;
    return !stopped_ && (readers_ > 1 || !failed_);
  }

  void fail(std::string why) {
    failed_ = true;
    if (error_.empty()) error_ = std::move(why);
  }

  // All say when their events begin, and begin if the first one has no objection.
  base::Result<> hello() {
    base::Result<> opened;
    std::uint64_t base = ~std::uint64_t{0};
    try {
      opened = source_.open();
      if (opened) {
        shares_ = Shares(source_.definitions(), readers_, own_);
        const auto begin = source_.choose(shares_.locations);
        if (begin) base = *begin;
        if (!begin) opened = begin.failure();
      }
    } catch (const std::exception& wrong) {
      opened = base::Failure{std::string("the archive cannot be read: ") + wrong.what()};
    }
    if (own_ == 0) return greet(opened, base);
    exchange::ByteWriter out;
    out.number(static_cast<std::uint64_t>(opened ? Say::kHello : Say::kError));
    if (!opened) {
      out.text(opened.error());
      exchange_.send(0, out.bytes());
      return opened;
    }
    for (const std::uint64_t each : about(base)) out.number(each);
    exchange_.send(0, out.bytes());
    const exchange::Bytes bytes = exchange_.receive(0);
    exchange::ByteReader in(bytes);
    const bool go = in.number() == static_cast<std::uint64_t>(Say::kGo);
    base_ = in.number();
    return go ? base::Result<>() : base::Failure{kStopped};
  }

  std::array<std::uint64_t, 4> about(std::uint64_t base) const {
    const reader::TraceDefinitions& definitions = source_.definitions();
    return {base, definitions.locations.size(), definitions.processes.size(),
            definitions.regions.size()};
  }

  base::Result<> greet(base::Result<> done, std::uint64_t base) {
    std::vector<std::uint32_t> greeted;
    const auto own = done ? about(base) : std::array<std::uint64_t, 4>{};
    for (std::uint32_t rank = 1; rank < readers_; ++rank) {
      const exchange::Bytes bytes = exchange_.receive(rank);
      exchange::ByteReader in(bytes);
      const std::uint64_t what = in.number();
      if (what != static_cast<std::uint64_t>(Say::kHello)) {
        const std::string text =
            what == static_cast<std::uint64_t>(Say::kError) ? in.text() : "";
        if (done) done = base::Failure{text.empty() ? kDamaged : text};
        continue;
      }
      greeted.push_back(rank);
      base = std::min(base, in.number());
      for (std::size_t i = 1; i < own.size(); ++i)
        if (in.number() != own[i] && done)
          done = base::Failure{
              "not all processes read the same archive: its directory must be on one file "
              "system for all"};
    }
    const reader::TraceDefinitions& definitions = source_.definitions();
    if (done && definitions.is_refrain()) base = std::min(base, definitions.base_ticks);
    base_ = base;
    exchange::ByteWriter answer;
    answer.number(static_cast<std::uint64_t>(done ? Say::kGo : Say::kStop));
    answer.number(base);
    for (const std::uint32_t rank : greeted) exchange_.send(rank, answer.bytes());
    return done;
  }

  void read() {
    const reader::TraceDefinitions& definitions = source_.definitions();
    splitter_ = std::make_unique<StepSplitter>(definitions, shares_, own_, boxes_);
    facts_ = std::make_unique<FactWriter>(definitions, shares_, own_, boxes_);
    replay_ = std::make_unique<Replay>(patterns_, *splitter_);
    const auto done =
        source_.run(base_, *this, own_ == 0 ? options_.progress : reader::Progress());
    if (!done && !failed_) fail(done.error());
  }

  base::Result<> begin(const reader::TraceDefinitions& definitions) override {
    ticks_before_ = definitions.base_ticks;
    if (const auto done = replay_->begin(definitions); !done) return done;
    ReplayState& state = replay_->state();
    log_ =
        std::make_unique<paths::WaitLog>(options_.folder, state.locations, state.processes);
    if (shares_.apart) log_->share(*this);
    joint_ = std::make_unique<JointReplay>(state, patterns_, *facts_);
    std::vector<bool> own;
    own.reserve(shares_.joint.size());
    for (const std::uint32_t reader : shares_.joint) own.push_back(reader == own_);
    joint_->share(std::move(own));
    return options_.more != nullptr ? options_.more->begin(definitions) : base::Result<>();
  }

  void event(const reader::TraceEvent& event) override {
    if (options_.more != nullptr) options_.more->event(event);
    splitter_->event(event.ticks, event.location);
    replay_->event(event);
    if (++events_ % options_.batch == 0) inform_and_join();
  }

  std::string error() const override {
    return failed_ ? (error_.empty() ? kStopped : error_) : patterns_.error();
  }

  base::Result<> finish(std::uint64_t end_ns) override {
    if (failed_) return base::Failure{kStopped};
    const auto done = replay_->finish(end_ns);
    return done && options_.more != nullptr ? options_.more->finish(end_ns) : done;
  }

  // Others get the steps until here, then the own ones are taken, which may have to wait for theirs.
  void inform_and_join() {
    send_batches(splitter_->place());
    join();
    keep();
    show_progress();
  }

  // Takes steps until the own ones are done, which may have to wait for others'.
  void join() {
    while (!failed_) {
      const std::size_t next = merged_steps_.run([this](const StepQueue& queue) {
        facts_->step(queue.place());
        take_step(queue, replay_->state(), *joint_);
      });
      until_ = merged_steps_.place();
      if (next == steps_.size() || next == own_) return;
      keep();
      receive(static_cast<std::uint32_t>(next));
    }
  }

  // The own facts until here, and what the others' have come to. Returns the reader whose facts are missing.
  std::optional<std::uint32_t> keep() {
    add_own();
    const std::size_t next = merged_notes_.run([this](const StepQueue& queue) {
      if (shares_.apart) log_->at(queue.place());
      take_note(queue, *log_, room_);
    });
    explain();
    if (next == notes_.size()) return std::nullopt;
    return static_cast<std::uint32_t>(next / 2);
  }

  void add_own() { notes_[2 * own_ + 1].take(boxes_[own_].facts, until_); }

  void explain() {
    for (std::uint32_t reader = 0; reader < readers_; ++reader) {
      ActivityReader& from = peers_[reader].activities;
      while (!failed_ && from.has_next() && log_->waits_for(reader)) {
        if (!from.next(activity_, log_->names())) return fail(kDamaged);
        log_->explain(reader, activity_);
      }
    }
  }

  // To all others, and to itself: what there is for them, and that nothing before this place comes after it.
  void send_batches(const Place& until, Say kind = Say::kBatch) {
    told_until_ = until;
    steps_[own_].take(boxes_[own_].steps, until);
    notes_[std::size_t{2} * own_].take(boxes_[own_].notes, until);
    for (std::uint32_t reader = 0; reader < readers_; ++reader)
      if (reader != own_) send_batch(reader, kind, false);
    // The first one, which puts all together, may be slower.
    if (shares_.apart || own_ == 0) return;
    for (++unanswered_; !failed_ && kind == Say::kBatch && unanswered_ > kAhead;)
      receive(0);
  }

  void send_batch(std::uint32_t reader, Say kind, bool answer) {
    Outbox& box = boxes_[reader];
    exchange::Bytes& answers = peers_[reader].answers.bytes();
    const std::array<std::span<const std::uint8_t>, 4> parts = {
        box.steps.bytes(), box.notes.bytes(), box.facts.bytes(), answers};
    Head head{kind, answer, events_, told_until_, until_, {}};
    std::size_t all = sizeof head;
    for (std::size_t i = 0; i < parts.size(); ++i) all += head.sizes[i] = parts[i].size();
    exchange::Bytes out;
    out.reserve(all);
    put(out, head);
    for (const auto& part : parts) put(out, part.data(), part.size());
    for (StepBytes* part : {&box.steps, &box.notes, &box.facts}) part->clear();
    answers.clear();
    peers_[reader].informed_last = kind == Say::kLast;
    exchange_.send(reader, std::move(out));
  }

  void show_progress() const {
    if (own_ != 0 || !options_.progress) return;
    std::uint64_t done = events_, total = 0;
    for (const Peer& each : peers_) done += each.events;
    for (const reader::LocationInfo& each : source_.definitions().locations)
      total += std::min(each.events, ~std::uint64_t{0} - total);
    options_.progress(std::min(done, total), total);
  }

  void receive(std::uint32_t reader) {
    const SharedBytes bytes(exchange_.receive(reader));
    const Say what = bytes.empty() ? Say::kError : static_cast<Say>(bytes.data()[0]);
    Peer& peer = peers_[reader];
    if (what != Say::kBatch && what != Say::kLast) {
      peer.has_ended = true;
      failed_ = stopped_ = true;
      const auto why = bytes.part(1, bytes.size()).span();
      if (error_.empty()) error_ = std::string(why.begin(), why.end());
      return;
    }
    peer.has_ended = what == Say::kLast;
    Head head{};
    if (bytes.size() >= sizeof head) std::memcpy(&head, bytes.data(), sizeof head);
    if (head.answer) --unanswered_;
    peer.events = head.events;
    show_progress();
    std::size_t at = sizeof head;
    const auto next = [&](std::size_t i) {
      const SharedBytes part = bytes.part(at, head.sizes[i]);
      at += part.size();
      return part;
    };
    steps_[reader].add(next(0), head.until);
    notes_[std::size_t{2} * reader].add(next(1), head.until);
    notes_[std::size_t{2} * reader + 1].add(next(2), head.found_until);
    peer.activities.add(next(3));
    if (at != bytes.size() || steps_[reader].damaged() ||
        notes_[std::size_t{2} * reader].damaged() ||
        notes_[std::size_t{2} * reader + 1].damaged())
      fail(kDamaged);
    if (!shares_.apart && own_ == 0 && what == Say::kBatch && !peer.informed_last)
      send_batch(reader, Say::kBatch, true);
  }

  // All that is left, step by step as it becomes known; then the last words.
  void end() {
    if (!failed_) {
      send_batches(kAfterAll);
      join();
    }
    if (!failed_) {
      joint_->all_left();
      send_batches(kAfterAll);
      while (!failed_) {
        const auto missing = keep();
        if (!missing) break;
        receive(*missing);
      }
    }
    if (!failed_) send_batches(kAfterAll, Say::kLast);
    for (std::uint32_t reader = 0; reader < readers_; ++reader) {
      if (reader == own_ || peers_[reader].informed_last) continue;
      exchange::Bytes out = {static_cast<std::uint8_t>(Say::kError)};
      put(out, error_.data(), error_.size());
      exchange_.send(reader, out);
    }
    for (std::uint32_t reader = 0; reader < readers_; ++reader)
      while (reader != own_ && !peers_[reader].has_ended) receive(reader);
    if (failed_) return;
    explain();
    const auto damaged = [](const StepQueue& queue) { return queue.damaged(); };
    if (!log_->all_explained() || std::ranges::any_of(steps_, damaged) ||
        std::ranges::any_of(notes_, damaged))
      fail(kDamaged);
  }

  // Of one that is not the first: its result, then records as they are wanted.
  base::Result<WaitAnalysis> hand_over() {
    exchange::ByteWriter out;
    out.number(static_cast<std::uint64_t>(failed_ ? Say::kError : Say::kResult));
    if (failed_) {
      out.text(error_);
      exchange_.send(0, out.bytes());
      return base::Failure{error_};
    }
    out.number(source_.events());
    const std::optional<Place>& first = log_->first_disagreement();
    out.number(first ? 1 : 0);
    const Place place = first.value_or(Place());
    for (const std::uint64_t each : {std::uint64_t{place.part}, place.ticks,
                                     std::uint64_t{place.number}, place.step, place.turn})
      out.number(each);
    std::vector<ProcessId> processes;
    for (ProcessId i; i < shares_.reader.size(); ++i)
      if (shares_.reader[i] == own_) processes.push_back(i);
    put_state(out, replay_->state(), patterns_.tree().metrics.size(), processes);
    exchange_.send(0, out.bytes());
    serve();
    return WaitAnalysis{};
  }

  // What the first one asks for, until it stops.
  void serve() {
    std::optional<LogRecords> records, of_path;
    std::optional<paths::PathPart> path;
    for (;;) {
      const exchange::Bytes asked = exchange_.receive(0);
      switch (said(asked)) {
        case Say::kGo:
        case Say::kGoWaits:
          if (!records) records.emplace(*log_);
          exchange_.send(0, batch_of(*records, said(asked) == Say::kGoWaits));
          break;
        case Say::kTurn: {
          if (!path) begin_path(of_path, path);
          Taker in(std::span<const std::uint8_t>(asked).subspan(1));
          const auto next = path->follow(in.take<paths::PathTurn>());
          exchange::Bytes out = {
              static_cast<std::uint8_t>(next ? Say::kTurn : Say::kError)};
          if (next) put(out, *next);
          exchange_.send(0, std::move(out));
          break;
        }
        case Say::kTimes: {
          exchange::ByteWriter out;
          put_times(out, path ? path->take() : paths::ByPath());
          exchange_.send(0, out.bytes());
          break;
        }
        default:
          return;
      }
    }
  }

  void begin_path(std::optional<LogRecords>& records,
                  std::optional<paths::PathPart>& path) {
    records.emplace(*log_);
    path.emplace(*records, replay_->state().locations.size(),
                 [this](LocationId location) { return reader_of(location) == kHere; });
  }

  static void put_times(exchange::ByteWriter& out, const paths::ByPath& times) {
    for (std::size_t location = 0; location < times.size(); ++location) {
      if (times[location].empty()) continue;
      out.number(location);
      out.number(times[location].size());
      for (const Ticks each : times[location]) out.number(each);
    }
  }
  static bool take_times(const exchange::Bytes& bytes, paths::ByPath& times) {
    exchange::ByteReader in(bytes);
    while (in.ok() && !in.done()) {
      const std::uint64_t location = in.number();
      std::vector<Ticks> row(in.count());
      for (Ticks& each : row) each = in.number();
      if (!in.ok() || location >= times.size()) return false;
      times[location] = std::move(row);
    }
    return in.ok();
  }

  // From reader to reader, as the path goes from location to location.
  base::Result<paths::ByPath> follow_path(const std::vector<std::uint32_t>& ranks,
                                          LocationId location, Ticks end) {
    std::optional<LogRecords> records;
    std::optional<paths::PathPart> own;
    begin_path(records, own);
    paths::PathTurn turn{location, end, ~Ticks{0}, kAfterAll, false};
    while (!turn.ended) {
      const std::uint32_t reader = reader_of(turn.location);
      if (reader == kHere) {
        const auto next = own->follow(turn);
        if (!next || !records->error().empty())
          return base::Failure{next ? records->error() : next.error()};
        turn = *next;
        continue;
      }
      exchange::Bytes out = {static_cast<std::uint8_t>(Say::kTurn)};
      put(out, turn);
      exchange_.send(reader, std::move(out));
      const exchange::Bytes bytes = exchange_.receive(reader);
      if (said(bytes) != Say::kTurn) return base::Failure{kDamaged};
      turn = Taker(std::span<const std::uint8_t>(bytes).subspan(1)).take<paths::PathTurn>();
    }
    paths::ByPath times = own->take();
    for (const std::uint32_t rank : ranks) {
      exchange_.send(rank, exchange::Bytes{static_cast<std::uint8_t>(Say::kTimes)});
      if (!take_times(exchange_.receive(rank), times)) return base::Failure{kDamaged};
    }
    return times;
  }

  // If all is in one log, as by one. Where clocks agree, the path goes from reader to reader, and of the rest only waits are wanted here.
  base::Result<paths::PathResult> sweep(const std::vector<std::uint32_t>& ranks,
                                        const std::optional<Place>& disagreement,
                                        LocationId location, Ticks end) {
    if (!shares_.apart)
      return paths::sweep(log_->file(), replay_->state().locations.size(), location, end);
    const Wanted wanted{!disagreement, disagreement, ticks_before_};
    paths::ByPath critical;
    if (wanted.waits_only) {
      auto followed = follow_path(ranks, location, end);
      if (!followed) return followed.failure();
      critical = std::move(*followed);
      location = LocationId(kNone - 1);
      end = 0;
    }
    LogRecords own(*log_);
    MergedRecords records(exchange_, ranks, own, wanted);
    auto result = paths::sweep(records, replay_->state().locations.size(), location, end);
    if (result && wanted.waits_only) result->critical = std::move(critical);
    return result;
  }

  base::Result<WaitAnalysis> put_together() {
    std::uint64_t events = source_.events();
    std::optional<Place> first = log_->first_disagreement();
    std::vector<std::uint32_t> waiting;
    for (std::uint32_t rank = 1; rank < readers_; ++rank) {
      const exchange::Bytes bytes = exchange_.receive(rank);
      exchange::ByteReader in(bytes);
      if (in.number() != static_cast<std::uint64_t>(Say::kResult)) {
        fail(in.text());
        continue;
      }
      waiting.push_back(rank);
      events += in.number();
      const bool disagrees = in.number() != 0;
      Place place;
      place.part = static_cast<std::uint8_t>(in.number());
      place.ticks = in.number();
      place.number = in.number32();
      place.step = in.number();
      place.turn = in.number();
      if (disagrees && (!first || place < *first)) first = place;
      if (!add_state(in, replay_->state(), patterns_.tree().metrics.size())) fail(kDamaged);
    }
    base::Result<WaitAnalysis> result = base::Failure{error_};
    try {
      if (!failed_)
        result = analysis_of(
            replay_->state(),
            [&](LocationId location, Ticks end) {
              return sweep(waiting, first, location, end);
            },
            patterns_.tree());
    } catch (const std::exception& wrong) {
      result = base::Failure{std::string("the events cannot be analysed: ") + wrong.what()};
    }
    for (const std::uint32_t rank : waiting)
      exchange_.send(rank, exchange::Bytes{static_cast<std::uint8_t>(Say::kStop)});
    if (result) result->events = events;
    return result;
  }

  std::uint32_t reader_of(LocationId location) const override {
    const ProcessId process = source_.definitions().locations[location].process;
    const std::uint32_t reader =
        process < shares_.joint.size() ? shares_.joint[process] : own_;
    return reader == own_ ? kHere : reader;
  }
  void late(std::uint32_t reader, const paths::Activity& activity) override {
    peers_[reader].answers.put_next(activity, log_->names());
  }

  exchange::Exchange& exchange_;
  EventSource& source_;
  const ShareOptions& options_;
  std::uint32_t own_, readers_;
  PatternSet patterns_;
  Shares shares_;
  std::uint64_t base_ = 0, events_ = 0;
  std::uint64_t ticks_before_ = 0;  // the replay's times begin there
  std::vector<Peer> peers_;
  std::vector<Outbox> boxes_;
  std::vector<StepQueue> steps_;  // by reader
  std::vector<StepQueue> notes_;  // by reader: of its replay, and of its joint replay
  StepMerge merged_steps_, merged_notes_;
  Place until_;       // of the joint replay: nothing before it is to come
  Place told_until_;  // likewise of the replay of processes, as others know
  // Where the first one puts all together: batches that a reader may have sent without an answer, and has.
  static constexpr int kAhead = 4;
  int unanswered_ = 0;
  std::unique_ptr<StepSplitter> splitter_;
  std::unique_ptr<FactWriter> facts_;
  std::unique_ptr<Replay> replay_;
  std::unique_ptr<paths::WaitLog> log_;
  std::unique_ptr<JointReplay> joint_;
  NoteRoom room_;
  paths::Activity activity_;
  bool failed_ = false;
  bool stopped_ = false;  // by another one's failure
  std::string error_;
};

}  // namespace

base::Result<WaitAnalysis> analyze_share(exchange::Exchange& exchange, EventSource& source,
                                         const ShareOptions& options) {
  return ShareReader(exchange, source, options).run();
}

void stop_readers(exchange::Exchange& exchange, std::uint32_t readers) {
  exchange::ByteWriter stop;
  stop.number(static_cast<std::uint64_t>(Say::kStop));
  for (std::uint32_t rank = 1; rank <= readers; ++rank)
    if (said(exchange.receive(rank)) == Say::kHello) exchange.send(rank, stop.bytes());
}

}  // namespace refrain::waits

namespace refrain::waits {
namespace {

// An archive as an EventSource.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: one a thread.

class ArchiveSource final : public EventSource {
 public:
  explicit ArchiveSource(std::string archive) : archive_(std::move(archive)) {}
  // Before choose(): others in this process read other locations.
  void join(std::shared_ptr<reader::StreamGroup> group) { stream_.join(std::move(group)); }

  base::Result<> open() override {
    if (opened_) return {};
    base::Result<> done = stream_.open(archive_);
    if (done.ok()) done = has_events(archive_, stream_.definitions());
    opened_ = done.ok();
    return done;
  }
  const reader::TraceDefinitions& definitions() const override {
    return stream_.definitions();
  }
  base::Result<std::uint64_t> choose(const std::vector<LocationId>& locations) override {
    if (const auto done = stream_.open_events(locations); !done) return done.failure();
    return stream_.base_ticks();
  }
  base::Result<> run(std::uint64_t base_ticks, reader::TraceSink& sink,
                     const reader::Progress& progress) override {
    return stream_.run_opened(base_ticks, sink, progress);
  }
  std::uint64_t events() const override { return stream_.events(); }

 private:
  std::string archive_;
  reader::ArchiveStream stream_;
  bool opened_ = false;
};

}  // namespace

base::Result<WaitAnalysis> analyze_in_threads(const std::string& archive,
                                              std::size_t threads,
                                              const reader::Progress& progress,
                                              reader::ShareSinks* more) {
  // What they define is there until all is put together.
  std::vector<std::unique_ptr<ArchiveSource>> sources;
  sources.push_back(std::make_unique<ArchiveSource>(archive));
  if (const auto done = sources[0]->open(); !done) return done.failure();
  const auto readers = static_cast<std::uint32_t>(
      std::min(threads, sources[0]->definitions().processes.size()));
  if (readers < 2) return analyze_archive(archive, progress, with_sinks(more));
  exchange::Mailboxes boxes(readers);
  std::vector<ShareOptions> options(readers, {.folder = folder_of(archive)});
  options[0].progress = progress;
  const auto group = reader::make_stream_group(readers);
  for (std::uint32_t rank = 0; rank < readers; ++rank) {
    if (rank > 0) sources.push_back(std::make_unique<ArchiveSource>(archive));
    sources[rank]->join(group);
    if (more != nullptr) options[rank].more = &more->sink_of(rank);
  }
  base::Result<WaitAnalysis> result = base::Failure{std::string()};
  {
    std::vector<std::jthread> running;
    for (std::uint32_t rank = 1; rank < readers; ++rank) {
      try {
        running.emplace_back([&, rank] {
          (void)analyze_share(*boxes.of(rank), *sources[rank], options[rank]);
        });
      } catch (const std::system_error&) {
        stop_readers(*boxes.of(0), static_cast<std::uint32_t>(running.size()));
        return base::Failure{"threads cannot be started; --threads 1 needs none"};
      }
    }
    result = analyze_share(*boxes.of(0), *sources[0], options[0]);
  }
  if (result && more != nullptr) more->all_read();
  return result;
}

base::Result<WaitAnalysis> analyze_in_job(const std::string& archive,
                                          exchange::Exchange& exchange,
                                          const reader::Progress& progress) {
  ArchiveSource source(archive);
  return analyze_share(exchange, source,
                       {.folder = folder_of(archive), .progress = progress});
}

}  // namespace refrain::waits
