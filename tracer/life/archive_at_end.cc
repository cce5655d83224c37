#include "tracer/life/archive_at_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "base/version.h"
#include "convert/formats_at_end.h"
#include "exchange/tree.h"
#include "tracer/life/report_at_end.h"
#include "tracer/recorder/descriptors.h"
#include "tracer/recorder/no_size_signal.h"
#include "tracer/runtime/notices.h"
#include "tracer/runtime/session.h"
#include "writer/archive_writer.h"
#include "writer/summary.h"

namespace refrain::runtime {
namespace {

std::string filter_text(const std::string& path) {
  if (path.empty()) return {};
  std::ifstream file(path);
  if (!file) {
    warn("cannot read the filter file '" + path + "'; nothing is filtered");
    return {};
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

writer::WriteOptions options_of(const Session& session) {
  const filters::Settings& settings = session.settings();
  writer::WriteOptions options;
  options.archive = session.folder().archive();
  options.threads = static_cast<unsigned>(settings.writer_threads);
  options.keep_spool = settings.keep_spool;
  options.logical_clock = settings.clock == "logical";
  options.budget_bytes = settings.budget_bytes;
  if (!settings.summary_only) options.representatives = filters::representatives(settings);
  options.filter = filter_text(settings.filter_file);
  options.version = kVersion;
  return options;
}

}  // namespace

void write_archive_at_end(const Session& session, exchange::Exchange& exchange) {
  const recorder::NoLowDescriptors no_low_descriptors;
  const recorder::MoreDescriptors more_descriptors;
  const recorder::NoSizeSignal no_signal;
  const filters::Settings& settings = session.settings();
  writer::WriteOptions options;
  try {
    options = options_of(session);
  } catch (const std::exception&) {
    exchange::fail_round(exchange);  // the others wait for this process
    throw;
  }
  auto result = writer::write_archive_together(options, exchange);
  // A filter that is wrong is so for process 0, too.
  const bool wrong_filter = result.error().starts_with("filter: ");
  if (!result && exchange.size() > 1 && !wrong_filter) {
    warn("the processes could not write the archive together (" + result.error() +
         "); process 0 writes it alone");
    result = writer::write_archive(options);
  }
  if (!result && !options.filter.empty()) {
    // A filter that cannot be understood must not cost the trace.
    warn(result.error() + "; nothing is filtered");
    options.filter.clear();
    result = writer::write_archive(options);
  }
  if (!result) {
    warn("the archive could not be written (" + result.error() +
         "); the recording is kept: try 'refrain recover " + session.folder().archive() +
         "'");
    return;
  }
  for (const std::string& line : writer::loss_lines(*result)) warn(line);
  const convert::FormatsResult formats =
      convert::write_formats(session.folder().archive(), settings.format);
  for (const std::string& line : formats.warnings) warn(line);
  const std::string report = settings.report ? make_report(session.folder().archive()) : "";
  if (settings.quiet) return;
  for (const std::string& line : writer::summary_lines(*result, session.folder().archive()))
    say(line);
  if (!formats.files.empty()) say("for Paraver: " + formats.files.front());
  if (!report.empty()) say("report: " + report);
}

void take_part_in_archive(exchange::Exchange& exchange) {
  const recorder::NoLowDescriptors no_low_descriptors;
  const recorder::MoreDescriptors more_descriptors;
  const recorder::NoSizeSignal no_signal;
  bool others_failed = false;
  const auto result = writer::write_archive_together({}, exchange, &others_failed);
  if (!result && !others_failed)
    warn("process " + std::to_string(exchange.rank()) +
         " could not write its part of the archive (" + result.error() + ")");
}

}  // namespace refrain::runtime
