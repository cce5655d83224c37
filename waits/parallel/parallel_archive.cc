#include "waits/parallel/parallel_archive.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

#include "exchange/mailboxes.h"
#include "waits/parallel/archive_source.h"
#include "waits/parallel/shared_analysis.h"

namespace refrain::waits {
namespace {

WaitAnalysis with_threads(WaitAnalysis analysis, const std::string& archive) {
  if (analysis.error.empty() && analysis.locations.empty())
    analysis.error = "'" + archive + "' has no threads";
  return analysis;
}

}  // namespace

WaitAnalysis analyze_in_threads(const std::string& archive, std::size_t threads,
                                const reader::Progress& progress) {
  WaitAnalysis failed;
  ArchiveSource own(archive);
  failed.error = own.open();
  if (!failed.error.empty()) return failed;
  const std::size_t readers = std::min(threads, own.definitions().processes.size() + 1) - 1;
  if (threads < 2 || readers == 0) return analyze_archive(archive, progress);
  exchange::Mailboxes boxes(static_cast<std::uint32_t>(readers + 1));
  const auto read = [&](std::uint32_t rank) {
    ArchiveSource source(archive);
    read_share(*boxes.of(rank), source);
  };
  std::vector<std::jthread> running;
  for (std::uint32_t rank = 1; rank <= readers; ++rank) {
    try {
      running.emplace_back(read, rank);
    } catch (const std::system_error&) {
      failed.error = "threads cannot be started; --threads 1 needs none";
      break;
    }
  }
  if (failed.error.empty())
    return with_threads(put_together(*boxes.of(0), own, folder_of(archive), progress),
                        archive);
  stop_readers(*boxes.of(0), static_cast<std::uint32_t>(running.size()));
  return failed;
}

WaitAnalysis analyze_in_job(const std::string& archive, exchange::Exchange& exchange,
                            const reader::Progress& progress) {
  ArchiveSource source(archive);
  if (exchange.rank() == 0)
    return with_threads(put_together(exchange, source, folder_of(archive), progress),
                        archive);
  WaitAnalysis result;
  result.error = read_share(exchange, source);
  return result;
}

}  // namespace refrain::waits
