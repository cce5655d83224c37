#include "waits/paths/records.h"

namespace refrain::waits::paths {
namespace {

void put(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void put(std::string& out, const std::vector<PathTime>& times) {
  put(out, times.size());
  for (const PathTime& each : times) {
    put(out, each.path);
    put(out, each.ticks);
  }
}

class Source {
 public:
  explicit Source(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) break;
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
    good_ = false;
    return 0;
  }
  std::uint32_t small() { return static_cast<std::uint32_t>(number()); }
  void times(std::vector<PathTime>& out) {
    out.clear();
    for (std::uint64_t count = number(); count > 0 && good_; --count) {
      const std::uint32_t path = small();
      out.push_back({path, number()});
    }
  }
  bool good() const { return good_ && at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

constexpr std::uint64_t kLast = 2;  // beside the type
constexpr std::uint64_t kFirstWait = 4;

}  // namespace

Ticks share_of(Ticks ticks, Ticks part, Ticks whole) {
  if (part >= whole) return ticks;
  __extension__ using Wide = unsigned __int128;
  return static_cast<Ticks>(static_cast<Wide>(ticks) * part / whole);
}

void encode(const Segment& segment, std::string& out) {
  out.clear();
  put(out, segment.last ? kLast : 0);
  put(out, segment.location);
  put(out, segment.begin);
  put(out, segment.end - segment.begin);
  put(out, segment.times);
}

void encode(const Wait& wait, std::string& out) {
  out.clear();
  put(out, kFirstWait + static_cast<std::uint64_t>(wait.kind));
  put(out, wait.location);
  put(out, wait.path);
  put(out, wait.enter);
  put(out, wait.ticks);
  put(out, wait.until);
  put(out, wait.causer);
  put(out, wait.since);
  put(out, wait.waited);
  put(out, wait.excess);
}

bool decode(std::string_view record, RecordType& type, Segment& segment, Wait& wait) {
  Source from(record);
  const std::uint64_t first = from.number();
  if (first < kFirstWait) {
    type = RecordType::kSegment;
    segment.last = first == kLast;
    segment.location = from.small();
    segment.begin = from.number();
    segment.end = segment.begin + from.number();
    from.times(segment.times);
  } else {
    type = RecordType::kWait;
    wait.kind = static_cast<WaitKind>(first - kFirstWait);
    wait.location = from.small();
    wait.path = from.small();
    wait.enter = from.number();
    wait.ticks = from.number();
    wait.until = from.number();
    wait.causer = from.small();
    wait.since = from.number();
    wait.waited = from.number();
    from.times(wait.excess);
  }
  return from.good();
}

}  // namespace refrain::waits::paths
