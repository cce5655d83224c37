#include "writer/testing/forked_job.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "exchange/tree.h"
#include "writer/archive_writer.h"

namespace refrain::writer {
namespace {

using Sockets = std::vector<std::array<int, 2>>;  // by rank: the parent's end, its own

void write_all(int fd, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes != 0) {
    const ssize_t written = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (written <= 0) throw std::runtime_error("the other process is gone");
    at += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

void read_all(int fd, void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes != 0) {
    const ssize_t got = ::read(fd, at, bytes);
    if (got <= 0) throw std::runtime_error("the other process is gone");
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
}

// Along the edges of the tree only.
class SocketExchange final : public exchange::Exchange {
 public:
  SocketExchange(const Sockets& sockets, std::uint32_t rank)
      : sockets_(sockets), rank_(rank) {
    for (std::uint32_t other = 0; other < size(); ++other) {
      if (other != rank) ::close(sockets_[other][1]);
      if (other == 0 || exchange::TreePlace{other, size()}.parent() != rank)
        ::close(sockets_[other][0]);
    }
  }
  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override {
    return static_cast<std::uint32_t>(sockets_.size());
  }
  void send(std::uint32_t to, const exchange::Bytes& bytes) override {
    const std::uint64_t length = bytes.size();
    write_all(way(to), &length, sizeof(length));
    write_all(way(to), bytes.data(), bytes.size());
  }
  exchange::Bytes receive(std::uint32_t from) override {
    std::uint64_t length = 0;
    read_all(way(from), &length, sizeof(length));
    exchange::Bytes bytes(length);
    read_all(way(from), bytes.data(), bytes.size());
    return bytes;
  }

 private:
  int way(std::uint32_t other) const {
    const bool up = rank_ != 0 && exchange::TreePlace{rank_, size()}.parent() == other;
    return up ? sockets_[rank_][1] : sockets_[other][0];
  }

  const Sockets& sockets_;
  std::uint32_t rank_;
};

}  // namespace

std::vector<std::string> write_in_processes(
    const WriteOptions& options, std::uint32_t ranks,
    const std::function<void(std::uint32_t rank)>& before) {
  Sockets sockets(ranks);
  for (auto& pair : sockets)
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) != 0)
      throw std::runtime_error("no sockets");
  std::vector<std::array<int, 2>> answers(ranks);
  std::vector<pid_t> processes;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (::pipe(answers[rank].data()) != 0) throw std::runtime_error("no pipe");
    const pid_t process = ::fork();
    if (process < 0) throw std::runtime_error("no process");
    if (process == 0) {
      before(rank);
      SocketExchange exchange(sockets, rank);
      // Only rank 0 has the options.
      WriteOptions own;
      if (rank == 0) own = options;
      const auto result = write_archive_together(own, exchange);
      const std::string text = result ? "" : "failed: " + result.error();
      const ssize_t written = ::write(answers[rank][1], text.data(), text.size());
      ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 2);
    }
    processes.push_back(process);
    ::close(answers[rank][1]);
  }
  for (const auto& pair : sockets)
    for (const int fd : pair) ::close(fd);
  std::vector<std::string> errors(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::array<char, 512> text{};
    for (ssize_t got = 0; (got = ::read(answers[rank][0], text.data(), text.size())) > 0;)
      errors[rank].append(text.data(), static_cast<std::size_t>(got));
    ::close(answers[rank][0]);
    int status = 0;
    ::waitpid(processes[rank], &status, 0);
    if (status != 0 && errors[rank].empty()) errors[rank] = "died";
  }
  return errors;
}

}  // namespace refrain::writer
