// Runs made by hand, whose factors are counted again here from POP's definitions.
#include "analysis/scaling/scaling.h"

#include <otf2/otf2.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace refrain::analysis::scaling_test {
namespace {

using summary::FlowGraph;
using summary::IterationRows;
using summary::RunSummary;

constexpr std::int64_t kInit = 100000;  // MPI_Init
constexpr auto kUseful = static_cast<std::size_t>(TimeClass::kUseful);
constexpr auto kImbalance = static_cast<std::size_t>(TimeClass::kImbalance);
constexpr auto kCollective = static_cast<std::size_t>(TimeClass::kMpiCollective);
constexpr auto kManagement = static_cast<std::size_t>(TimeClass::kMpiManagement);

// Iterations of: a parallel region, serial code, an Allreduce.
struct Plan {
  std::size_t ranks = 1;
  std::vector<std::size_t> threads = {1};  // of each rank, the last for the rest
  std::size_t iterations = 100;
  std::function<std::int64_t(std::size_t rank, std::size_t thread)> work;
  std::function<std::int64_t(std::size_t rank)> serial = [](std::size_t) { return 0; };
  std::int64_t call = 0;                       // an Allreduce without waiting
  std::uint32_t number = 1;                    // of the loop
  std::uint64_t instructions = 0, cycles = 0;  // of an iteration and thread

  std::size_t team(std::size_t rank) const {
    return threads[std::min(rank, threads.size() - 1)];
  }
  std::int64_t region(std::size_t rank) const {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < team(rank); ++i) most = std::max(most, work(rank, i));
    return most;
  }
  std::int64_t busy(std::size_t rank) const { return region(rank) + serial(rank); }
  std::int64_t iteration() const {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < ranks; ++i) most = std::max(most, busy(i));
    return most + call;
  }
};

RunSummary::Region region(const char* name, std::uint32_t role, std::uint32_t paradigm) {
  return {.reference = 0,
          .name = name,
          .file = "p.c",
          .line = 5,
          .role = role,
          .paradigm = paradigm};
}

