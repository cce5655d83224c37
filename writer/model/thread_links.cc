#include "writer/model/thread_links.h"

#include <algorithm>

namespace refrain::writer {

ThreadLinks::ThreadLinks(const std::vector<std::vector<ThreadLink>>& locations) {
  for (const std::vector<ThreadLink>& location : locations)
    for (const ThreadLink& link : location) {
      Known& known = threads_[link.thread];
      (link.act == ThreadAct::kCreate ? known.created
       : link.act == ThreadAct::kRun  ? known.run
                                      : known.waited) = true;
    }
  for (std::uint32_t i = 0; i < locations.size(); ++i)
    if (std::ranges::any_of(locations[i],
                            [this](const ThreadLink& link) { return writes(link); }))
      members_.push_back(i);
}

const ThreadLinks::Known* ThreadLinks::find(std::uint64_t thread) const noexcept {
  const auto found = threads_.find(thread);
  return found == threads_.end() ? nullptr : &found->second;
}

bool ThreadLinks::writes(const ThreadLink& link) const noexcept {
  const Known* const known = link.act == ThreadAct::kNone ? nullptr : find(link.thread);
  return known != nullptr && known->created && known->run;
}

bool ThreadLinks::is_waited_for(std::uint64_t thread) const noexcept {
  const Known* const known = find(thread);
  return known != nullptr && known->created && known->run && known->waited;
}

}  // namespace refrain::writer
