#include "exchange/mailboxes.h"

#include <stdexcept>

namespace refrain::exchange {

class Mailboxes::End final : public Exchange {
 public:
  End(Mailboxes& boxes, std::uint32_t rank) : boxes_(boxes), rank_(rank) {}
  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override { return boxes_.size_; }
  void send(std::uint32_t to, const Bytes& bytes) override {
    boxes_.send({rank_, to}, Bytes(bytes));
  }
  void send(std::uint32_t to, Bytes&& bytes) override {
    boxes_.send({rank_, to}, std::move(bytes));
  }
  Bytes receive(std::uint32_t from) override { return boxes_.receive({from, rank_}); }

 private:
  Mailboxes& boxes_;
  std::uint32_t rank_;
};

std::unique_ptr<Exchange> Mailboxes::of(std::uint32_t rank) {
  return std::make_unique<End>(*this, rank);
}

std::size_t Mailboxes::pending() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::size_t count = 0;
  for (const auto& [way, box] : boxes_) count += box.size();
  return count;
}

void Mailboxes::send(Way way, Bytes bytes) {
  if (way.second >= size_) throw std::out_of_range("no such rank");
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    boxes_[way].push_back(std::move(bytes));
  }
  arrived_.notify_all();
}

Bytes Mailboxes::receive(Way way) {
  std::unique_lock<std::mutex> lock(mutex_);
  arrived_.wait(lock, [&] { return boxes_.contains(way); });
  const auto box = boxes_.find(way);
  Bytes bytes = std::move(box->second.front());
  box->second.pop_front();
  if (box->second.empty()) boxes_.erase(box);
  return bytes;
}

}  // namespace refrain::exchange
