#include "convert/convert.h"

#include <exception>
#include <filesystem>
#include <memory>

#include "convert/chrome_sink.h"
#include "convert/csv_sink.h"
#include "convert/paraver_sink.h"
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

std::string check_output(const ConvertOptions& options, const std::string& output) {
  if (output == "-")
    return options.format == Format::kParaver
               ? "a Paraver trace is three files: it cannot be written to stdout"
               : "";
  if (options.format == Format::kParaver && fs::path(output).extension() != ".prv")
    return "'" + output + "': the name of a Paraver trace ends with .prv";
  std::error_code error;
  for (const std::string& file : files_of(options.format, output)) {
    if (fs::is_directory(file, error)) return "'" + file + "' is a folder";
    if (!options.overwrite && fs::is_regular_file(file, error) &&
        fs::file_size(file, error) != 0)
      return "'" + file + "' exists; --overwrite replaces it";
  }
  return {};
}

std::unique_ptr<reader::TraceSink> make_sink(Format format, const std::string& output) {
  if (format == Format::kChrome) return std::make_unique<ChromeSink>(output);
  if (format == Format::kParaver) return std::make_unique<ParaverSink>(output);
  return std::make_unique<CsvSink>(output);
}

void convert(const ConvertOptions& options, ConvertResult& result) {
  const std::string output = options.output.empty()
                                 ? default_output(options.archive, options.format)
                                 : options.output;
  reader::ArchiveStream stream;
  result.error = stream.open(options.archive);
  if (result.error.empty() && stream.definitions().summary_only())
    result.error =
        "'" + options.archive + "' has no events: it was recorded with --summary-only";
  if (result.error.empty()) result.error = check_output(options, output);
  if (!result.error.empty()) return;
  const std::unique_ptr<reader::TraceSink> sink = make_sink(options.format, output);
  result.error = stream.run(*sink, options.progress);
  result.events = stream.events();
  result.notes = sink->notes();
  if (result.error.empty()) result.files = files_of(options.format, output);
}

}  // namespace

bool parse_format(const std::string& name, Format& format) {
  if (name == "csv") return format = Format::kCsv, true;
  if (name == "chrome") return format = Format::kChrome, true;
  if (name == "paraver") return format = Format::kParaver, true;
  return false;
}

std::string default_output(const std::string& archive, Format format) {
  std::error_code error;
  fs::path anchor(archive);
  if (fs::is_directory(anchor, error)) anchor /= "traces.otf2";
  constexpr const char* kExtensions[] = {".csv", ".json", ".prv"};
  return anchor.replace_extension(kExtensions[static_cast<unsigned>(format)]);
}

ConvertResult convert_archive(const ConvertOptions& options) noexcept {
  ConvertResult result;
  try {
    try {
      convert(options, result);
    } catch (const std::exception& problem) {
      result.error = options.archive + ": cannot be converted: " + problem.what();
    }
  } catch (...) {
  }
  return result;
}

}  // namespace refrain::convert
