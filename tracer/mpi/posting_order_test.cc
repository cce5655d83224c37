#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <optional>
#include <random>

#include "spool/mpi_journal.h"
#include "tracer/mpi/message_tables.h"

namespace refrain::mpi::posting_order_test {
namespace {

constexpr int kAny = -1;

// A process that posts receives, and what MPI does with them: messages of a source arrive in
// order, and each goes to the first receive posted that takes it.
class Process {
 public:
  explicit Process(unsigned seed) : random_(seed) {}

  void step() {
    switch (random_() % 7) {
      case 0:
      case 1:
        return arrive({0, source(), tag()});
      case 2:
      case 3:
        return post(chance(3) ? kAny : source(), chance(3) ? kAny : tag());
      case 4:
      case 5:
        return complete_one();
      default:
        if (chance(4)) cancel();
    }
  }

  // Records all receives that are complete.
  void finish() {
    for (std::size_t before = ~std::size_t{0}; receives_.size() != before;) {
      before = receives_.size();
      complete_one();
    }
  }

  // The number recorded for each receive, and that of the message that it got.
  struct Recorded {
    ChannelEnd channel;
    std::uint64_t number;
    std::uint64_t message;
  };
  const std::vector<Recorded>& recorded() const { return recorded_; }
  std::map<ChannelEnd, spool::MessageNumbers>& numbers() { return numbers_; }
  std::uint64_t moves() const { return moves_; }
  std::uint64_t holes() const { return holes_; }

 private:
  struct Receive {
    int source, tag;
    bool any;
    std::uint64_t number;  // or place
    std::optional<Recorded> got{};
    bool takes(const ChannelEnd& message) const {
      return (source == kAny || source == message.peer) &&
             (tag == kAny || tag == message.tag);
    }
  };

  bool chance(unsigned one_in) { return random_() % one_in == 0; }
  int source() { return static_cast<int>(random_() % 2); }
  int tag() { return static_cast<int>(random_() % 2); }

  void arrive(const ChannelEnd& message) {
    const Recorded got{message, 0, arrived_[message]++};
    for (Receive& receive : receives_)
      if (!receive.got && receive.takes(message)) {
        receive.got = got;
        return;
      }
    unexpected_.push_back(got);
  }

  void post(int source, int tag) {
    Receive receive{source, tag, source == kAny || tag == kAny, 0};
    if (receive.any) {
      receive.number = order_.open();
    } else {
      if (!order_.idle()) order_.post({0, source, tag});
      receive.number = counters_.next(0, source, tag);
    }
    const auto found = std::find_if(
        unexpected_.begin(), unexpected_.end(),
        [&](const Recorded& message) { return receive.takes(message.channel); });
    if (found != unexpected_.end()) {
      receive.got = *found;
      unexpected_.erase(found);
    }
    receives_.push_back(receive);
  }

  // The program waits for any of the receives that are complete.
  void complete_one() {
    std::vector<std::deque<Receive>::iterator> complete;
    for (auto at = receives_.begin(); at != receives_.end(); ++at)
      if (at->got) complete.push_back(at);
    if (complete.empty()) return;
    const auto at = complete[random_() % complete.size()];
    Recorded recorded = *at->got;
    recorded.number = at->number;
    if (at->any) {
      const ChannelEnd& c = recorded.channel;
      recorded.number = counters_.next(c.comm, c.peer, c.tag);
      const std::uint64_t later = order_.close(at->number, c);
      if (later != 0) {
        numbers_[c].move(recorded.number, recorded.number - later);
        ++moves_;
      }
    }
    recorded_.push_back(recorded);
    receives_.erase(at);
  }

  void cancel() {
    const auto at = std::find_if(receives_.begin(), receives_.end(),
                                 [](const Receive& receive) { return !receive.got; });
    if (at == receives_.end()) return;
    if (at->any) {
      order_.drop(at->number);
    } else if (!order_.idle() || !counters_.take_back(0, at->source, at->tag, at->number)) {
      numbers_[{0, at->source, at->tag}].take_out(at->number);
      ++holes_;
    }
    receives_.erase(at);
  }

  std::mt19937 random_;
  PostingOrder order_;
  ChannelCounters counters_;
  std::map<ChannelEnd, std::uint64_t> arrived_;
  std::deque<Recorded> unexpected_;
  std::deque<Receive> receives_;
  std::vector<Recorded> recorded_;
  std::map<ChannelEnd, spool::MessageNumbers> numbers_;
  std::uint64_t moves_ = 0;
  std::uint64_t holes_ = 0;
};

}  // namespace

TEST_CASE(
    "PostingOrder: any source, any tag, cancelled - numbers put right are those of the "
    "messages") {
  std::uint64_t moves = 0;
  std::uint64_t holes = 0;
  for (unsigned seed = 0; seed != 300; ++seed) {
    Process process(seed);
    for (int i = 0; i != 400; ++i) process.step();
    process.finish();
    for (auto& [channel, numbers] : process.numbers()) numbers.finish();
    for (const Process::Recorded& recorded : process.recorded()) {
      const auto found = process.numbers().find(recorded.channel);
      const std::uint64_t number = found == process.numbers().end()
                                       ? recorded.number
                                       : found->second.right(recorded.number);
      INFO("seed " << seed << ", " << recorded.channel.peer << " " << recorded.channel.tag);
      REQUIRE(number == recorded.message);
    }
    moves += process.moves();
    holes += process.holes();
  }
  CHECK(moves > 1000);
  CHECK(holes > 1000);
}

TEST_CASE("PostingOrder: one open for ever - memory is bounded, the latest are in order") {
  PostingOrder order;
  const std::uint64_t service = order.open();
  for (std::size_t i = 0; i != 10 * PostingOrder::kMax; ++i) order.post({0, 1, 2});
  const std::uint64_t place = order.open();
  order.post({0, 1, 2});
  order.post({0, 1, 3});
  order.post({0, 1, 2});
  CHECK(order.close(place, {0, 1, 2}) == 2);
  CHECK(order.close(service, {0, 1, 2}) <= PostingOrder::kMax);
  CHECK(order.idle());
  CHECK(order.close(order.open(), {0, 1, 2}) == 0);
}

}  // namespace refrain::mpi::posting_order_test
