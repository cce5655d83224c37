#include "reader/trace_access.h"

namespace refrain::reader {

std::string TraceAccess::open(const std::string& archive) {
  return error_ = stream_.open(archive);
}

const StatefulEvent* TraceAccess::next() {
  if (!error_.empty()) return nullptr;
  if (!started_) {
    started_ = true;
    error_ = stream_.start(window_);
  }
  while (error_.empty() && !finished_ && window_.ahead() <= after_) {
    error_ = stream_.advance(after_ + 1 - window_.ahead());
    if (!error_.empty() || !stream_.at_end()) continue;
    finished_ = true;
    error_ = stream_.finish();
  }
  return error_.empty() ? window_.next() : nullptr;
}

}  // namespace refrain::reader