// `turned`: with other numbers for the same regions and places.
std::vector<RunSummary> summaries(const Plan& plan, bool turned = false) {
  std::vector<RunSummary> out(plan.ranks);
  const auto iterations = static_cast<std::int64_t>(plan.iterations);
  const auto times = static_cast<std::uint64_t>(plan.iterations);
  for (std::size_t rank = 0; rank < plan.ranks; ++rank) {
    RunSummary& run = out[rank];
    run.process = run.rank = static_cast<std::uint32_t>(rank);
    run.regions = {
        region("MPI_Init", OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI),
        region("MPI_Allreduce", OTF2_REGION_ROLE_COLL_ALL2ALL, OTF2_PARADIGM_MPI),
        region("!$omp parallel", OTF2_REGION_ROLE_PARALLEL, OTF2_PARADIGM_OPENMP),
        region("!$omp implicit barrier", OTF2_REGION_ROLE_IMPLICIT_BARRIER,
               OTF2_PARADIGM_OPENMP)};
    run.sites = {"src/p.c:9"};
    std::vector<RunSummary::Node>& nodes = run.nodes.edit();
    nodes.resize(4);
    for (std::uint32_t i = 0; i < 4; ++i) nodes[i].region = i;
    nodes[1].site = 0;
    nodes[3].parent = 2;
    if (turned) {
      std::swap(run.regions.edit()[0], run.regions.edit()[1]);
      std::swap(nodes[0].region, nodes[1].region);
    }
    run.loops = {{plan.number, "loop " + std::to_string(plan.number) + " @ main p.c:7-12"}};
    run.counters = {{"PAPI_TOT_INS", "#"}, {"PAPI_TOT_CYC", "#"}};
    if (plan.cycles == 0) run.counters.clear();
    const std::int64_t in_call = plan.iteration() - plan.busy(rank);
    for (std::size_t thread = 0; thread < plan.team(rank); ++thread) {
      RunSummary::Location& location = run.locations.emplace_back();
      location.number = static_cast<std::uint32_t>(thread);
      location.primary = thread == 0;
      location.sums.resize(4);
      const std::int64_t work = plan.work(rank, thread);
      const std::int64_t waits = plan.region(rank) - work;
      location.sums[2].visits = location.sums[3].visits = times;
      location.sums[2].time = times * static_cast<std::uint64_t>(work + waits);
      location.sums[3].time = times * static_cast<std::uint64_t>(waits);
      if (thread == 0) {
        location.sums[0].visits = 1;
        location.sums[0].time = kInit;
        location.sums[1].visits = times;
        location.sums[1].time = times * static_cast<std::uint64_t>(in_call);
        location.flow.nodes.resize(2);
        location.flow.nodes[1] = {
            .kind = FlowGraph::Kind::kCall, .name = "MPI_Allreduce", .site = "src/p.c:9"};
        location.flow.edges = {
            {.from = 1,
             .to = 1,
             .count = times,
             .gap = times * static_cast<std::uint64_t>(plan.busy(rank))}};
      }
      auto& rows = location.iterations.rows;
      auto& first = rows.emplace_back();
      first.times[thread == 0 ? kManagement : IterationRows::kOutside] = kInit;
      for (std::int64_t i = 0; i < iterations; ++i) {
        auto& row = rows.emplace_back();
        row.begin = static_cast<std::uint64_t>(kInit + i * plan.iteration());
        row.loop = 0;
        row.first = static_cast<std::uint64_t>(i);
        row.count = 1;
        row.times[kUseful] = work;
        row.times[kImbalance] = waits;
        row.times[kCollective] = thread == 0 ? in_call : 0;
        row.times[IterationRows::kOutside] =
            plan.serial(rank) + (thread == 0 ? 0 : in_call);
        if (plan.cycles != 0) row.counters = {plan.instructions, plan.cycles};
      }
      if (plan.cycles != 0) first.counters = {0, 0};
      run.end = location.iterations.end =
          static_cast<std::uint64_t>(kInit + iterations * plan.iteration());
    }
  }
  return out;
}

// As POP has them, of what each thread does in an iteration.
struct Counted {
  double useful = 0, most = 0, threads = 0, time = 0;
  double outside = 0, outside_most = 0;  // of MPI, of primary threads, by their threads
  double serial = 0, openmp = 0;         // lost

  explicit Counted(const Plan& plan) {
    time = static_cast<double>(plan.iteration());
    for (std::size_t rank = 0; rank < plan.ranks; ++rank) {
      const auto team = static_cast<double>(plan.team(rank));
      const auto busy = static_cast<double>(plan.busy(rank));
      const auto alone = static_cast<double>(plan.serial(rank));
      for (std::size_t thread = 0; thread < plan.team(rank); ++thread) {
        const auto own = static_cast<double>(plan.work(rank, thread));
        const double sum = own + (thread == 0 ? alone : 0);
        useful += sum;
        most = std::max(most, sum);
        openmp += static_cast<double>(plan.region(rank)) - own;
      }
      threads += team;
      outside += team * busy;
      outside_most = std::max(outside_most, busy);
      serial += (team - 1) * alone;
    }
  }
  double parallel() const { return useful / threads / time; }
  double mpi() const { return outside / threads / time; }
};

constexpr double kTenthOfPoint = 0.001;

void same(double found, double wanted) {
  CHECK(found == Approx(wanted).margin(kTenthOfPoint / 2).epsilon(0));
}

Scaling scaled(const std::vector<Plan>& plans, const ScalingOptions& options = {}) {
  std::vector<Scale> runs;
  for (const Plan& plan : plans)
    runs.push_back(scale_of(summaries(plan, runs.size() % 2 == 1),
                            "run" + std::to_string(runs.size())));
  auto result = scaling_of(std::move(runs), options);
  INFO(result.error());
  REQUIRE(result);
  return *std::move(result);
}

