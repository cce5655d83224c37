// An archive as an EventSource.
//
// Place in the flow: ARCHITECTURE.md, stage 6. Thread-safety: one a thread. Errors: one line.
#pragma once

#include <string>
#include <utility>

#include "waits/parallel/event_source.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {

class ArchiveSource final : public EventSource {
 public:
  explicit ArchiveSource(std::string archive) : archive_(std::move(archive)) {}

  std::string open() override {
    if (opened_) return {};
    std::string error = stream_.open(archive_);
    if (error.empty()) error = no_events(archive_, stream_.definitions());
    opened_ = error.empty();
    return error;
  }
  const reader::TraceDefinitions& definitions() const override {
    return stream_.definitions();
  }
  std::string choose(const std::vector<std::uint32_t>& locations,
                     std::uint64_t& base_ticks) override {
    std::string error = stream_.open_events(locations);
    base_ticks = stream_.base_ticks();
    return error;
  }
  std::string run(std::uint64_t base_ticks, reader::TraceSink& sink,
                  const reader::Progress& progress) override {
    return stream_.run_opened(base_ticks, sink, progress);
  }
  std::uint64_t events() const override { return stream_.events(); }

 private:
  std::string archive_;
  reader::ArchiveStream stream_;
  bool opened_ = false;
};

}  // namespace refrain::waits
