#include "base/watch_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace refrain::base {
namespace {

struct Address {
  sockaddr_un address{};
  socklen_t bytes = 0;

  explicit Address(std::string_view name) noexcept {
    address.sun_family = AF_UNIX;
    const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
    std::memcpy(address.sun_path + 1, name.data(), size);
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  }
  const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&address);
  }
};

}  // namespace

int bind_watch_socket(const std::string& name) {
  const int socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const Address address(name);
  if (socket_ < 0 || bind(socket_, address.get(), address.bytes) == 0) return socket_;
  close(socket_);
  return -1;
}

void tell_watch_socket(const char* name, WatchMessage message) noexcept {
  const int socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return;
  const Address address(name);
  sendto(socket_, &message, 1, MSG_DONTWAIT | MSG_NOSIGNAL, address.get(), address.bytes);
  close(socket_);
}

}  // namespace refrain::base