// Everything in the table, against the recount.
void check(const std::vector<Plan>& plans, bool weak, const ScalingOptions& options = {}) {
  const Scaling scaling = scaled(plans, options);
  CHECK(scaling.weak == weak);
  REQUIRE(scaling.factors.size() == plans.size());
  const Counted base(plans[0]);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    CAPTURE(i);
    const Factors& f = scaling.factors[i];
    const RunEfficiencies& e = f.efficiencies;
    const Counted own(plans[i]);
    const double problem = weak ? own.threads / base.threads : 1;
    same(e.parallel, own.parallel());
    same(e.load_balance, own.useful / own.threads / own.most);
    same(e.communication, own.most / own.time);
    same(e.mpi, own.mpi());
    same(e.mpi_load_balance, own.outside / own.threads / own.outside_most);
    same(e.mpi_communication, own.outside_most / own.time);
    same(e.openmp, own.parallel() / own.mpi());
    same(e.lost_mpi, 1 - own.mpi());
    same(e.lost_serial, own.serial / own.threads / own.time);
    same(e.lost_openmp, own.openmp / own.threads / own.time);
    same(e.lost_other, 0);
    same(f.computation, problem * base.useful / own.useful);
    same(f.global, own.parallel() * problem * base.useful / own.useful);
    same(f.speedup, problem * base.time / own.time);
    for (const double each : {e.parallel, e.load_balance, e.communication, e.mpi,
                              e.mpi_load_balance, e.mpi_communication, e.openmp})
      CHECK(each <= 1 + 1e-12);
  }
}

// `all`: of the work of all, on so many ranks of so many threads.
Plan even(std::size_t ranks, std::size_t threads, std::int64_t all = 80000) {
  Plan plan;
  plan.ranks = ranks;
  plan.threads = {threads};
  plan.work = [=](std::size_t, std::size_t) {
    return all / static_cast<std::int64_t>(ranks * threads);
  };
  return plan;
}

std::vector<Plan> scales(const std::function<void(Plan&, std::size_t)>& change = {},
                         bool weak = false) {
  std::vector<Plan> plans;
  for (const std::size_t ranks : {1, 2, 4}) {
    plans.push_back(
        even(ranks, 1, weak ? 40000 * static_cast<std::int64_t>(ranks) : 80000));
    if (change) change(plans.back(), ranks);
  }
  return plans;
}

std::vector<Plan> hybrid(const std::function<void(Plan&, std::size_t)>& change,
                         bool weak = false) {
  std::vector<Plan> plans;
  for (const std::size_t ranks : {1, 2, 4}) {
    plans.push_back(
        even(ranks, 4, weak ? 160000 * static_cast<std::int64_t>(ranks) : 320000));
    change(plans.back(), ranks);
  }
  return plans;
}

void uneven_ranks(Plan& plan, std::size_t ranks) {
  const auto even_work = plan.work;
  plan.work = [=](std::size_t rank, std::size_t thread) {
    return even_work(rank, thread) * (rank == 0 && ranks > 1 ? 13 : 10) / 10;
  };
}
void communication(Plan& plan, std::size_t ranks) {
  plan.call = 1000 * static_cast<std::int64_t>(ranks);
}
void uneven_threads(Plan& plan, std::size_t) {
  const auto even_work = plan.work;
  plan.work = [=](std::size_t rank, std::size_t thread) {
    return even_work(rank, thread) - 700 * static_cast<std::int64_t>(thread);
  };
}
void serial(Plan& plan, std::size_t) {
  plan.serial = [](std::size_t rank) {
    return 3000 + 100 * static_cast<std::int64_t>(rank);
  };
}
void computation(Plan& plan, std::size_t ranks) {
  const auto even_work = plan.work;
  plan.work = [=](std::size_t rank, std::size_t thread) {
    return even_work(rank, thread) * (10 + static_cast<std::int64_t>(ranks)) / 11;
  };
}

}  // namespace

