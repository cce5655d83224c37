#include "reader/trace_access.h"

namespace refrain::reader {

base::Result<> TraceAccess::open(const std::string& archive) {
  auto opened = stream_.open(archive);
  error_ = opened.error();
  return opened;
}

const StatefulEvent* TraceAccess::next() {
  if (!error_.empty()) return nullptr;
  if (!started_) {
    started_ = true;
    error_ = stream_.start(window_).error();
  }
  while (error_.empty() && !finished_ && window_.ahead() <= after_) {
    error_ = stream_.advance(after_ + 1 - window_.ahead()).error();
    if (!error_.empty() || !stream_.at_end()) continue;
    finished_ = true;
    error_ = stream_.finish().error();
  }
  return error_.empty() ? window_.next() : nullptr;
}

}  // namespace refrain::reader
