#include "base/thread_end.h"

#include <limits.h>
#include <pthread.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

namespace refrain::base::thread_end_test {
namespace {

std::atomic<int> g_ended{0};
std::atomic<void*> g_value{nullptr};

void end(void* value) {
  ++g_ended;
  g_value = value;
}

struct AllKeys {
  AllKeys() {
    pthread_key_t key{};
    while (pthread_key_create(&key, nullptr) == 0) keys.push_back(key);
  }
  ~AllKeys() {
    for (const pthread_key_t key : keys) pthread_key_delete(key);
  }
  std::vector<pthread_key_t> keys;
};

}  // namespace

TEST_CASE("ThreadEnd: with a key - called once, for the latest value") {
  ThreadEnd thread_end(end);
  int first = 0;
  int second = 0;
  g_ended = 0;
  std::thread([&] {
    thread_end.set(&first);
    thread_end.set(&second);
  }).join();
  CHECK(g_ended == 1);
  CHECK(g_value == &second);
}

TEST_CASE(
    "ThreadEnd: the program has all keys - called, and no key of the program's is used") {
  const AllKeys all;
  REQUIRE(!all.keys.empty());
  ThreadEnd thread_end(end);
  int value = 0;
  int changed = 0;
  g_ended = 0;
  std::thread([&] {
    thread_end.set(&value);
    for (const pthread_key_t key : all.keys) changed += pthread_getspecific(key) != nullptr;
  }).join();
  CHECK(changed == 0);
  CHECK(g_ended == 1);
  CHECK(g_value == &value);
}

}  // namespace refrain::base::thread_end_test
