#include "convert/convert.h"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <sstream>

#include "base/archive_files.h"
#include "convert/formats.h"
#include "reader/archive_stream.h"

namespace refrain::convert {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_of(Format format, const std::string& output) {
  if (format != Format::kParaver || output == "-") return {output};
  const fs::path prv(output);
  return {output, fs::path(prv).replace_extension(".pcf"),
          fs::path(prv).replace_extension(".row")};
}

base::Result<> check_output(const ConvertOptions& options, const std::string& output) {
  if (output == "-")
    return options.format == Format::kParaver
               ? base::Failure{"a Paraver trace is three files: it cannot be written to "
                               "stdout"}
               : base::Result<>();
  if (options.format == Format::kParaver && fs::path(output).extension() != ".prv")
    return base::Failure{"'" + output + "': the name of a Paraver trace ends with .prv"};
  std::error_code error;
  for (const std::string& file : files_of(options.format, output)) {
    if (fs::is_directory(file, error))
      return base::Failure{"'" + file + "' is a directory"};
    if (!options.overwrite && fs::is_regular_file(file, error) &&
        fs::file_size(file, error) != 0)
      return base::Failure{"'" + file + "' exists; --overwrite replaces it"};
  }
  return {};
}

std::unique_ptr<reader::TraceSink> make_sink(const ConvertOptions& options,
                                             const std::string& output) {
  const Format format = options.format;
  if (format == Format::kChrome) return std::make_unique<ChromeSink>(output);
  if (format == Format::kParaver) return std::make_unique<ParaverSink>(output);
  if (format == Format::kPerfetto)
    return std::make_unique<PerfettoSink>(output, options.compress);
  return std::make_unique<CsvSink>(output);
}

base::Result<ConvertResult> convert(const ConvertOptions& options) {
  const std::string output = options.output.empty()
                                 ? default_output(options.archive, options.format)
                                 : options.output;
  reader::ArchiveStream stream;
  if (const auto done = stream.open(options.archive); !done) return done.failure();
  if (stream.definitions().summary_only())
    return base::Failure{"'" + options.archive +
                         "' has no events: it was recorded with --summary-only"};
  if (const auto done = check_output(options, output); !done) return done.failure();
  const std::unique_ptr<reader::TraceSink> sink = make_sink(options, output);
  if (const auto done = stream.run(*sink, options.progress); !done) return done.failure();
  return ConvertResult{.notes = sink->notes(),
                       .files = files_of(options.format, output),
                       .events = stream.events()};
}

}  // namespace

base::Result<Format> parse_format(const std::string& name) {
  if (name == "csv") return Format::kCsv;
  if (name == "chrome") return Format::kChrome;
  if (name == "paraver") return Format::kParaver;
  if (name == "perfetto") return Format::kPerfetto;
  return base::Failure{"'" + name + "' is not a format: csv, chrome, paraver or perfetto"};
}

std::string default_output(const std::string& archive, Format format) {
  std::error_code error;
  fs::path anchor(archive);
  if (fs::is_directory(anchor, error)) anchor /= "traces.otf2";
  constexpr const char* kExtensions[] = {".csv", ".json", ".prv", ".pftrace"};
  return anchor.replace_extension(kExtensions[static_cast<unsigned>(format)]);
}

base::Result<ConvertResult> convert_archive(const ConvertOptions& options) {
  try {
    return convert(options);
  } catch (const std::exception& problem) {
    return base::Failure{options.archive + ": cannot be converted: " + problem.what()};
  }
}

}  // namespace refrain::convert

namespace refrain::convert {
namespace {

void write(const std::string& archive, const std::string& format, FormatsResult& result) {
  bool keep = false;
  bool complete = true;
  std::istringstream names(format);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "otf2") keep = true;
    const auto other = parse_format(name);
    if (!other) continue;  // "otf2"
    ConvertOptions options;
    options.format = *other;
    options.archive = archive;
    options.overwrite = true;
    const auto made = convert_archive(options);
    if (!made) {
      complete = false;
      result.warnings.push_back(
          fmt::format("no {0} trace ({1}); try 'refrain convert {2} --to {0}'", name,
                      made.error(), archive));
      continue;
    }
    result.warnings.insert(result.warnings.end(), made->notes.begin(), made->notes.end());
    result.files.insert(result.files.end(), made->files.begin(), made->files.end());
  }
  if (keep || !complete || result.files.empty()) return;
  if (const auto removed = base::remove_archive(archive); !removed)
    result.warnings.push_back(removed.error());
}

}  // namespace

FormatsResult write_formats(const std::string& archive,
                            const std::string& format) noexcept {
  FormatsResult result;
  try {
    try {
      write(archive, format, result);
    } catch (const std::exception& problem) {
      result.warnings.push_back(archive + ": cannot be converted: " + problem.what());
    }
  } catch (...) {
  }
  return result;
}

}  // namespace refrain::convert