TEST_CASE("Scaling: each factor alone - strong") {
  check(scales(), false);
  check(scales(uneven_ranks), false);
  check(scales(communication), false);
  check(scales(computation), false);
  check(hybrid(uneven_threads), false);
  check(hybrid(serial), false);
  const Scaling perfect = scaled(scales());
  same(perfect.factors[2].global, 1);
  same(perfect.factors[2].speedup, 4);
  CHECK(perfect.part == "main p.c:7-12");
  CHECK(perfect.factors[2].iterations == 100);
}

TEST_CASE("Scaling: each factor alone - weak, seen from the work or said") {
  check(scales({}, true), true);
  check(scales(uneven_ranks, true), true);
  check(scales(communication, true), true);
  check(scales(computation, true), true);
  check(hybrid(serial, true), true);
  ScalingOptions options;
  options.weak = true;
  check(scales(communication), true, options);
  options.weak = false;
  check(scales(communication, true), false, options);
}

TEST_CASE("Scaling: threads that had no core - time does not say whether it is weak") {
  std::vector<Scale> runs;
  for (const Plan& plan : scales({}, true)) {
    auto all = summaries(plan);
    if (plan.ranks == 4)
      for (auto& rank : all) rank.locations[0].use.core_wait_ns = rank.end * 6 / 10;
    runs.push_back(scale_of(all, "run"));
  }
  const auto assumed = scaling_of(runs, {});
  REQUIRE(assumed);
  CHECK_FALSE(assumed->weak);
  CHECK(assumed->weak_why.starts_with("assumed"));
  REQUIRE(assumed->notes.size() == 1);
  REQUIRE(assumed->findings.size() == 2);
  // Nothing else is named: it may follow from that.
  const std::string& said = assumed->findings[1];
  CAPTURE(said);
  CHECK(
      said.starts_with("From 2 ranks to 4 ranks no point of parallel efficiency is lost. "
                       "Too few cores: Threads were ready to run"));
  CHECK(said.find("(in the run before: 0 %). This may explain additional computation.") !=
        std::string::npos);
  CHECK(said.find("Of the") == std::string::npos);
  ScalingOptions options;
  options.weak = true;
  CHECK(scaling_of(runs, options)->weak);
}

TEST_CASE(
    "Scaling: threads that had no core for less than the work grew - it is weak all the same") {
  const bool weak = GENERATE(true, false);
  std::vector<Scale> runs;
  for (const Plan& plan : scales({}, weak)) {
    auto all = summaries(plan);
    if (plan.ranks == 4) all[1].locations[0].use.core_wait_ns = all[1].end / 2;
    runs.push_back(scale_of(all, "run"));
  }
  const auto seen = scaling_of(runs, {});
  REQUIRE(seen);
  CHECK(seen->weak == weak);
  CHECK(seen->weak_why.starts_with("from the work"));
}

TEST_CASE("Scaling: all factors together, also with different teams") {
  const auto all = [](Plan& plan, std::size_t ranks) {
    uneven_ranks(plan, ranks);
    communication(plan, ranks);
    uneven_threads(plan, ranks);
    serial(plan, ranks);
    computation(plan, ranks);
  };
  check(hybrid(all), false);
  check(hybrid(all, true), true);
  std::vector<Plan> plans = hybrid(all);
  plans[1].threads = {1, 4};
  plans[2].threads = {3, 1, 4, 2};
  check(plans, false);
}

TEST_CASE(
    "Scaling: counters - instructions, IPC and frequency, whose product is computation") {
  std::vector<Plan> plans = scales();
  for (Plan& plan : plans) {
    const double work = static_cast<double>(plan.work(0, 0));
    plan.instructions = static_cast<std::uint64_t>(2 * work);
    plan.cycles = static_cast<std::uint64_t>(work);
  }
  // On four ranks a tenth more instructions, a fifth more cycles for each, and a clock 5 % slower.
  plans[2].instructions = 44000;
  plans[2].cycles = 26400;
  plans[2].work = [](std::size_t, std::size_t) { return 27720; };
  const Scaling scaling = scaled(plans);
  const Factors& f = scaling.factors[2];
  REQUIRE(f.counted);
  same(f.instructions, 1 / 1.1);
  same(f.ipc, 1 / 1.2);
  same(f.frequency, 1 / 1.05);
  same(f.computation, f.instructions * f.ipc * f.frequency);
  same(f.computation, 80000.0 / (4 * 27720));
  CHECK_FALSE(scaled(scales()).factors[2].counted);
}

