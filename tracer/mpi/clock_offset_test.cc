// Clock offsets, over processes that are threads and clocks that differ by design.
#include "tracer/mpi/clock_offset.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace refrain::mpi::clock_offset_test {
namespace {

// A network: what one rank sends to another arrives in order.
class Network {
 public:
  void send(int from, int to, const void* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const char* at = static_cast<const char*>(data);
    boxes_[{from, to}].emplace_back(at, at + bytes);
    ++messages_;
    arrived_.notify_all();
  }
  void receive(int from, int to, void* data, std::size_t bytes) {
    std::unique_lock lock(mutex_);
    auto& box = boxes_[{from, to}];
    arrived_.wait(lock, [&] { return !box.empty(); });
    if (box.front().size() != bytes) std::abort();
    std::memcpy(data, box.front().data(), bytes);
    box.pop_front();
  }
  std::size_t left() const {
    std::size_t sum = 0;
    for (const auto& [key, box] : boxes_) sum += box.size();
    return sum;
  }
  std::size_t messages() const { return messages_; }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<std::pair<int, int>, std::deque<std::vector<char>>> boxes_;
  std::size_t messages_ = 0;
};

std::uint64_t true_time() {
  return static_cast<std::uint64_t>(
      std::chrono::steady_clock::now().time_since_epoch().count());
}

class Process final : public Transport {
 public:
  Process(Network& network, int rank, std::uint64_t ahead)
      : network_(network), rank_(rank), ahead_(ahead) {}
  void send(int rank, const void* data, std::size_t bytes) noexcept override {
    network_.send(rank_, rank, data, bytes);
  }
  void receive(int rank, void* data, std::size_t bytes) noexcept override {
    network_.receive(rank, rank_, data, bytes);
  }
  std::uint64_t now() noexcept override { return true_time() + ahead_; }

 private:
  Network& network_;
  int rank_;
  std::uint64_t ahead_;
};

}  // namespace

TEST_CASE("Clock offsets: any number of processes - true within the reported error") {
  std::mt19937_64 random(7);
  for (const int size : {1, 2, 3, 4, 5, 7, 8, 13}) {
    Network network;
    std::vector<std::uint64_t> ahead;
    for (int rank = 0; rank < size; ++rank)
      ahead.push_back(random());  // anywhere in 64 bits
    std::vector<ClockOffset> found(static_cast<std::size_t>(size));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        const auto i = static_cast<std::size_t>(rank);
        Process process(network, rank, ahead[i]);
        found[i] = measure_clock_offset(rank, size, {.most = 20}, process);
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(network.left() == 0);
    CHECK(network.messages() == static_cast<std::size_t>(size - 1) * 2 * 20);
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO("rank " << i << " of " << size);
      const auto wanted = static_cast<std::int64_t>(ahead[0] - ahead[i]);
      const auto off = static_cast<std::uint64_t>(std::abs(found[i].ticks - wanted));
      CHECK(off <= found[i].error);
      CHECK((i == 0 || found[i].error > 0));
      CHECK(found[i].error < 1000000000);
      const std::uint64_t ago = true_time() + ahead[i] - found[i].measured_at;
      CHECK(ago < 60000000000U);
    }
  }
}

TEST_CASE("Clock offsets: one machine - one clock, asked once") {
  // 0, 1 on one machine, 2, 3 on another, whose clock is 5000 ms ahead.
  Network network;
  ClockOffset found[4];
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 4; ++rank)
    threads.emplace_back([&, rank] {
      Process process(network, rank, rank < 2 ? 0 : 5000000000);
      found[rank] = measure_clock_offset(
          rank, 4, {.most = 20, .machine = rank < 2 ? 11U : 12U}, process);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(found[1].ticks == 0);
  CHECK(found[1].error == 0);
  CHECK(found[2].error > 0);
  CHECK(found[3].ticks == found[2].ticks);
  CHECK(found[3].error == found[2].error);
  CHECK(std::abs(found[3].ticks + 5000000000) <= static_cast<std::int64_t>(found[3].error));
  CHECK(network.messages() == 2 * (1 + 20 + 1));
  CHECK(network.left() == 0);
}

TEST_CASE("Clock offsets: patience - a slow pair does not take all its trips") {
  Network network;
  ClockOffset found[2];
  const auto run = [&](int rank) {
    struct Slow final : Transport {
      Slow(Network& network, int rank) : inner(network, rank, 0) {}
      void send(int to, const void* data, std::size_t bytes) noexcept override {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        inner.send(to, data, bytes);
      }
      void receive(int from, void* data, std::size_t bytes) noexcept override {
        inner.receive(from, data, bytes);
      }
      std::uint64_t now() noexcept override { return inner.now(); }
      Process inner;
    } slow(network, rank);
    found[rank] =
        measure_clock_offset(rank, 2, {.most = 1000, .patience_ticks = 20000000}, slow);
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  CHECK(network.messages() >= 4);
  CHECK(network.messages() <= 2 * 12);
  CHECK(std::abs(found[1].ticks) <= static_cast<std::int64_t>(found[1].error));
}

}  // namespace refrain::mpi::clock_offset_test
