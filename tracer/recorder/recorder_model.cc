#include "tracer/recorder/recorder_model.h"

#include <algorithm>
#include <cstring>

namespace refrain::recorder {

using spool::Record;

namespace {

Record make_cut(spool::Kind kind, std::uint64_t gap, std::uint64_t epoch) {
  Record record = make_record(kind, 0, epoch);
  record.set_a48(gap);
  return record;
}

bool begins(const Record& r) { return spool::is_one_of(spool::kBegins, r.kind); }
bool ends(const Record& r) { return spool::is_one_of(spool::kEnds, r.kind); }

std::size_t first_sync(const std::vector<Record>& records, std::size_t from,
                       std::uint64_t epoch) {
  for (; from < records.size(); ++from)
    if (spool::is_cut(records[from]) && records[from].a48() >= epoch) break;
  return from;
}

}  // namespace

void fill_header(spool::Header& header) {
  std::memcpy(header.magic, spool::kMagic, sizeof header.magic);
  header.version = spool::kVersion;
  header.byte_order = spool::kByteOrder;
  header.file_kind = spool::kLocationFile;
  header.clock_kind = spool::kClockMonotonicRaw;
  header.ticks_per_second = 1e9;
}

Record make_record(spool::Kind kind, std::uint64_t ticks, std::uint64_t payload) {
  return {
      .ticks = ticks, .kind = kind, .sub = 0, .aux16 = 0, .aux32 = 0, .payload = payload};
}

bool alike(std::span<const Record> a, std::span<const Record> b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const Record& x, const Record& y) {
        const bool own_time = x.kind == spool::kSuspend || x.kind == spool::kResume;
        return (own_time || x.ticks == y.ticks) && x.kind == y.kind && x.sub == y.sub &&
               x.a48() == y.a48() && x.payload == y.payload;
      });
}

std::vector<Record> log_of(const spool::SpoolFile& file) {
  std::vector<Record> result;
  for (std::size_t i = 0; i < file.log().size(); ++i) result.push_back(file.log()[i]);
  return result;
}

std::vector<Record> ring_of(const spool::SpoolFile& file) {
  std::vector<Record> result(file.ring().older.begin(), file.ring().older.end());
  result.insert(result.end(), file.ring().newer.begin(), file.ring().newer.end());
  return result;
}

void RecorderModel::append(const Record& record) {
  (suspended_ ? skipped_ : log_).push_back(record);
}

void RecorderModel::begin(const Record& record) {
  append(record);
  stack_.push_back(record);
}

void RecorderModel::end(const Record& record) {
  append(record);
  stack_.pop_back();
  if (!suspended_ || stack_.size() >= open_since_suspend_) return;
  open_since_suspend_ = stack_.size();
  log_.push_back(record);
}

void RecorderModel::extend_end(std::uint64_t ticks) {
  Record& newest = (suspended_ ? skipped_ : log_).back();
  newest.ticks = ticks;
  newest.set_a48(newest.a48() + 1);
}

void RecorderModel::sync(std::uint64_t epoch, std::uint64_t ticks) {
  Record record = make_record(spool::kSync, ticks, stack_.size());
  record.set_a48(epoch);
  append(record);
  for (Record open : stack_) {
    open.kind |= spool::kSnapshot;
    append(open);
  }
}

void RecorderModel::suspend(std::uint64_t gap, std::uint64_t epoch) {
  const std::size_t cut = first_sync(log_, interval_begin_, epoch);
  skipped_.assign(log_.begin() + static_cast<std::ptrdiff_t>(cut), log_.end());
  log_.resize(cut);
  log_.push_back(make_cut(spool::kSuspend, gap, epoch));
  suspended_ = true;
  std::size_t depth = skipped_.empty() ? stack_.size() : spool::open_at_cut(skipped_[0]);
  open_since_suspend_ = depth;
  for (const Record& r : skipped_) {
    if (begins(r)) ++depth;
    if (ends(r) && --depth < open_since_suspend_) {
      open_since_suspend_ = depth;
      log_.push_back(r);
    }
  }
}

void RecorderModel::resume(std::uint64_t gap, std::uint64_t epoch) {
  interval_begin_ = log_.size();
  log_.push_back(make_cut(spool::kResume, gap, epoch));
  const std::size_t from = first_sync(skipped_, 0, epoch);
  log_.insert(log_.end(), skipped_.begin() + static_cast<std::ptrdiff_t>(from),
              skipped_.end());
  skipped_.clear();
  suspended_ = false;
}

}  // namespace refrain::recorder