TEST_CASE("Scaling: the whole run - without start and end of MPI") {
  ScalingOptions options;
  options.whole = true;
  check(scales(communication), false, options);
  check(hybrid(serial), false, options);
  CHECK(scaled(scales(), options).part.empty());
  same(scaled(scales(), options).factors[1].time_ns / 100, 40000);
}

// What goes on outside of it is what does not scale.
TEST_CASE("Scaling: a loop that is a small part of the runs is not the main one") {
  std::vector<Scale> runs;
  for (const Plan& plan : scales(communication))
    runs.push_back(scale_of(summaries(plan), "run"));
  for (Scale& run : runs) run.whole.time_ns *= 25;
  const auto whole = scaling_of(runs, {});
  REQUIRE(whole);
  CHECK(whole->part.empty());
  REQUIRE(!whole->notes.empty());
  CHECK(whole->notes[0].find(
            "(main p.c:7-12; --loop chooses one): factors are for the whole runs") !=
        std::string::npos);
  ScalingOptions options;
  options.loop = "p.c:7";
  CHECK(scaling_of(runs, options)->part == "main p.c:7-12");
}

TEST_CASE("Scaling: loops are one by their place, whatever their number") {
  std::vector<Plan> plans = scales(communication);
  plans[1].number = 7;
  plans[2].number = 3;
  check(plans, false);
  ScalingOptions options;
  options.loop = "p.c:7";
  CHECK(scaled(plans, options).part == "main p.c:7-12");
  options.loop = "q.c";
  std::vector<Scale> runs;
  for (const Plan& plan : plans) runs.push_back(scale_of(summaries(plan), "run"));
  const auto wrong = scaling_of(runs, options);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().find("main p.c:7-12") != std::string::npos);
  runs.resize(1);
  CHECK_FALSE(scaling_of(runs, {}));
}

TEST_CASE("Scaling: iterations - detected some later, or really more") {
  std::vector<Plan> plans = scales();
  plans[1].iterations = 98;
  check(plans, false);
  plans[1].iterations = 150;
  const Scaling more = scaled(plans);
  same(more.factors[1].speedup, 80000.0 * 100 / (40000 * 150));
  same(more.factors[1].computation, 100.0 / 150);
  REQUIRE(more.notes.size() == 1);
  CHECK(more.notes[0].find("98") == std::string::npos);
  CHECK(more.notes[0].find("100 to 150") != std::string::npos);
}

TEST_CASE("Scaling: where the loss is - by place, whose numbers differ") {
  const Scaling scaling = scaled(scales([](Plan& plan, std::size_t ranks) {
    communication(plan, ranks);
    computation(plan, ranks);
  }));
  const auto find = [&](PlaceTime::Kind kind, const std::string& text) -> const PlaceLoss& {
    const auto at = std::ranges::find_if(scaling.losses, [&](const PlaceLoss& loss) {
      return loss.kind == kind && loss.text.find(text) != std::string::npos;
    });
    REQUIRE(at != scaling.losses.end());
    return *at;
  };
  using Kind = PlaceTime::Kind;
  const PlaceLoss& call = find(Kind::kCallPath, "MPI_Allreduce @p.c:9");
  REQUIRE(call.ns.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const double ranks = static_cast<double>(1 << i);
    same(call.ns[i], 100 * 1000 * ranks * ranks);
    same(call.lost_ns[i], 100 * 1000 * (ranks * ranks - 1));
  }
  const PlaceLoss& region = find(Kind::kCallPath, "parallel");
  CHECK(region.lost_ns[2] == Approx(100 * (80000.0 * 14 / 11 - 80000)).margin(1000));
  const PlaceLoss& code = find(Kind::kBetween, "between one MPI_Allreduce (p.c:9)");
  CHECK(code.lost_ns[2] == Approx(region.lost_ns[2]));
  same(find(Kind::kLoop, "main p.c:7-12").ns[1], scaling.all_ns[1]);
  // Ranked, and call paths add up to the whole.
  double lost = 0;
  for (const PlaceLoss& loss : scaling.losses)
    if (loss.kind == Kind::kCallPath) lost += loss.lost_ns[2];
  same(lost, scaling.all_ns[2] - scaling.all_ns[0]);
  CHECK(scaling.losses[0].lost_ns[2] >= scaling.losses[1].lost_ns[2]);
  CHECK(std::ranges::none_of(scaling.losses, [](const PlaceLoss& loss) {
    return loss.text.find("MPI_Init") != std::string::npos;
  }));
}

