#include "writer/profile/trace_profile.h"

#include <exception>
#include <utility>

#include "writer/convert/archive_stream.h"
#include "writer/profile/holding_sink.h"
#include "writer/profile/profile_sink.h"

namespace refrain::profile {
namespace {

class ProfileReader {
 public:
  ProfileReader(const std::string& path, const ProfileOptions& options)
      : path_(path), options_(options) {}

  std::string read(TraceProfile& profile) {
    SampleSink samples;
    bool is_refrain = false;
    std::string error = pass(samples, is_refrain);
    if (!error.empty()) return error;
    ProfileSink sink(is_refrain ? samples.take() : SampleKinds());
    error = pass(sink, is_refrain);
    profile = sink.take();
    return error;
  }

 private:
  // Of traces of other tools the first one is left out.
  std::string pass(convert::TraceSink& sink, bool& is_refrain) {
    convert::ArchiveStream stream;
    std::string error = stream.open(path_);
    if (!error.empty()) return error;
    const bool first = !std::exchange(passed_, true);
    is_refrain = stream.definitions().is_refrain();
    if (first && !is_refrain) return {};
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
      const std::uint64_t passes = is_refrain ? 2 : 1;
      if (options_.progress) options_.progress(before_ + done, passes * total);
    };
    HoldingSink holding(options_.hold_after, sink);
    error = options_.hold_after == 0 ? stream.run(sink, progress)
                                     : stream.run(holding, progress);
    before_ += stream.events();
    return error;
  }

  const std::string& path_;
  const ProfileOptions& options_;
  bool passed_ = false;
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

}  // namespace refrain::profile
