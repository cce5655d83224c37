#include "writer/agree/mpi_job.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "exchange/tree.h"
#include "writer/agree/logical_clock.h"
#include "writer/agree/rank_cuts.h"
#include "writer/interpret/location_writer.h"
#include "writer/messages/message_times.h"
#include "writer/model/parallel_for.h"

namespace refrain::writer {
namespace {

struct JobTask {
  std::size_t process;
  std::size_t location;
};

// Locations of the processes that use MPI.
std::vector<JobTask> job_tasks(const MpiJob::Models& models) {
  std::vector<JobTask> tasks;
  for (std::size_t i = 0; i < models.size(); ++i)
    if (models[i]->journal().mpi.known)
      for (std::size_t j = 0; j < models[i]->locations(); ++j) tasks.push_back({i, j});
  return tasks;
}

// Interprets a location without writing. Marks of iterations do not affect what is in a
// gap.
void go_through(LocationInput input, const regions::RegionTable& regions) {
  input.primary = false;
  EventSink nowhere(nullptr, regions.regions());
  write_location(input, nowhere);
}

}  // namespace

bool MpiJob::is_job(const Models& models) {
  return std::any_of(models.begin(), models.end(),
                     [](const auto& model) { return model->journal().mpi.known; });
}

void MpiJob::cut(Models& models) {
  std::vector<ProcessModel*> ranks;
  for (const auto& model : models)
    if (model->journal().mpi.known && !model->blank()) ranks.push_back(model.get());
  std::vector<RankIndex> indices;
  indices.reserve(ranks.size());
  for (const ProcessModel* rank : ranks) indices.emplace_back(*rank);
  std::vector<SkippedIntervals> skipped;
  skipped.reserve(indices.size());
  for (const RankIndex& index : indices)
    skipped.push_back(skipped_intervals(index.intervals()));
  const SkippedIntervals all =
      exchange::agree(exchange_, exchange::merge_in_tree(std::move(skipped)));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    indices[i].add_inner_visits(all);
    const std::vector<RankVisit>& visits = indices[i].intervals().visits;
    const RankTrim trim = trim_rank(indices[i].intervals(), all);
    for (std::size_t j = 0; j < visits.size(); ++j) {
      if (visits[j].path.size() > 1 || !ranks[i]->wanted()) continue;
      given_up_ += trim.visits[j].more.count();
      alone_ += trim.visits[j].alone.count();
    }
    if (trim.any()) ranks[i]->widen(indices[i].gaps_of(trim));
  }
}

namespace {

// Before its first offset a clock has that one: readers would go on with the rate between the first two, which of a short run says
// little, and of the time before MPI_Init nothing.
std::vector<spool::JournalClockOffset> offsets_from(
    std::vector<spool::JournalClockOffset> offsets, std::uint64_t start_ticks) {
  if (offsets.size() < 2 || start_ticks >= offsets.front().ticks) return offsets;
  spool::JournalClockOffset first = offsets.front();
  first.ticks = start_ticks;
  offsets.insert(offsets.begin(), first);
  return offsets;
}

}  // namespace

void MpiJob::unite_comms(Models& models, OTF2_CommRef first_comm,
                         OTF2_GroupRef first_group) {
  std::vector<MpiFacts> facts;
  for (const auto& model : models) facts.push_back(mpi_facts(model->journal().mpi));
  comms_ =
      comm_table(exchange::agree(exchange_, exchange::merge_in_tree(std::move(facts))));
  for (auto& model : models) {
    const spool::MpiJournal& journal = model->journal().mpi;
    comms_.add_self_of(journal);
    clocks_.emplace_back(offsets_from(journal.offsets, model->start_ticks()));
    contexts_.push_back({process_comms(journal, comms_), first_comm, first_group});
  }
}

