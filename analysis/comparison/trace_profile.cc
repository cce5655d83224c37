#include "analysis/comparison/trace_profile.h"

#include <exception>
#include <utility>

#include "analysis/comparison/profile_sink.h"
#include "analysis/comparison/skipping_sink.h"
#include "base/archive_files.h"
#include "reader/archive_stream.h"
#include "summary/run_summary.h"

namespace refrain::analysis {
namespace {

class ProfileReader {
 public:
  ProfileReader(const std::string& path, const ProfileOptions& options)
      : path_(path), options_(options) {}

  std::string read(TraceProfile& profile) {
    SkipPlan plan;
    passes_ = options_.suspend_after == 0 ? 2 : 3;
    if (options_.suspend_after != 0) {
      PlanSink sink({.limit = options_.suspend_after});
      std::string error = pass(sink);
      if (!error.empty()) return error;
      if (!is_refrain_ || !sink.marks_seen()) return no_marks();
      plan = sink.take();
    }
    SampleSink samples;
    std::string error = skipped_pass(plan, samples);
    if (!error.empty()) return error;
    std::vector<summary::RunSummary> summaries;
    if (is_refrain_ && options_.use_summary) {
      auto read = summary::read_summaries(base::archive_folder(path_));
      if (!read) return read.error();
      summaries = *std::move(read);
    }
    ProfileSink sink(is_refrain_ ? samples.take() : TraceMarks(), std::move(summaries));
    error = skipped_pass(plan, sink);
    profile = sink.take();
    return error;
  }

 private:
  std::string skipped_pass(const SkipPlan& plan, reader::TraceSink& sink) {
    if (plan.empty()) return pass(sink);
    SkippingSink suspended(plan, sink);
    return pass(suspended);
  }

  // Of traces of other tools the first one is left out.
  std::string pass(reader::TraceSink& sink) {
    reader::ArchiveStream stream;
    std::string error = stream.open(path_);
    if (!error.empty()) return error;
    const bool first = !std::exchange(passed_, true);
    is_refrain_ = stream.definitions().is_refrain();
    if (first && !is_refrain_) return {};
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
      const std::uint64_t passes = is_refrain_ ? passes_ : 1;
      if (options_.progress) options_.progress(before_ + done, passes * total);
    };
    error = stream.run(sink, progress);
    before_ += stream.events();
    return error;
  }

  std::string no_marks() const {
    return path_ + ": it has no marks of iterations, so there are none to leave out" +
           " (Refrain marks the iterations of loops that it detects)";
  }

  const std::string& path_;
  const ProfileOptions& options_;
  bool passed_ = false;
  bool is_refrain_ = false;
  std::uint64_t passes_ = 0;
  std::uint64_t before_ = 0;
};

}  // namespace

ProfileResult read_trace_profile(const std::string& path, const ProfileOptions& options) {
  ProfileResult result;
  try {
    result.error = ProfileReader(path, options).read(result.profile);
  } catch (const std::exception& problem) {
    result.error = path + ": " + problem.what();
  }
  return result;
}

}  // namespace refrain::analysis
