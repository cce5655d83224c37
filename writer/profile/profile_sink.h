// Books the events of a trace: second pass of trace_profile.h.
//
// Place in the flow: private to trace_profile.h. Thread-safety: none. Cost: an event costs
// the depth of its thread's stack of regions, a mark of an iteration the number of threads
// of its process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "writer/profile/iteration_marks.h"
#include "writer/profile/nest_books.h"
#include "writer/profile/trace_profile.h"

namespace refrain::profile {

class ProfileSink final : public convert::TraceSink {
 public:
  explicit ProfileSink(SampleKinds kinds) : samples_(std::move(kinds)) {}

  std::string begin(const convert::TraceDefinitions& definitions) override;
  void event(const convert::TraceEvent& event) override;
  std::string error() const override { return {}; }
  std::string finish(std::uint64_t end_ns) override;

  TraceProfile take() { return std::move(profile_); }

 private:
  // What the time in a region is to its thread.
  struct RegionKind {
    bool useful = false;
    bool mpi = false;
  };
  struct Thread {
    std::uint32_t process = 0;
    std::uint32_t number = 0;  // in its process
    bool written = true;       // not held
    std::uint64_t ns = 0;      // booked until then
    std::vector<std::uint32_t> stack;
    // Where it books, if it is not where the first thread is: it passes the edges of what
    // is written a little before or after that.
    Place* place = nullptr;
  };
  struct OpenIteration {
    std::uint32_t loop;
    bool held;
    bool complete;
    std::uint64_t begin_ns;
  };
  struct Process {
    std::unique_ptr<NestBooks> books;
    std::vector<Place*> places;       // open ones, the root first
    std::vector<OpenIteration> open;  // marks, outermost first
    std::uint32_t held = 0;           // of these
    Place* ended = nullptr;           // the written iteration that ended last
    std::uint64_t ended_ns = 0;
    std::size_t next_written = 0;  // in samples_
    std::vector<double> written;   // by region: complete iterations in the archive
  };

  Place& place_of(const Thread& thread) const;
  void switch_writing(Thread& thread, bool on);
  void book(Thread& thread, std::uint64_t ns);
  void book_all(std::uint32_t process, std::uint64_t ns);
  void begin_iteration(const convert::TraceEvent& event);
  void keep_behind(std::uint32_t process, std::uint64_t ns);
  void end_iteration(const convert::TraceEvent& event);
  void communication(const convert::TraceEvent& event);
  void sum_up(std::uint64_t end_ns);
  void add_messages_of_loops();
  void add_regions(const Sums& sums, const std::vector<double>& written);

  SampleKinds samples_;
  const convert::TraceDefinitions* definitions_ = nullptr;
  std::optional<MarkAttributes> marks_;
  std::vector<RegionKind> kinds_;
  std::vector<Thread> threads_;
  std::vector<Process> processes_;
  double written_ns_ = 0;
  TraceProfile profile_;
};

// Whether time in such a region is work of the program's, not of what synchronises or
// manages its threads and processes.
bool is_useful(const convert::RegionInfo& region);

}  // namespace refrain::profile