void MpiJob::plan(Models& models, const regions::RegionTable& regions, unsigned threads,
                  std::uint64_t locations, bool repair) {
  const std::vector<JobTask> tasks = job_tasks(models);
  std::vector<std::vector<MessageLog>> logs(models.size());
  std::vector<std::vector<MessageTimes>> times(models.size());
  decided_.resize(models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    logs[i].resize(models[i]->locations());
    times[i].assign(models[i]->locations(),
                    MessageTimes(kMaxChecked / std::max<std::uint64_t>(1, locations)));
    decided_[i].resize(models[i]->locations());
  }
  parallel_for(tasks.size(), threads, [&](std::size_t i) {
    const auto [process, location] = tasks[i];
    LocationInput input = location_input(*models[process], location);
    input.mpi = &contexts_[process];
    input.collect = &logs[process][location];
    go_through(input, regions);
    if (!models[process]->journal().mpi.taken.empty()) logs[process][location] = {};
  });
  std::vector<MessageSummary> summaries(models.size());
  for (std::size_t i = 0; i < models.size(); ++i)
    for (MessageLog& log : logs[i]) {
      add_location(summaries[i], log);
      log = {};
    }
  plan_ = plan_of(exchange::merge_in_tree(std::move(summaries)));
  for (MpiContext& context : contexts_) context.plan = &plan_;
  parallel_for(tasks.size(), threads, [&](std::size_t i) {
    const auto [process, location] = tasks[i];
    LocationInput input = location_input(*models[process], location);
    input.mpi = &contexts_[process];
    input.decide = &decided_[process][location];
    input.checks = &times[process][location];
    go_through(input, regions);
  });
  compare_clocks(times, repair);
}

// If one process has the models of all, it knows all messages.
MessagePlan MpiJob::plan_of(MessageSummary own) {
  if (exchange_.size() == 1) return plan_messages(own, comms_.members);
  std::optional<MessagePlan> plan =
      settle_messages(exchange_, std::move(own), comms_.members);
  if (!plan) throw exchange::RoundFailed("another process could not send its messages");
  return std::move(*plan);
}

void MpiJob::compare_clocks(std::vector<std::vector<MessageTimes>>& times, bool repair) {
  const ClockMap own;  // without conversion
  std::vector<MessageEnds> ends(times.size());
  for (std::size_t i = 0; i < times.size(); ++i)
    for (MessageTimes& location : times[i]) {
      ends[i] = merge(std::move(ends[i]), message_ends(location, own));
      location = MessageTimes();
    }
  count_violations(ends);
  if (!repair || violations_ == 0) return;
  const std::uint64_t before = violations_;
  this->repair(ends);
  count_violations(ends);
  repaired_ = before - std::min(before, violations_);
}

void MpiJob::count_violations(const std::vector<MessageEnds>& ends) {
  std::vector<TimeSummary> summaries;
  summaries.reserve(ends.size());
  for (std::size_t i = 0; i < ends.size(); ++i)
    summaries.push_back(time_summary(message_ends(ends[i], clocks_[i])));
  std::optional<TimeSummary> all = exchange::merge_in_tree(std::move(summaries));
  exchange::gather_up(exchange_, all);
  // Nobody needs the unmatched ends.
  if (all) all = TimeSummary{all->checked, all->violations, {}};
  exchange::send_down(exchange_, all);
  if (!all) throw exchange::RoundFailed("another process could not compare its messages");
  checked_ = all->checked;
  violations_ = all->violations;
}

// Process 0 gets all messages that are compared, and sends the clocks to all.
void MpiJob::repair(std::vector<MessageEnds> ends) {
  std::optional<JobClocks> job = JobClocks{std::move(ends), clocks_};
  exchange::gather_up(exchange_, job);
  try {
    if (job && exchange_.rank() == 0)
      job = JobClocks{{}, repair_clocks(job->ends, job->clocks)};
  } catch (const std::exception&) {
    job.reset();  // the others wait for the result
  }
  exchange::send_down(exchange_, job);
  if (!job) throw exchange::RoundFailed("another process could not send its clock");
  const std::size_t first = exchange_.rank();
  for (std::size_t i = 0; i < clocks_.size(); ++i) clocks_[i] = job->clocks.at(first + i);
}

