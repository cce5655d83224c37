#include "waits/paths/records.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace refrain::waits::paths {
namespace {

constexpr std::size_t kMaxBytes = 10;  // of a number

// Numbers one after the other, in room for all of them.
class Target {
 public:
  Target(std::string& out, std::size_t numbers) : out_(out) {
    if (out.size() < kMaxBytes * numbers) out.resize(kMaxBytes * numbers);
    at_ = out.data();
  }
  void put(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at_++ = static_cast<char>(value | 0x80);
    *at_++ = static_cast<char>(value);
  }
  void put(const std::vector<PathTime>& times) {
    put(times.size());
    for (const PathTime& each : times) {
      put(each.path);
      put(each.ticks);
    }
  }
  std::string_view bytes() const {
    return {out_.data(), static_cast<std::size_t>(at_ - out_.data())};
  }

 private:
  std::string& out_;
  char* at_;
};

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
      const PathId path = PathId(small());
      out.push_back({path, number()});
    }
  }
  bool good() const { return good_ && at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

constexpr std::uint64_t kLast = 2;  // besides the type
constexpr std::uint64_t kFirstWait = 4;
constexpr std::uint64_t kKnownLate = 32;
constexpr std::uint64_t kDisagree = 64;
static_assert(kFirstWait + static_cast<std::uint64_t>(WaitKind::kFork) < kKnownLate);

}  // namespace

Ticks share_of(Ticks ticks, Ticks part, Ticks whole) {
  if (part >= whole) return ticks;
  __extension__ using Wide = unsigned __int128;
  return static_cast<Ticks>(static_cast<Wide>(ticks) * part / whole);
}

std::string_view encode(const Segment& segment, std::string& room) {
  Target out(room, 5 + 2 * segment.times.size());
  out.put(segment.last ? kLast : 0);
  out.put(segment.location);
  out.put(segment.begin);
  out.put(segment.end - segment.begin);
  out.put(segment.times);
  return out.bytes();
}

std::string_view encode(const Wait& wait, std::string& room) {
  Target out(room, 11 + 2 * wait.excess.size());
  out.put(kFirstWait + static_cast<std::uint64_t>(wait.kind) +
          (wait.known_late ? kKnownLate : 0) + (wait.clocks_disagree ? kDisagree : 0));
  out.put(wait.location);
  out.put(wait.path);
  out.put(wait.enter);
  out.put(wait.ticks);
  out.put(wait.until);
  out.put(wait.point - wait.until);
  out.put(wait.causer);
  out.put(wait.since);
  out.put(wait.waited);
  out.put(wait.excess);
  return out.bytes();
}

bool decode(std::string_view record, RecordType& type, Segment& segment, Wait& wait) {
  Source from(record);
  const std::uint64_t first = from.number();
  if (first < kFirstWait) {
    type = RecordType::kSegment;
    segment.last = first == kLast;
    segment.location = LocationId(from.small());
    segment.begin = from.number();
    segment.end = segment.begin + from.number();
    from.times(segment.times);
  } else {
    type = RecordType::kWait;
    wait.known_late = (first & kKnownLate) != 0;
    wait.clocks_disagree = (first & kDisagree) != 0;
    wait.kind = static_cast<WaitKind>((first & ~(kKnownLate | kDisagree)) - kFirstWait);
    wait.location = LocationId(from.small());
    wait.path = PathId(from.small());
    wait.enter = from.number();
    wait.ticks = from.number();
    wait.until = from.number();
    wait.point = wait.until + from.number();
    wait.causer = LocationId(from.small());
    wait.since = from.number();
    wait.waited = from.number();
    from.times(wait.excess);
  }
  return from.good();
}

namespace {
constexpr std::size_t kPlaceBytes = 3 * sizeof(std::uint64_t) + sizeof(std::uint32_t) + 1;
}

std::string_view encode(const Place& place, std::string& room) {
  if (room.size() < kPlaceBytes) room.resize(kPlaceBytes);
  const std::uint64_t words[] = {place.ticks, place.step, place.turn};
  std::memcpy(room.data(), words, sizeof words);
  std::memcpy(room.data() + sizeof words, &place.number, sizeof place.number);
  room[kPlaceBytes - 1] = static_cast<char>(place.part);
  return {room.data(), kPlaceBytes};
}

