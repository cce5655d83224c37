#include "convert/paraver_records.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace refrain::convert {

SpillFile::~SpillFile() {
  if (file_ >= 0) close(file_);
}

void SpillFile::make() {
  file_ = open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file_ >= 0) return;
  std::string name = folder_ + "/.refrain-XXXXXX";
  file_ = mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) return fail("no temporary file can be made in ");
  unlink(name.c_str());
}

void SpillFile::append(const void* data, std::size_t bytes) {
  if (file_ < 0 && error_.empty()) make();
  const char* at = static_cast<const char*>(data);
  while (bytes > 0 && error_.empty()) {
    const ssize_t written = pwrite(file_, at, bytes, static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail("a temporary file cannot be written in ");
    at += written;
    bytes -= static_cast<std::size_t>(written);
    size_ += static_cast<std::uint64_t>(written);
  }
}

void SpillFile::read(std::uint64_t from, void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0 && error_.empty()) {
    const ssize_t got = pread(file_, at, bytes, static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("a temporary file cannot be read in ");
    if (got <= 0) break;
    at += got;
    bytes -= static_cast<std::size_t>(got);
    from += static_cast<std::uint64_t>(got);
  }
  std::memset(at, 0, bytes);
}

void SpillFile::fail(const char* what) {
  if (error_.empty()) error_ = what + folder_ + ": " + std::strerror(errno);
}

}  // namespace refrain::convert

namespace refrain::convert {
namespace {

constexpr std::uint64_t kLookEvery = 1 << 16;  // records: for errors and progress

}  // namespace

ParaverRecords::ParaverRecords(const std::string& folder)
    : states_(folder), events_(folder), late_events_(folder), communications_(folder) {}

void ParaverRecords::state(LocationId location, std::uint64_t begin, std::uint64_t end,
                           std::uint8_t state) {
  if (begin >= end) return;
  last_ns_ = std::max(last_ns_, end);
  states_.add({begin, end, location, state});
}

void ParaverRecords::event(LocationId location, std::uint64_t ns, std::uint32_t type,
                           std::uint64_t value) {
  last_ns_ = std::max(last_ns_, ns);
  if (ns < last_event_ns_) return late_event(location, ns, type, value);
  last_event_ns_ = ns;
  events_.add({ns, value, location, type});
}

void ParaverRecords::late_event(LocationId location, std::uint64_t ns, std::uint32_t type,
                                std::uint64_t value) {
  last_ns_ = std::max(last_ns_, ns);
  late_events_.add({ns, value, location, type});
}

void ParaverRecords::communication(const Communication& communication) {
  last_ns_ =
      std::max({last_ns_, communication.physical_send, communication.physical_receive});
  communications_.add(communication);
}

std::string ParaverRecords::error() const {
  for (const std::string* error : {&states_.error(), &events_.error(),
                                   &late_events_.error(), &communications_.error()})
    if (!error->empty()) return *error;
  return {};
}

const ParaverRecords::Event* ParaverRecords::next_event() {
  const bool any = !events_.empty();
  const bool late = !late_events_.empty();
  if (!any && !late) return nullptr;
  if (!late || (any && events_.front().ns <= late_events_.front().ns))
    return &events_.front();
  return &late_events_.front();
}

void ParaverRecords::pop_event() {
  const bool late = events_.empty() ||
                    (!late_events_.empty() && late_events_.front().ns < events_.front().ns);
  (late ? late_events_ : events_).pop();
}

std::uint64_t ParaverRecords::left() const {
  return states_.size() + events_.size() + late_events_.size() + communications_.size();
}

void ParaverRecords::write_state(TextFile& file, const std::vector<std::string>& objects) {
  const State& state = states_.front();
  file.text("1:");
  file.text(objects[state.location]);
  file.number(state.begin);
  file.put(':');
  file.number(state.end);
  file.put(':');
  file.number(state.state);
  file.put('\n');
  states_.pop();
}

// Events of one location at one time are one record.
void ParaverRecords::write_events(TextFile& file, const std::vector<std::string>& objects) {
  const Event* event = next_event();
  const std::uint32_t location = event->location;
  const std::uint64_t ns = event->ns;
  file.text("2:");
  file.text(objects[location]);
  file.number(ns);
  for (; event != nullptr && event->location == location && event->ns == ns;
       event = next_event()) {
    file.put(':');
    file.number(event->type);
    file.put(':');
    file.number(event->value);
    pop_event();
  }
  file.put('\n');
}

void ParaverRecords::write_communication(TextFile& file,
                                         const std::vector<std::string>& objects) {
  const Communication& c = communications_.front();
  file.text("3:");
  file.text(objects[c.sender]);
  file.number(c.logical_send);
  file.put(':');
  file.number(c.physical_send);
  file.put(':');
  file.text(objects[c.receiver]);
  file.number(c.logical_receive);
  file.put(':');
  file.number(c.physical_receive);
  file.put(':');
  file.number(c.bytes);
  file.put(':');
  file.number(c.tag);
  file.put('\n');
  communications_.pop();
}

void ParaverRecords::write(TextFile& file, const std::vector<std::string>& objects,
                           const std::function<void(double)>& share) {
  states_.finish();
  events_.finish();
  late_events_.finish();
  communications_.finish();
  constexpr std::uint64_t kNever = ~std::uint64_t{0};
  const std::uint64_t all = left();
  for (std::uint64_t written = 0;; ++written) {
    if (written % kLookEvery == 0) {
      if (!error().empty() || !file.error().empty()) return;
      if (share) share(1 - static_cast<double>(left()) / static_cast<double>(all + 1));
    }
    const Event* event = next_event();
    const std::uint64_t state_ns = states_.empty() ? kNever : states_.front().begin;
    const std::uint64_t event_ns = event == nullptr ? kNever : event->ns;
    const std::uint64_t comm_ns =
        communications_.empty() ? kNever : communications_.front().logical_send;
    if (state_ns == kNever && event_ns == kNever && comm_ns == kNever) return;
    if (state_ns <= event_ns && state_ns <= comm_ns)
      write_state(file, objects);
    else if (event_ns <= comm_ns)
      write_events(file, objects);
    else
      write_communication(file, objects);
  }
}

}  // namespace refrain::convert