// A failure in this process makes the round fail, but the round goes on: others wait for
// it.
template <typename Part>
void MessageSettlement::attempt(Part&& part) {
  try {
    if (open_) part();
  } catch (const std::exception&) {
    open_.reset();
  }
}

void MessageSettlement::up(std::optional<MessageSummary> own) {
  open_ = std::move(own);
  const exchange::TreePlace place = exchange::place_in(exchange_);
  attempt([&] { settle(place.rank, place.rank + 1, false); });
  for (const std::uint32_t child : place.children()) {
    const exchange::Bytes bytes = exchange_.receive(child);
    attempt([&] {
      const auto part = exchange::from_bytes<MessageSummary>(bytes);
      if (!part) return open_.reset();
      open_ = merge(std::move(*open_), *part);
      settle(place.rank, exchange::TreePlace{child, place.size}.end(), false);
    });
  }
  if (place.rank == 0) {
    attempt([&] { settle(0, place.size, true); });
  } else {
    exchange_.send(place.parent(), exchange::bytes_to_send(open_));
    if (open_) *open_ = {};
  }
}

std::optional<MessagePlan> MessageSettlement::down() {
  const exchange::TreePlace place = exchange::place_in(exchange_);
  if (place.rank != 0) {
    const exchange::Bytes bytes = exchange_.receive(place.parent());
    attempt([&] {
      auto above = exchange::from_bytes<MessagePlan>(bytes);
      if (!above) return open_.reset();
      plan_.channels.merge(above->channels);
      plan_.collectives.merge(above->collectives);
    });
  }
  for (exchange::Children children = place.children(); !children.empty();
       children.pop_back()) {
    const std::uint32_t child = children.back();
    std::optional<MessagePlan> part;
    attempt([&] { part = part_of(child, exchange::TreePlace{child, place.size}.end()); });
    exchange_.send(child, exchange::bytes_to_send(part));
  }
  if (!open_) return std::nullopt;
  std::erase_if(plan_.channels, [&](const auto& entry) {
    return entry.first.source != place.rank && entry.first.destination != place.rank;
  });
  return std::move(plan_);
}

void MessageSettlement::settle(std::uint32_t from, std::uint32_t to, bool all) {
  if (!open_) return;
  const auto within = [from, to](std::uint32_t rank) { return rank >= from && rank < to; };
  std::erase_if(open_->channels, [&](auto& entry) {
    auto& [channel, ends] = entry;
    if (!all && !(within(channel.source) && within(channel.destination))) return false;
    NumberRanges kept = intersect(ends.sent, ends.received);
    if (!kept.empty()) plan_.channels.emplace(channel, std::move(kept));
    return true;
  });
  std::erase_if(open_->collectives, [&](auto& entry) {
    const auto size = members_.find(entry.first);
    const bool complete = size != members_.end() && size->second == entry.second.count;
    if (complete) plan_.collectives.emplace(entry.first, std::move(entry.second.common));
    return complete || all;
  });
}

MessagePlan MessageSettlement::part_of(std::uint32_t from, std::uint32_t to) const {
  const auto within = [from, to](std::uint32_t rank) { return rank >= from && rank < to; };
  MessagePlan out;
  for (const auto& [channel, kept] : plan_.channels)
    if (within(channel.source) || within(channel.destination))
      out.channels.emplace(channel, kept);
  // Here it is not known who a communicator's members are.
  out.collectives = plan_.collectives;
  return out;
}

std::optional<MessagePlan> settle_messages(
    exchange::Exchange& exchange, std::optional<MessageSummary> own,
    const std::unordered_map<std::uint64_t, std::uint64_t>& members) {
  MessageSettlement settlement(exchange, members);
  settlement.up(std::move(own));
  return settlement.down();
}

}  // namespace refrain::writer
