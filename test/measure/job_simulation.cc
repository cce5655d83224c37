#include "test/measure/job_simulation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "exchange/tree.h"
#include "test/measure/live_bytes.h"
#include "writer/agree/mpi_job.h"
#include "writer/agree/rank_cuts.h"
#include "writer/messages/mpi_comms.h"

namespace refrain::simulation {
namespace {

using namespace exchange;
using namespace writer;

constexpr std::uint64_t kIterations = 1000;
constexpr std::uint64_t kLimit = 10;
constexpr std::uint64_t kLast = 2;
constexpr std::uint64_t kInner = 25;
constexpr std::uint64_t kWorld = 1;
constexpr std::uint64_t kSelf = 101;  // and the ranks' own after it, odd ones

double cpu_now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// All ranks' messages and clocks.
class Job {
 public:
  explicit Job(std::uint32_t size) : size_(size), clocks_(size), hops_(size) {}

  class Rank final : public Exchange {
   public:
    Rank(Job& job, std::uint32_t rank) : job_(job), rank_(rank) {}
    std::uint32_t rank() const noexcept override { return rank_; }
    std::uint32_t size() const noexcept override { return job_.size_; }
    void send(std::uint32_t to, const Bytes& bytes) override {
      job_.send(rank_, to, bytes);
    }
    Bytes receive(std::uint32_t from) override { return job_.receive(from, rank_); }

   private:
    Job& job_;
    std::uint32_t rank_;
  };

  // What a rank does in one go. Rank 0's memory is measured.
  void turn(std::uint32_t rank, const std::function<void()>& work) {
    forget_peak();
    before_ = live_bytes();
    mark_ = cpu_now();
    work();
    clocks_[rank] += cpu_now() - mark_;
    if (rank == 0) root_ = std::max(root_, peak_bytes() - std::min(before_, peak_bytes()));
  }

  void way_up_is_done() { depth_ = hops_[0]; }

  Cost cost(std::string what) const {
    Cost out{std::move(what)};
    out.depth = depth_;
    out.longest_way_s = *std::max_element(clocks_.begin(), clocks_.end());
    out.serial_s = working_s_;
    out.largest_bytes = largest_;
    out.root_bytes = root_;
    return out;
  }

  void add_work(double seconds) { working_s_ += seconds; }

 private:
  struct Letter {
    Bytes bytes;
    double sent;
    unsigned hops;
  };

  void pass_time(std::uint32_t rank) {
    const double now = cpu_now();
    clocks_[rank] += now - mark_;
    working_s_ += now - mark_;
  }

  void send(std::uint32_t from, std::uint32_t to, const Bytes& bytes) {
    pass_time(from);
    largest_ = std::max(largest_, bytes.size());
    letters_[{from, to}].push_back({bytes, clocks_[from], hops_[from] + 1});
    mark_ = cpu_now();
  }

  Bytes receive(std::uint32_t from, std::uint32_t to) {
    pass_time(to);
    const auto box = letters_.find({from, to});
    Letter letter = std::move(box->second.front());
    box->second.pop_front();
    if (box->second.empty()) letters_.erase(box);
    clocks_[to] = std::max(clocks_[to], letter.sent);
    hops_[to] = std::max(hops_[to], letter.hops);
    // Allocated before, but it belongs to this rank only now.
    before_ -= std::min(before_, letter.bytes.capacity());
    mark_ = cpu_now();
    return std::move(letter.bytes);
  }

  std::uint32_t size_;
  std::vector<double> clocks_;
  std::vector<unsigned> hops_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Letter>> letters_;
  double mark_ = 0;
  double working_s_ = 0;
  std::size_t before_ = 0;
  std::size_t root_ = 0;
  std::size_t largest_ = 0;
  unsigned depth_ = 0;
};

// The artificial program.
class Program {
 public:
  explicit Program(std::uint32_t ranks) : ranks_(ranks) {
    const auto bits = static_cast<unsigned>(std::countr_zero(ranks));
    for (unsigned i = 0; i < 3; ++i) grid_[i] = 1U << (bits + 2 - i) / 3;
    columns_ = 1U << bits / 2;
  }

  RankIntervals intervals(std::uint32_t rank) const {
    RankIntervals out;
    RankVisit& start = out.visits.emplace_back();
    start.path = {{0, 20, 0}};
    start.skipped = NumberRanges{{kLimit, 20 - kLast}};
    start.anchors = start.skipped;
    RankVisit& steps = out.visits.emplace_back();
    steps.path = {{0, kIterations, 0}};
    const std::uint64_t slow = rank % 16 == 3 ? 100 + rank % 800 : kIterations;
    for (std::uint64_t i = kLimit; i < kIterations - kLast; ++i)
      if (i != slow) steps.skipped.add(i);
    for (const auto& range : steps.skipped.ranges())
      steps.anchors.add(20 + range.begin, 20 + range.end);
    for (std::uint64_t i = 0; i < kLimit; ++i) {
      RankVisit& inner = out.visits.emplace_back();
      inner.path = {{0, kIterations, 0}, {i, kInner, 0}};
      inner.skipped = NumberRanges{{kLimit + (rank % 2), kInner}};
    }
    out.end_anchor = 20 + kIterations + 1;
    return out;
  }

