// Connects a process to the other processes of its job while an archive is made.
//
// Place in the flow: ARCHITECTURE.md, stage 5: what processes must agree on goes through
// tree.h, which uses an Exchange. `refrain recover`, which reads the spools of all
// processes in one, is Alone.
// Shape: messages of bytes from rank to rank; between two ranks they arrive in the order in
// which they were sent. There are no requests: a receiver knows which message comes next.
// Thread-safety: one thread of each process at a time. Errors: send() and receive() throw;
// without communication the job cannot use a result.
#pragma once

#include <cstdint>

#include "exchange/bytes.h"

namespace refrain::exchange {

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual std::uint32_t rank() const noexcept = 0;
  virtual std::uint32_t size() const noexcept = 0;
  virtual void send(std::uint32_t to, const Bytes& bytes) = 0;
  // The same of bytes that are not needed any more.
  virtual void send(std::uint32_t to, Bytes&& bytes) { send(to, bytes); }
  virtual Bytes receive(std::uint32_t from) = 0;
};

// A job of one process.
class Alone final : public Exchange {
 public:
  std::uint32_t rank() const noexcept override { return 0; }
  std::uint32_t size() const noexcept override { return 1; }
  void send(std::uint32_t, const Bytes&) override {}
  Bytes receive(std::uint32_t) override { return {}; }
};

}  // namespace refrain::exchange