// One rank may call nothing in it, so that there is no loop and nothing between events.
TEST_CASE("Scaling: where the loss is - a loop that the base does not have") {
  std::vector<Scale> runs;
  for (const Plan& plan : scales(communication))
    runs.push_back(scale_of(summaries(plan), "run"));
  std::erase_if(runs[0].places, [](const PlaceTime& place) {
    return place.kind != PlaceTime::Kind::kCallPath;
  });
  const auto scaling = scaling_of(runs, {});
  REQUIRE(scaling);
  bool any = false;
  for (const PlaceLoss& loss : scaling->losses) {
    if (loss.kind == PlaceTime::Kind::kCallPath) continue;
    CAPTURE(loss.text);
    any = true;
    CHECK(loss.lost_ns[0] == 0);
    CHECK(loss.lost_ns[1] == 0);
    same(loss.lost_ns[2], loss.ns[2] - loss.ns[1]);
  }
  CHECK(any);
}

TEST_CASE("Scaling: repeated runs - whose times differ much, or of another program") {
  std::vector<Scale> runs;
  for (const Plan& plan : scales(communication))
    for (int i = 0; i < 3; ++i) runs.push_back(scale_of(summaries(plan), "run"));
  CHECK(scaling_of(medians_of(runs), {})->notes.empty());
  CHECK(of_one_program(runs));
  runs[4].whole.time_ns *= 1.4;
  const auto noisy = scaling_of(medians_of(runs), {});
  REQUIRE(noisy->notes.size() == 1);
  CHECK(noisy->notes[0].find("the times of its 3 runs differ by 40 %") !=
        std::string::npos);
  runs[4].program = "/bin/other";
  CHECK(of_one_program(runs));  // renamed
  for (PlaceTime& place : runs[4].places) place.key += "of another program";
  CHECK_FALSE(of_one_program(runs));
}

TEST_CASE("Scaling: findings - points and what they are lost to") {
  const Scaling scaling = scaled(scales(uneven_ranks));
  REQUIRE(scaling.findings.size() == 2);
  CAPTURE(scaling.findings[0], scaling.findings[1]);
  // 1 to 1.15 / 1.3.
  CHECK(scaling.findings[0].starts_with(
      "From 1 rank to 2 ranks 12 points of parallel efficiency are lost: 12 waiting for "
      "ranks with more work"));
  CHECK(scaling.findings[0].find("Rank 0") != std::string::npos);
  CHECK(scaling.findings[0].find("computation takes 15 % more time on all threads") !=
        std::string::npos);
  CHECK(scaled(scales()).findings[1].find("no point") != std::string::npos);
}

