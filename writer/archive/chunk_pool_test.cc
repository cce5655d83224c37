#include <catch2/catch.hpp>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "writer/archive/otf2_archive.h"

namespace refrain::writer::chunk_pool_test {

constexpr std::size_t kChunk = 256 << 10;

TEST_CASE("Chunk pool: returned chunks - are reused, by size") {
  ChunkPool pool;
  void* const first = pool.take(kChunk);
  REQUIRE(first != nullptr);
  std::memset(first, 1, kChunk);
  void* const large = pool.take(4 * kChunk);
  REQUIRE(large != nullptr);
  CHECK(pool.bytes() == 5 * kChunk);
  pool.give_back(first, kChunk);
  pool.give_back(large, 4 * kChunk);
  CHECK(pool.take(4 * kChunk) == large);
  CHECK(pool.take(kChunk) == first);
  void* const another = pool.take(kChunk);
  CHECK(another != first);
  CHECK(pool.bytes() == 6 * kChunk);
  pool.give_back(another, kChunk);
  pool.give_back(first, kChunk);
  pool.give_back(large, 4 * kChunk);
}

TEST_CASE("Chunk pool: several threads - different chunks, no more than in use at once") {
  ChunkPool pool;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&pool, t] {
      for (int round = 0; round < 200; ++round) {
        void* const one = pool.take(kChunk);
        void* const two = pool.take(kChunk);
        std::memset(one, t, 64);
        std::memset(two, t, 64);
        const bool own = static_cast<char*>(one)[63] == t && one != two;
        pool.give_back(one, kChunk);
        pool.give_back(two, kChunk);
        if (!own) std::abort();
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(pool.bytes() <= 8 * kChunk);
}

// The address sanitizer ends the program when an allocation fails.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("Chunk pool: no memory - null") {
  ChunkPool pool;
  CHECK(pool.take(std::size_t{1} << 60) == nullptr);
  CHECK(pool.bytes() == 0);
}
#endif

}  // namespace refrain::writer::chunk_pool_test
