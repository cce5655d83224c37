// Calls a function for each index on a few threads.
//
// Place in the flow: ARCHITECTURE.md, stage 5: locations are scanned and written in
// parallel. Thread-safety: `work` is called from several threads, once an index.
// Errors: the first exception that `work` throws is rethrown here, after all threads have
// stopped; if a thread cannot be started, the others do its work.
// Cost: one std::thread each, none for a single index.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace refrain::writer {

template <typename Work>
void parallel_for(std::size_t count, unsigned threads, Work work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::thread> helpers;
  const std::size_t wanted = std::min<std::size_t>(threads == 0 ? 1 : threads, count);
  try {
    helpers.reserve(wanted);
    for (std::size_t i = 1; i < wanted; ++i) helpers.emplace_back(run);
  } catch (const std::exception&) {  // no memory, or no more threads
  }
  run();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace refrain::writer