TEST_CASE(
    "Scaling: findings - the points of the table, also where threads wait for cores") {
  const auto run = [](std::size_t ranks, double parallel, double without_core) {
    Scale out;
    out.name = "run" + std::to_string(ranks);
    out.mpi = true;
    out.processes = out.threads = ranks;
    ScalePart& whole = out.whole;
    whole.processes = whole.threads = ranks;
    whole.time_ns = 100e6;
    whole.all_ns = 100e6 * static_cast<double>(ranks);
    whole.useful_ns = parallel * whole.all_ns;
    whole.efficiencies.has_mpi = true;
    whole.efficiencies.parallel = whole.efficiencies.communication = parallel;
    whole.efficiencies.load_balance = 1;
    out.conclusions.time_ns = whole.all_ns;
    const auto put = [&](Account account, double share) {
      out.conclusions.ledger[static_cast<std::size_t>(account)] = share * whole.all_ns;
    };
    put(Account::kUseful, parallel - without_core);
    put(Account::kCores, without_core);
    put(Account::kCommunication, 1 - parallel);
    return out;
  };
  const auto finding = [&](double parallel, double without_core) {
    return scaling_of({run(1, 0.99, 0.1), run(2, parallel, without_core)}, {})
        ->findings.at(0);
  };
  // In the ledger a point is gained, and 9 are lost.
  CHECK(
      finding(0.96, 0.06)
          .starts_with("From 1 rank to 2 ranks 3 points of parallel efficiency are lost"));
  const std::string other = finding(0.98, 0.18);
  CHECK(other.starts_with("From 1 rank to 2 ranks 1 point of parallel efficiency is lost"));
  CHECK(
      other.find(" More of the time of all threads, in points: 8 waiting for a free core, "
                 "1 communication.") != std::string::npos);
  Scale few = run(2, 0.96, 0.4);
  few.conclusions.core_wait_ns = 0.4 * few.conclusions.time_ns;
  few.conclusions.cores = "Threads had no core";
  const auto too_few = scaling_of({run(1, 0.99, 0), few}, {});
  CHECK(too_few->findings.at(0).starts_with(
      "From 1 rank to 2 ranks 3 points of parallel efficiency are lost. Too few cores: "
      "Threads had no core (in the run before: 0 %). This may explain the whole loss, and "
      "additional computation."));
  // What has more is first.
  Scale serial = run(2, 0.6, 0);
  serial.conclusions.core_wait_ns = 0.1 * serial.conclusions.time_ns;
  serial.conclusions.cores = "Threads had no core";
  const std::string both = scaling_of({run(1, 0.99, 0), serial}, {})->findings.at(0);
  CAPTURE(both);
  CHECK(
      both.starts_with("From 1 rank to 2 ranks 39 points of parallel efficiency are "
                       "lost: 39 communication"));
  CHECK(both.find(" Besides: Too few cores: Threads had no core (in the run before: 0 %). "
                  "This may explain 20 of these points, and additional computation.") !=
        std::string::npos);
}

TEST_CASE("Scaling: models - of places, from five scales on") {
  std::vector<Plan> plans;
  for (const std::size_t ranks : {1, 2, 4, 8, 16}) {
    plans.push_back(even(ranks, 1, 1600000));
    plans.back().iterations = 10;
    plans.back().call = 100;  // of each rank
  }
  Scaling scaling = scaled(plans);
  CHECK(scaling.at == 64);
  const auto call = std::ranges::find_if(scaling.losses, [](const PlaceLoss& loss) {
    return loss.text.find("MPI_Allreduce") != std::string::npos;
  });
  REQUIRE(call != scaling.losses.end());
  REQUIRE(call->time);
  CHECK(call->time->text() == "grows with p");
  same(call->share.value, 6400.0 / (6400 + 1600000));
  CHECK(scaling.notes.empty());
  ScalingOptions options;
  options.at = 1024;
  scaling = scaled(plans, options);
  REQUIRE(scaling.notes.size() == 1);
  CHECK(scaling.notes[0].find("more than four times") != std::string::npos);
  plans.pop_back();
  scaling = scaled(plans);
  CHECK(scaling.at == 0);
  CHECK_FALSE(scaling.losses[0].time);
}

TEST_CASE("Scaling: without rows of iterations - the whole runs") {
  std::vector<Scale> runs;
  for (const Plan& plan : scales(communication)) {
    auto all = summaries(plan);
    for (RunSummary& run : all)
      for (auto& location : run.locations) location.iterations = {};
    runs.push_back(scale_of(all, "run"));
  }
  const auto scaling = scaling_of(runs, {});
  REQUIRE(scaling);
  CHECK(scaling->part.empty());
  REQUIRE_FALSE(scaling->notes.empty());
  CHECK(scaling->factors[2].efficiencies.parallel == Approx(20000.0 / 24000));
}

