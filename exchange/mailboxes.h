// An Exchange between ranks in one process: each in a thread, or all in one, which sends
// for all ranks before it receives.
//
// Place in the flow: ARCHITECTURE.md, stage 5; for tests and simulations of many ranks.
// Thread-safety: ranks may be in different threads. Ownership: the Mailboxes outlive the
// ends given out.
// Cost: a map entry for each pair of ranks with a message in flight.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "exchange/exchange.h"

namespace refrain::exchange {

class Mailboxes {
 public:
  explicit Mailboxes(std::uint32_t size) : size_(size) {}

  std::uint32_t size() const noexcept { return size_; }
  std::unique_ptr<Exchange> of(std::uint32_t rank);
  // Messages that were not received yet.
  std::size_t pending() const;

 private:
  class End;
  using Way = std::pair<std::uint32_t, std::uint32_t>;  // from, to

  void send(Way way, Bytes bytes);
  Bytes receive(Way way);

  std::uint32_t size_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<Way, std::deque<Bytes>> boxes_;
};

}  // namespace refrain::exchange
