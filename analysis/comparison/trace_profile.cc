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

  base::Result<TraceProfile> read() {
    SkipPlan plan;
    passes_ = options_.suspend_after == 0 ? 2 : 3;
    if (options_.suspend_after != 0) {
      PlanSink sink({.limit = options_.suspend_after});
      if (const auto done = pass(sink); !done) return done.failure();
      if (!is_refrain_ || !sink.marks_seen()) return base::Failure{no_marks()};
      plan = sink.take();
    }
    SampleSink samples;
    if (const auto done = skipped_pass(plan, samples); !done) return done.failure();
    std::vector<summary::RunSummary> summaries;
    if (is_refrain_ && options_.use_summary) {
      auto read = summary::read_summaries(base::archive_folder(path_));
      if (!read) return read.failure();
      summaries = *std::move(read);
    }
    ProfileSink sink(is_refrain_ ? samples.take() : TraceMarks(), std::move(summaries));
    if (const auto done = skipped_pass(plan, sink); !done) return done.failure();
    return sink.take();
  }

 private:
  base::Result<> skipped_pass(const SkipPlan& plan, reader::TraceSink& sink) {
    if (plan.empty()) return pass(sink);
    SkippingSink suspended(plan, sink);
    return pass(suspended);
  }

  // Of traces of other tools the first one is left out.
  base::Result<> pass(reader::TraceSink& sink) {
    reader::ArchiveStream stream;
    if (const auto done = stream.open(path_); !done) return done;
    const bool first = !std::exchange(passed_, true);
    is_refrain_ = stream.definitions().is_refrain();
    if (first && !is_refrain_) return {};
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
      const std::uint64_t passes = is_refrain_ ? passes_ : 1;
      if (options_.progress) options_.progress(before_ + done, passes * total);
    };
    auto result = stream.run(sink, progress);
    before_ += stream.events();
    return result;
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

base::Result<TraceProfile> read_trace_profile(const std::string& path,
                                              const ProfileOptions& options) {
  try {
    return ProfileReader(path, options).read();
  } catch (const std::exception& problem) {
    return base::Failure{path + ": " + problem.what()};
  }
}

}  // namespace refrain::analysis
