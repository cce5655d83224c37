#include "writer/interpret/open_receives.h"

#include <algorithm>

#include "spool/mpi_format.h"

namespace refrain::writer {
namespace {

// Whether the receive posted by `post` takes this message, too.
bool takes(const spool::Record& post, const spool::Record& message) {
  const auto tag = [](const spool::Record& record) { return record.payload >> 32; };
  return post.aux16 == message.aux16 &&
         ((post.sub & spool::kMpiAnySource) != 0 || post.aux32 == message.aux32) &&
         ((post.sub & spool::kMpiAnyTag) != 0 ||
          tag(post) == static_cast<std::uint32_t>(message.payload));
}

}  // namespace

void OpenReceives::posted(const spool::Record& post, std::uint64_t place) {
  if (post.sub != 0) open_.push_back({post, place, {}});
}

void OpenReceives::gone(std::uint64_t place) {
  std::erase_if(open_, [place](const Open& open) { return open.place == place; });
}

void OpenReceives::received(const spool::Record& message, std::uint64_t place,
                            const Channel& channel, std::uint64_t number) {
  for (Open& open : open_) {
    if (open.place >= place || !takes(open.post, message)) continue;
    std::uint64_t& least = open.first_later.try_emplace(channel, number).first->second;
    least = std::min(least, number);
  }
}

void OpenReceives::leave_out(MessageLog& log) const {
  for (const Open& open : open_)
    for (const auto& [channel, number] : open.first_later) {
      NumberRanges& received = log.received[channel];
      received.normalize();
      received = intersect(received, {{0, number}});
    }
}

}  // namespace refrain::writer
