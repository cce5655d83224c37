// The records of a .prv: collected in any order, written by time.
//
// Place in the flow: ARCHITECTURE.md, stage 7, after formats.h.
// Thread-safety: none. Cost: that of RecordSorter; three of them, and one for the few events
// that are reported late.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/ids.h"
#include "convert/text_file.h"

namespace refrain::convert {

// Sorts records by their key in bounded memory: sorted runs go to a temporary file and are
// merged when they are read. Equal keys keep the order in which they were added.
//
// Shapes: Record is trivially copyable and has a `std::uint64_t key() const`. Thread-safety: none. Errors: those of
// the file, in error(). Cost: kRunBytes for records, as much for sorting them, and kMergeBytes for reading; records
// that are in order already are not sorted and form one run of any length.

// An unnamed temporary file for data that does not fit into memory; removed with its owner.
//
// Thread-safety: none.
// Errors: kept; reads after an error return zeros.
class SpillFile {
 public:
  // In this directory; created at the first write.
  explicit SpillFile(std::string folder) : folder_(std::move(folder)) {}
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  void append(const void* data, std::size_t bytes);
  void read(std::uint64_t at, void* data, std::size_t bytes);
  std::uint64_t size() const noexcept { return size_; }
  const std::string& error() const noexcept { return error_; }

 private:
  void make();
  void fail(const char* what);

  std::string folder_;
  int file_ = -1;
  std::uint64_t size_ = 0;
  std::string error_;
};

template <typename Record>
class RecordSorter {
  static_assert(std::is_trivially_copyable_v<Record>);

 public:
  static constexpr std::size_t kRunBytes = 4 << 20;
  static constexpr std::size_t kMergeBytes = 8 << 20;

  explicit RecordSorter(const std::string& folder, std::size_t run_bytes = kRunBytes)
      : file_(folder), run_records_(std::max<std::size_t>(2, run_bytes / sizeof(Record))) {}

  void add(const Record& record) {
    if (buffer_.size() == run_records_) spill();
    if (!buffer_.empty() && record.key() < buffer_.back().key()) sorted_ = false;
    buffer_.push_back(record);
    ++count_;
  }
  // Ends adding; records can be read from now on.
  void finish() {
    if (runs_.empty()) {
      sort_buffer();
      return;
    }
    spill();
    buffer_ = {};
    const std::size_t bytes = std::max<std::size_t>(4096, kMergeBytes / runs_.size());
    chunk_records_ = std::max<std::size_t>(1, std::min(bytes, kRunBytes) / sizeof(Record));
    for (Run& run : runs_) load(run);
    for (std::size_t i = 0; i < runs_.size(); ++i) heap_.push_back(i);
    std::make_heap(heap_.begin(), heap_.end(), Later{this});
  }
  bool empty() const noexcept { return count_ == 0; }
  std::uint64_t size() const noexcept { return count_; }
  const Record& front() const {
    if (runs_.empty()) return buffer_[next_];
    const Run& run = runs_[heap_.front()];
    return run.chunk[run.next];
  }
  void pop() {
    --count_;
    if (runs_.empty()) {
      ++next_;
      return;
    }
    Run& run = runs_[heap_.front()];
    if (++run.next == run.chunk.size()) load(run);
    if (heap_.size() == 1) return;
    std::pop_heap(heap_.begin(), heap_.end(), Later{this});
    if (runs_[heap_.back()].chunk.empty())
      heap_.pop_back();
    else
      std::push_heap(heap_.begin(), heap_.end(), Later{this});
  }
  const std::string& error() const noexcept { return file_.error(); }

 private:
  struct Run {
    std::uint64_t at = 0, left = 0;  // bytes; records not yet loaded
    std::vector<Record> chunk;
    std::size_t next = 0;
  };
  struct Later {
    const RecordSorter* self;
    bool operator()(std::size_t a, std::size_t b) const {
      const Run& run_a = self->runs_[a];
      const Run& run_b = self->runs_[b];
      const std::uint64_t key_a = run_a.chunk.empty() ? 0 : run_a.chunk[run_a.next].key();
      const std::uint64_t key_b = run_b.chunk.empty() ? 0 : run_b.chunk[run_b.next].key();
      return key_a != key_b ? key_a > key_b : a > b;
    }
  };

  void sort_buffer() {
    if (sorted_) return;
    std::stable_sort(buffer_.begin(), buffer_.end(),
                     [](const Record& a, const Record& b) { return a.key() < b.key(); });
    sorted_ = true;
  }
  void spill() {
    if (buffer_.empty()) return;
    sort_buffer();
    if (runs_.empty() || buffer_.front().key() < last_key_) {
      runs_.emplace_back();
      runs_.back().at = file_.size();
    }
    file_.append(buffer_.data(), buffer_.size() * sizeof(Record));
    runs_.back().left += buffer_.size();
    last_key_ = buffer_.back().key();
    buffer_.clear();
  }
  void load(Run& run) {
    const std::size_t records =
        static_cast<std::size_t>(std::min<std::uint64_t>(run.left, chunk_records_));
    run.chunk.resize(records);
    run.next = 0;
    if (records == 0) return;
    file_.read(run.at, run.chunk.data(), records * sizeof(Record));
    run.at += records * sizeof(Record);
    run.left -= records;
  }

  SpillFile file_;
  std::size_t run_records_;
  std::size_t chunk_records_ = 1;
  std::vector<Record> buffer_;
  std::size_t next_ = 0;
  std::uint64_t count_ = 0;
  bool sorted_ = true;
  std::uint64_t last_key_ = 0;
  std::vector<Run> runs_;
  std::vector<std::size_t> heap_;
};

class ParaverRecords {
 public:
  // Temporary files are made in `folder`.
  explicit ParaverRecords(const std::string& folder);

  // Empty intervals are dropped.
  void state(LocationId location, std::uint64_t begin, std::uint64_t end,
             std::uint8_t state);
  void event(LocationId location, std::uint64_t ns, std::uint32_t type,
             std::uint64_t value);
  // An event that is earlier than others reported before it.
  void late_event(LocationId location, std::uint64_t ns, std::uint32_t type,
                  std::uint64_t value);
  struct Communication {
    std::uint64_t logical_send, physical_send, logical_receive, physical_receive, bytes;
    std::uint32_t sender, receiver, tag;
    std::uint64_t key() const { return logical_send; }
  };
  void communication(const Communication& communication);

  // `objects`: "cpu:application:task:thread:" by location; `share`: called with the
  // progress, if set.
  void write(TextFile& file, const std::vector<std::string>& objects,
             const std::function<void(double)>& share);
  std::string error() const;
  std::uint64_t last_ns() const noexcept { return last_ns_; }

 private:
  struct State {
    std::uint64_t begin, end;
    std::uint32_t location, state;
    std::uint64_t key() const { return begin; }
  };
  struct Event {
    std::uint64_t ns, value;
    std::uint32_t location, type;
    std::uint64_t key() const { return ns; }
  };
  std::uint64_t left() const;
  const Event* next_event();
  void pop_event();
  void write_state(TextFile& file, const std::vector<std::string>& objects);
  void write_events(TextFile& file, const std::vector<std::string>& objects);
  void write_communication(TextFile& file, const std::vector<std::string>& objects);

  RecordSorter<State> states_;
  RecordSorter<Event> events_, late_events_;
  RecordSorter<Communication> communications_;
  std::uint64_t last_event_ns_ = 0;
  std::uint64_t last_ns_ = 0;
};

}  // namespace refrain::convert
