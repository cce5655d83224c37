#include "waits/paths/sweep.h"

#include <algorithm>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

namespace refrain::waits::paths {
namespace {

class Sweep {
 public:
  Sweep(std::size_t locations, std::uint32_t location, Ticks end)
      : critical_(locations, location, end), costs_(locations) {}

  PathResult run(RecordFile& file) {
    std::string_view record;
    RecordType type{};
    Segment segment;
    Wait wait;
    PathResult result;
    while (file.previous(record)) {
      if (!decode(record, type, segment, wait)) {
        result.error = "a temporary file is damaged";
        return result;
      }
      if (type == RecordType::kWait) {
        kept_.push({number_++, std::move(wait)});
        wait = {};
        continue;
      }
      if (!segment.last) hand_out(segment.end);
      critical_.segment(segment);
    }
    while (!kept_.empty()) next();
    result.error = file.error();
    if (!result.error.empty()) return result;
    result.critical = critical_.take();
    result.delays = costs_.take();
    result.causes = costs_.causes().list();
    return result;
  }

 private:
  struct Kept {
    std::uint64_t number = 0;
    Wait wait;
    // What ends later comes first; of equal ones what was written later.
    bool operator<(const Kept& other) const {
      return std::pair(wait.until, other.number) < std::pair(other.wait.until, number);
    }
  };

  // Those that end later: at the same time, the segment may be that of the call that waited.
  void hand_out(Ticks end) {
    while (!kept_.empty() && kept_.top().wait.until > end) next();
  }
  void next() {
    critical_.wait(kept_.top().wait);
    costs_.wait(kept_.top().wait);
    kept_.pop();
  }

  CriticalPath critical_;
  DelayCosts costs_;
  std::priority_queue<Kept> kept_;
  std::uint64_t number_ = 0;
};

}  // namespace

PathResult sweep(RecordFile& file, std::size_t locations, std::uint32_t location,
                 Ticks end) {
  return Sweep(locations, location, end).run(file);
}

}  // namespace refrain::waits::paths
