// Converts an OTF2 archive into another format: what `refrain convert` and `--format` do.
//
// Place in the flow: ARCHITECTURE.md, stage 7; reads what stage 5 wrote, or any other tool.
// Thread-safety: one call a process at a time (libotf2's error callback is global).
// Ownership: files are written under temporary names and renamed when complete, those of
// Paraver with the .prv last. After an error nothing of them is left.
// Nothing is printed.
// Cost: one pass over the archive; see archive_stream.h and the sinks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace refrain::convert {

enum class Format : std::uint8_t { kCsv, kChrome, kParaver, kPerfetto };

struct ConvertOptions {
  std::string archive;  // its directory, or its anchor file
  Format format = Format::kCsv;
  std::string output;      // file; empty: default_output()
  bool overwrite = false;  // replace a file that exists and is not empty
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  // events
  // Makes zlib's format of a text; empty: it cannot. None: a trace for Perfetto is not compressed (librefrain.so needs no zlib).
  std::function<std::string(std::string_view)> compress;
};

struct ConvertResult {
  std::vector<std::string> notes;  // what the other format cannot express
  std::vector<std::string> files;
  std::uint64_t events = 0;
};

// "csv", "chrome", "paraver", "perfetto".
base::Result<Format> parse_format(const std::string& name);

// traces.csv, traces.json, traces.prv or traces.pftrace next to the archive's traces.otf2.
std::string default_output(const std::string& archive, Format format);

base::Result<ConvertResult> convert_archive(const ConvertOptions& options);

// Writes the other formats that the setting `format` names, after the archive.
//
// The other formats are made from the archive itself, so that they cannot differ from it. Errors: as warnings; the
// archive stays in any case.

struct FormatsResult {
  std::vector<std::string> files;     // made
  std::vector<std::string> warnings;  // a line each
};

// `format`: the setting, names separated by commas. Without "otf2" among them the archive
// is removed once all others exist.
FormatsResult write_formats(const std::string& archive, const std::string& format) noexcept;

}  // namespace refrain::convert