TEST_CASE("Scaling: a step names the factor, the call, and what it does otherwise") {
  const auto run = [](std::size_t ranks, double parallel, double transfer, double share,
                      double messages, double bytes) {
    Scale out;
    out.name = "run" + std::to_string(ranks);
    out.mpi = true;
    out.processes = out.threads = ranks;
    ScalePart& whole = out.whole;
    whole.processes = whole.threads = ranks;
    whole.time_ns = 100e6;
    whole.all_ns = 100e6 * static_cast<double>(ranks);
    whole.useful_ns = parallel * whole.all_ns;
    whole.ideal_ns = transfer * whole.time_ns;
    whole.efficiencies.has_mpi = true;
    whole.efficiencies.parallel = whole.efficiencies.communication = parallel;
    whole.efficiencies.load_balance = 1;
    out.conclusions.time_ns = whole.all_ns;
    out.conclusions.ledger[static_cast<std::size_t>(Account::kUseful)] = whole.useful_ns;
    out.conclusions.ledger[static_cast<std::size_t>(Account::kCommunication)] =
        whole.all_ns - whole.useful_ns;
    PlaceTime place;
    place.key = "exchange";
    place.text = "MPI_Sendrecv @exchange p.c:9";
    place.mpi = true;
    place.ns = share * whole.all_ns;
    place.visits = place.messages = messages * static_cast<double>(ranks);
    place.bytes = bytes * place.messages;
    out.places = {place};
    return out;
  };
  const auto found = scaling_of(
      {run(2, 0.9, 0.95, 0.1, 100, 900), run(4, 0.77, 0.82, 0.23, 300, 300)}, {});
  REQUIRE(found);
  REQUIRE(found->steps.size() == 1);
  const ScaleStep& step = found->steps[0];
  CHECK(step.points == Approx(13));
  REQUIRE(step.losses.size() == 2);
  CHECK(step.losses[0].factor == std::string("transfer"));
  CHECK(step.losses[0].points == Approx(12.26).margin(0.01));
  CHECK(step.losses[1].factor == std::string("serialization"));
  CHECK(step.losses[0].points + step.losses[1].points == Approx(13));
  CHECK(step.call.points == Approx(13));
  REQUIRE(found->findings.size() == 1);
  INFO(found->findings[0]);
  CHECK(
      found->findings[0].find(
          "Of the 13 points that the table shows, 12 are transfer, 1 is serialization; "
          "MPI_Sendrecv @exchange p.c:9 takes 13 points more: 3 times as many messages of "
          "each rank, of 0.333 times the size (300 bytes).") != std::string::npos);
  const auto gained = scaling_of(
      {run(2, 0.77, 0.82, 0.23, 300, 300), run(4, 0.9, 0.95, 0.1, 100, 900)}, {});
  REQUIRE(gained);
  CHECK(gained->steps[0].losses.empty());
  CHECK(gained->steps[0].call.place.empty());
}

TEST_CASE("Scaling: runs of different programs are refused") {
  std::vector<Scale> runs;
  for (const std::size_t ranks : {1, 2})
    runs.push_back(scale_of(summaries(even(ranks, 1)), "r" + std::to_string(ranks)));
  runs[0].program = "app";
  runs[1].program = "app.new";
  CHECK(scaling_of(runs, {}));
  for (PlaceTime& place : runs[1].places) place.key += "of another one";
  const auto refused = scaling_of(runs, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error() ==
        "r1 is a run of 'app', r2 of 'app.new', and they have few call paths in common: "
        "compare runs of one program");
  // The same program, compiled anew.
  runs[1].program = "app";
  CHECK(scaling_of(runs, {}));
}

}  // namespace refrain::analysis::scaling_test