  spool::MpiJournal journal(std::uint32_t rank) const {
    spool::MpiJournal out;
    out.known = true;
    out.rank = rank;
    out.size = ranks_;
    const auto add = [&](std::uint16_t number, spool::MpiCommKind kind,
                         std::uint64_t identity, std::uint32_t own,
                         std::vector<std::uint32_t> members) {
      spool::JournalComm& comm = out.comms[number];
      comm.kind = kind;
      comm.identity = identity;
      comm.parent = kind == spool::kMpiCommIntra ? kWorld : 0;
      comm.rank = own;
      comm.size = static_cast<std::uint32_t>(members.size());
      if (own == 0) comm.members = std::move(members);  // the first one knows them
    };
    const auto line = [](std::uint32_t first, std::uint32_t step, std::uint32_t count) {
      std::vector<std::uint32_t> members(count);
      for (std::uint32_t i = 0; i < count; ++i) members[i] = first + i * step;
      return members;
    };
    const std::uint32_t rows = ranks_ / columns_;
    add(0, spool::kMpiCommWorld, kWorld, rank, line(0, 1, ranks_));
    add(1, spool::kMpiCommSelf, kSelf + 2 * rank, 0, {rank});
    add(2, spool::kMpiCommIntra, row_of(rank), rank % columns_,
        line(rank - rank % columns_, 1, columns_));
    add(3, spool::kMpiCommIntra, column_of(rank), rank / columns_,
        line(rank % columns_, columns_, rows));
    return out;
  }

  MessageSummary messages(std::uint32_t rank) const {
    MessageSummary out;
    const NumberRanges written{{0, 20 + kLimit},
                               {20 + kIterations - kLast, 20 + kIterations}};
    for (std::uint32_t direction = 0; direction < 6; ++direction) {
      const std::uint32_t peer = neighbour(rank, direction);
      out.channels[{kWorld, rank, peer, direction}].sent = written;
      // What comes from there was sent in the opposite direction.
      out.channels[{kWorld, peer, rank, direction ^ 1U}].received = written;
    }
    for (const std::uint64_t comm : {kWorld, row_of(rank), column_of(rank)})
      out.collectives[comm] = {1, written};
    return out;
  }

 private:
  std::uint64_t row_of(std::uint32_t rank) const {
    return (std::uint64_t{1} << 40) + 2 * (rank / columns_) + 1;
  }
  std::uint64_t column_of(std::uint32_t rank) const {
    return (std::uint64_t{1} << 41) + 2 * (rank % columns_) + 1;
  }
  std::uint32_t neighbour(std::uint32_t rank, std::uint32_t direction) const {
    std::array<std::uint32_t, 3> at = {rank / (grid_[1] * grid_[2]),
                                       rank / grid_[2] % grid_[1], rank % grid_[2]};
    std::uint32_t& moved = at[direction / 2];
    const std::uint32_t size = grid_[direction / 2];
    moved = (moved + (direction % 2 == 0 ? 1 : size - 1)) % size;
    return (at[0] * grid_[1] + at[1]) * grid_[2] + at[2];
  }

  std::uint32_t ranks_;
  std::uint32_t columns_ = 1;
  std::array<std::uint32_t, 3> grid_{};
};

// All send, all get the result: `use(rank, result)`, outside the measured time.
template <typename Summary, typename Make, typename Use>
Cost run_union(std::uint32_t ranks, std::string what, Make make, Use use) {
  Job job(ranks);
  std::optional<Summary> at_root;
  for (std::uint32_t rank = ranks; rank-- > 0;) {
    std::optional<Summary> own = make(rank);
    Job::Rank end(job, rank);
    job.turn(rank, [&] { gather_up(end, own); });
    if (rank == 0) at_root = std::move(own);
  }
  job.way_up_is_done();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::optional<Summary> all;
    if (rank == 0) all = std::move(at_root);
    Job::Rank end(job, rank);
    job.turn(rank, [&] { send_down(end, all); });
    use(rank, all);
  }
  return job.cost(std::move(what));
}

NumberRanges left_of(const RankIntervals& rank, const SkippedIntervals& all) {
  const RankTrim trim = trim_rank(rank, all);
  return complement(unite(rank.visits[1].skipped, trim.visits[1].more), 0, kIterations);
}

Cost run_messages(std::uint32_t ranks, const Program& program, const CommTable& table,
                  std::size_t& kept) {
  Job job(ranks);
  std::deque<Job::Rank> ends;
  std::deque<MessageSettlement> settlements;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    ends.emplace_back(job, rank);
    settlements.emplace_back(ends.back(), table.members);
  }
  for (std::uint32_t rank = ranks; rank-- > 0;) {
    std::optional<MessageSummary> own = program.messages(rank);
    job.turn(rank, [&] { settlements[rank].up(std::move(own)); });
  }
  job.way_up_is_done();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::optional<MessagePlan> plan;
    job.turn(rank, [&] { plan = settlements[rank].down(); });
    if (plan) kept += plan->channels.size();
  }
  return job.cost("messages");
}

}  // namespace

Report simulate(std::uint32_t ranks) {
  const Program program(ranks);
  Report report;
  report.ranks = ranks;
  NumberRanges first;
  report.same_cut = true;
  report.costs.push_back(run_union<SkippedIntervals>(
      ranks, "cut",
      [&](std::uint32_t rank) { return skipped_intervals(program.intervals(rank)); },
      [&](std::uint32_t rank, const std::optional<SkippedIntervals>& all) {
        NumberRanges left;
        if (all) left = left_of(program.intervals(rank), *all);
        if (rank == 0) first = left;
        report.same_cut =
            report.same_cut && left == first && left.count() == kLimit + kLast;
      }));
  CommTable table;
  report.costs.push_back(run_union<MpiFacts>(
      ranks, "communicators",
      [&](std::uint32_t rank) { return mpi_facts(program.journal(rank)); },
      [&](std::uint32_t rank, const std::optional<MpiFacts>& all) {
        if (rank == ranks - 1 && all) table = comm_table(*all);
      }));
  report.comms = table.comms.size();
  report.costs.push_back(run_messages(ranks, program, table, report.kept));
  return report;
}

}  // namespace refrain::simulation
