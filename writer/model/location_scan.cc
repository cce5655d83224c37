#include "writer/model/location_scan.h"

#include <algorithm>

#include "regions/region_class.h"

namespace refrain::writer {
namespace {

using spool::Record;

constexpr std::size_t kMarkEvery = 4096;

void note_parallel(const Record& record, LocationScan& scan, std::size_t position) {
  const bool snapshot = (record.kind & spool::kSnapshot) != 0;
  const std::uint64_t address = record.payload & spool::kAddressMask;
  scan.open_parallel = address;
  if (!is_epoch_instance(record)) {
    scan.nested_regions[record.a48()] = regions::keys_opened_by(record)[0].packed();
    if (!snapshot || std::find(scan.nested_open.begin(), scan.nested_open.end(),
                               record.a48()) == scan.nested_open.end())
      scan.nested_open.push_back(record.a48());
  } else if (!snapshot) {
    scan.epochs.note(position, record.a48(), record.ticks);
  }
}

// Ends may be missing (the ring overwrites them); no more wait than there are levels of
// nesting.
void note_waiting(std::uint64_t instance, LocationScan& scan) {
  constexpr std::size_t kMax = 64;
  auto& waiting = scan.nested_waiting;
  if (std::find(waiting.begin(), waiting.end(), instance) != waiting.end()) return;
  if (waiting.size() == kMax) waiting.erase(waiting.begin());
  waiting.push_back(instance);
}

// Every Sync repeats the open tasks: repetitions are found among the last few entries, one
// for each plausible level of nesting.
void note_member(const Record& record, LocationScan& scan) {
  if (is_epoch_instance(record)) return;
  if ((record.sub & spool::kTeamInitial) != 0) return;
  const auto thread = static_cast<std::uint32_t>(record.payload);
  if (thread != 0) note_waiting(record.a48(), scan);
  constexpr std::ptrdiff_t kLook = 8;
  auto& members = scan.nested_members;
  if ((record.kind & spool::kSnapshot) != 0) {
    const auto from = members.end() - std::min<std::ptrdiff_t>(kLook, std::ssize(members));
    for (auto member = from; member != members.end(); ++member)
      if (member->instance == record.a48()) return;
  }
  members.push_back({record.a48(), thread});
}

void note_inner(const Record& record, LocationScan& scan) {
  if (scan.open_parallel == 0) return;
  const std::uint64_t address = record.payload & spool::kAddressMask;
  if (address == 0 || address == scan.open_parallel) return;
  scan.inner.emplace(scan.open_parallel, address);
  scan.open_parallel = 0;
}

void note_thread(const Record& record, LocationScan& scan) {
  if (record.kind == spool::kThreadBegin) {
    if (scan.threads_begun++ == 0) {
      scan.thread_begin_ticks = record.ticks;
      scan.kernel_thread = record.payload;
    }
  } else {
    ++scan.threads_ended;
    scan.thread_end_ticks = record.ticks;
  }
}

void note_device(const Record& record, LocationScan& scan) {
  constexpr std::size_t kMax =
      64;  // what a damaged spool says must not make files without end
  const auto device = static_cast<std::uint16_t>(record.payload >> spool::kDeviceShift);
  const auto at = std::lower_bound(scan.devices.begin(), scan.devices.end(), device);
  if (scan.devices.size() != kMax && device != spool::kNoDevice &&
      (at == scan.devices.end() || *at != device))
    scan.devices.insert(at, device);
}

// Iterations repeat the same keys: a small direct-mapped cache keeps the hash set out of
// the inner loop.
void note_keys(const Record& record, LocationScan& scan) {
  for (const regions::RegionKey& key : regions::keys_opened_by(record)) {
    if (key.cls == regions::RegionClass::kNone) continue;
    const std::uint64_t packed = key.packed();
    std::uint64_t& cached = scan.recent[(packed >> 1 ^ packed >> 48) % scan.recent.size()];
    if (cached == packed) continue;
    cached = packed;
    scan.keys.insert(packed);
  }
}

void scan_record(const Record& record, std::size_t position, LocationScan& scan) {
  if (spool::is_cut(record)) {
    scan.has_sync = true;
    scan.epochs.note(position, record.a48(), record.ticks);
  }
  switch (record.kind & ~spool::kSnapshot) {
    case spool::kSync:
      break;
    case spool::kSuspend:
    case spool::kResume:
      scan.cuts.push_back(
          {record.kind == spool::kResume, record.a48(), record.payload, record.ticks});
      break;
    case spool::kThreadBegin:
    case spool::kThreadEnd:
      note_thread(record, scan);
      break;
    case spool::kParallelBegin:
      note_parallel(record, scan, position);
      note_keys(record, scan);
      break;
    case spool::kParallelEnd:
      scan.open_parallel = 0;
      if (!is_epoch_instance(record)) std::erase(scan.nested_open, record.a48());
      break;
    case spool::kImplicitTaskBegin:
      note_member(record, scan);
      break;
    case spool::kImplicitTaskEnd:
      if (!is_epoch_instance(record)) std::erase(scan.nested_waiting, record.a48());
      break;
    case spool::kWorkBegin:
    case spool::kSyncRegionBegin:
    case spool::kMaskedBegin:
      note_inner(record, scan);
      note_keys(record, scan);
      break;
    case spool::kTargetDataBegin:
    case spool::kTargetSubmitBegin:
      note_device(record, scan);
      note_keys(record, scan);
      break;
    default:
      note_keys(record, scan);
      break;
  }
}

}  // namespace

void EpochIndex::note(std::size_t position, std::uint64_t epoch, std::uint64_t ticks) {
  if (!marks_.empty() &&
      (position < marks_.back().position + kMarkEvery || epoch <= marks_.back().epoch))
    return;
  marks_.push_back({position, epoch, ticks});
}

std::size_t EpochIndex::before(std::uint64_t epoch) const noexcept {
  const auto at = std::lower_bound(
      marks_.begin(), marks_.end(), epoch,
      [](const Mark& mark, std::uint64_t value) { return mark.epoch < value; });
  return at == marks_.begin() ? 0 : (at - 1)->position;
}

std::size_t EpochIndex::before_ticks(std::uint64_t ticks) const noexcept {
  const auto at = std::lower_bound(
      marks_.begin(), marks_.end(), ticks,
      [](const Mark& mark, std::uint64_t value) { return mark.ticks < value; });
  return at == marks_.begin() ? 0 : (at - 1)->position;
}

bool is_epoch_instance(const Record& record) noexcept {
  constexpr auto kOther = spool::kTeamNested | spool::kTeamInitial | spool::kTeamForeign;
  return (record.sub & kOther) == 0;
}

void scan_records(const spool::RecordSequence& records, LocationScan& scan) {
  for (; scan.scanned < records.size(); ++scan.scanned) {
    const Record& record = records[scan.scanned];
    if (!is_whole(record)) {
      ++scan.damaged;
      continue;
    }
    scan.first_ticks = std::min(scan.first_ticks, record.ticks);
    scan.last_ticks = std::max(scan.last_ticks, record.ticks);
    scan_record(record, scan.scanned, scan);
  }
}

std::optional<Record> find_parallel(const spool::RecordSequence& primary,
                                    const EpochIndex& epochs, std::uint64_t instance,
                                    std::size_t* hint) {
  std::size_t at = epochs.before(instance);
  if (hint != nullptr) at = std::max(at, *hint);
  std::uint64_t snapshots_left = 0;
  bool passed = false;
  for (; at < primary.size(); ++at) {
    const Record& record = primary[at];
    if ((record.kind & ~spool::kSnapshot) == spool::kParallelBegin &&
        is_epoch_instance(record)) {
      if (record.a48() == instance) {
        if (hint != nullptr) *hint = at;
        return record;
      }
      if ((record.kind & spool::kSnapshot) == 0 && record.a48() > instance) return {};
    }
    if (passed && snapshots_left-- == 0) return {};
    if (spool::is_cut(record) && record.a48() > instance && !passed) {
      passed = true;
      snapshots_left = spool::open_at_cut(record);
    }
  }
  return {};
}

std::optional<std::uint64_t> parallel_end_ticks(const spool::RecordSequence& primary,
                                                const EpochIndex& epochs,
                                                std::uint64_t instance, std::size_t* hint) {
  std::size_t at = epochs.before(instance);
  if (hint != nullptr) at = std::max(at, *hint);
  for (; at < primary.size(); ++at) {
    const Record& record = primary[at];
    if (!is_epoch_instance(record)) continue;
    if (record.kind == spool::kParallelBegin && record.a48() > instance) break;
    if (record.kind != spool::kParallelEnd || record.a48() != instance) continue;
    if (hint != nullptr) *hint = at;
    return record.ticks;
  }
  return {};
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> nested_ends(
    const spool::RecordSequence& records, const std::vector<std::uint64_t>& instances) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ends;
  for (std::size_t at = 0; at < records.size(); ++at) {
    const Record& record = records[at];
    if (record.kind != spool::kParallelEnd || is_epoch_instance(record)) continue;
    if (std::binary_search(instances.begin(), instances.end(), record.a48()))
      ends.emplace_back(record.a48(), record.ticks);
  }
  return ends;
}

std::optional<std::uint64_t> sync_ticks(const spool::RecordSequence& records,
                                        const EpochIndex& epochs, std::uint64_t epoch) {
  for (std::size_t at = epochs.before(epoch); at < records.size(); ++at)
    if (spool::is_cut(records[at]) && records[at].a48() >= epoch) return records[at].ticks;
  return {};
}

}  // namespace refrain::writer
