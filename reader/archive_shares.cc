#include "reader/archive_shares.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/ids.h"

namespace refrain::reader {
namespace {

constexpr std::uint64_t kEventsOfShare = 250'000;
constexpr std::size_t kMostShares = 4;
constexpr std::size_t kMostLocations = 8192;

std::size_t default_shares(const TraceDefinitions& definitions) {
  if (definitions.locations.size() > kMostLocations) return 1;
  std::uint64_t events = 0;
  for (const LocationInfo& location : definitions.locations)
    events += std::min(location.events, ~std::uint64_t{0} - events);
  return std::min<std::uint64_t>({std::max(1U, std::thread::hardware_concurrency()),
                                  kMostShares, events / kEventsOfShare});
}

// Where a thread cannot be started its part is done by the caller.
void in_parallel(std::size_t parts, const std::function<void(std::size_t)>& work) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < parts; ++i) {
    try {
      threads.emplace_back(work, i);
    } catch (const std::system_error&) {
      work(i);
    }
  }
  work(0);
}

// Of each part, whose exceptions are failures, too.
base::Result<> all_done(std::size_t parts,
                        const std::function<base::Result<>(std::size_t)>& work) {
  std::vector<std::string> errors(parts);
  in_parallel(parts, [&](std::size_t i) {
    try {
      if (const auto done = work(i); !done) errors[i] = done.error();
    } catch (const std::exception& wrong) {
      errors[i] = std::string("the archive cannot be read: ") + wrong.what();
    }
  });
  for (std::string& error : errors)
    if (!error.empty()) return base::Failure{std::move(error)};
  return {};
}

class Both final : public TraceSink {
 public:
  Both(TraceSink& first, ShareSinks& more)
      : first_(first), more_(more), second_(more.sink_of(0)) {}

  base::Result<> begin(const TraceDefinitions& definitions) override {
    const auto done = first_.begin(definitions);
    return done ? second_.begin(definitions) : done;
  }
  void event(const TraceEvent& event) override {
    first_.event(event);
    second_.event(event);
  }
  std::string error() const override {
    std::string error = first_.error();
    return error.empty() ? second_.error() : error;
  }
  std::vector<std::string> notes() const override { return first_.notes(); }
  bool tells_share(const Share& share) override { return first_.tells_share(share); }
  base::Result<> finish(std::uint64_t end_ns) override {
    auto done = first_.finish(end_ns);
    if (done) done = second_.finish(end_ns);
    if (done) more_.all_read();
    return done;
  }

 private:
  TraceSink& first_;
  ShareSinks& more_;
  TraceSink& second_;
};

}  // namespace

std::unique_ptr<TraceSink> with_sinks(TraceSink& first, ShareSinks& more) {
  return std::make_unique<Both>(first, more);
}

std::vector<std::uint32_t> share_processes(const TraceDefinitions& definitions,
                                           std::uint32_t shares) {
  const std::size_t processes = definitions.processes.size();
  std::vector<double> events(processes);
  for (const LocationInfo& location : definitions.locations)
    if (location.process < processes)
      events[location.process] += static_cast<double>(location.events);
  std::vector<ProcessId> order;
  for (ProcessId i; i < processes; ++i) order.push_back(i);
  std::ranges::stable_sort(order,
                           [&](ProcessId a, ProcessId b) { return events[a] > events[b]; });
  std::vector<std::uint32_t> out(processes);
  std::vector<double> given(std::max(shares, 1U));
  for (const ProcessId process : order) {
    const auto least = std::ranges::min_element(given);
    *least += events[process] + 1;
    out[process] = static_cast<std::uint32_t>(least - given.begin());
  }
  return out;
}

base::Result<> ArchiveShares::open(const std::string& archive, std::size_t shares) {
  streams_.clear();
  streams_.push_back(std::make_unique<ArchiveStream>());
  if (const auto done = streams_[0]->open(archive); !done) return done;
  if (shares == 0) shares = default_shares(definitions());
  shares = std::clamp<std::size_t>(
      shares, 1, std::max<std::size_t>(definitions().processes.size(), 1));
  share_ = share_processes(definitions(), static_cast<std::uint32_t>(shares));
  while (streams_.size() < shares) streams_.push_back(std::make_unique<ArchiveStream>());
  const auto group = make_stream_group(shares);
  for (const auto& stream : streams_) stream->join(group);
  return all_done(shares, [&](std::size_t i) {
    return i == 0 ? base::Result<>() : streams_[i]->open(archive);
  });
}

base::Result<> ArchiveShares::run(const std::vector<TraceSink*>& sinks,
                                  const Progress& progress) {
  if (size() == 1) return streams_[0]->run(*sinks[0], progress);
  std::vector<std::vector<LocationId>> locations(size());
  for (LocationId i; i < definitions().locations.size(); ++i) {
    const ProcessId process = definitions().locations[i].process;
    locations[process < share_.size() ? share_[process] : 0].push_back(i);
  }
  if (const auto done = all_done(
          size(), [&](std::size_t i) { return streams_[i]->open_events(locations[i]); });
      !done)
    return done;
  return run_all(sinks, progress);
}

base::Result<> ArchiveShares::run_all(const std::vector<TraceSink*>& sinks,
                                      const Progress& progress) {
  std::uint64_t base = ~std::uint64_t{0};
  for (const auto& stream : streams_) base = std::min(base, stream->base_ticks());
  std::uint64_t total = 0;
  for (const LocationInfo& location : definitions().locations)
    total += std::min(location.events, ~std::uint64_t{0} - total);
  std::vector<std::atomic<std::uint64_t>> read(size());
  return all_done(size(), [&](std::size_t i) {
    Progress own;
    if (progress)
      own = [&, i](std::uint64_t done, std::uint64_t) {
        read[i] = done;
        if (i != 0) return;
        std::uint64_t sum = 0;
        for (const auto& each : read) sum += each;
        progress(std::min(sum, total), total);
      };
    return streams_[i]->run_opened(base, *sinks[i], own);
  });
}

std::uint64_t ArchiveShares::events() const {
  std::uint64_t sum = 0;
  for (const auto& stream : streams_) sum += stream->events();
  return sum;
}

}  // namespace refrain::reader