bool take_place(std::string_view& record, Place& place) {
  if (record.size() < kPlaceBytes) return false;
  std::uint64_t words[3];
  std::memcpy(words, record.data(), sizeof words);
  std::memcpy(&place.number, record.data() + sizeof words, sizeof place.number);
  place.ticks = words[0];
  place.step = words[1];
  place.turn = words[2];
  place.part = static_cast<std::uint8_t>(record[kPlaceBytes - 1]);
  record.remove_prefix(kPlaceBytes);
  return true;
}

void set_clocks_disagree(std::string& record, bool disagree) {
  if (record.empty() || static_cast<unsigned char>(record[0]) < kFirstWait) return;
  const auto flags = static_cast<unsigned char>(record[0]);
  record[0] = static_cast<char>(disagree ? flags | kDisagree : flags & ~kDisagree);
}

RecordFile::~RecordFile() {
  if (file_ >= 0) close(file_);
}

bool RecordFile::make(const std::string& folder) {
  if (folder.empty()) return false;
  file_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ >= 0) return true;
  std::string name = folder + "/.refrain-XXXXXX";
  file_ = mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) return false;
  unlink(name.c_str());
  return true;
}

void RecordFile::append(std::string_view first, std::string_view second) {
  if (!error_.empty()) return;
  const auto length = static_cast<std::uint32_t>(first.size() + second.size());
  const std::size_t all = length + sizeof length;
  if (bytes_.size() - used_ < all)
    bytes_.resize(std::max({2 * bytes_.size(), used_ + all, std::size_t{4096}}));
  char* to = bytes_.data() + used_;
  if (!first.empty()) std::memcpy(to, first.data(), first.size());
  if (!second.empty()) std::memcpy(to + first.size(), second.data(), second.size());
  std::memcpy(to + length, &length, sizeof length);
  used_ += all;
  if (used_ >= block_) flush();
}

void RecordFile::flush() {
  const char* variable = std::getenv("TMPDIR");
  if (file_ < 0 && !make(folder_) && !make(variable == nullptr ? "" : variable) &&
      !make("/tmp"))
    return fail("no temporary file can be made");
  for (std::size_t done = 0; done < used_;) {
    const ssize_t got =
        pwrite(file_, bytes_.data() + done, used_ - done, static_cast<off_t>(written_));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return fail("a temporary file cannot be written");
    done += static_cast<std::size_t>(got);
    written_ += static_cast<std::uint64_t>(got);
  }
  used_ = 0;
}

bool RecordFile::load(std::size_t wanted) {
  if (end_ >= wanted) return true;
  if (begin_ + end_ < wanted) return false;
  const auto more = static_cast<std::size_t>(
      std::min<std::uint64_t>(begin_, std::max(block_, wanted - end_)));
  std::vector<char> bytes(more + end_);
  for (std::size_t done = 0; done < more;) {
    const ssize_t got = pread(file_, bytes.data() + done, more - done,
                              static_cast<off_t>(begin_ - more + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      fail("a temporary file cannot be read");
      return false;
    }
    done += static_cast<std::size_t>(got);
  }
  std::copy_n(bytes_.data(), end_, bytes.data() + more);
  bytes_.swap(bytes);
  begin_ -= more;
  end_ += more;
  return true;
}

bool RecordFile::previous(std::string_view& record) {
  if (!error_.empty()) return false;
  if (!reading_) {
    if (file_ >= 0) flush();
    if (!error_.empty()) return false;
    reading_ = true;
    begin_ = written_;
    end_ = used_;
  }
  std::uint32_t length = 0;
  if (!load(sizeof length)) return false;
  std::memcpy(&length, bytes_.data() + end_ - sizeof length, sizeof length);
  if (!load(sizeof length + length)) return false;
  end_ -= sizeof length + length;
  record = {bytes_.data() + end_, length};
  return true;
}

// What was read is in the file, if there is one.
void RecordFile::rewind() {
  if (std::exchange(reading_, false) && file_ >= 0) used_ = 0;
}

bool is_wait(std::string_view record) {
  return !record.empty() && static_cast<unsigned char>(record[0]) >= kFirstWait;
}

void RecordFile::fail(const char* what) {
  if (error_.empty()) error_ = std::string(what) + ": " + std::strerror(errno);
}

}  // namespace refrain::waits::paths
