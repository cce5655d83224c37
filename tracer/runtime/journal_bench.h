// For tests: a journal in a file, and what is in it.
#pragma once

#include <fcntl.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "spool/spool_reader.h"
#include "test/support/files.h"
#include "tracer/recorder/spool_file.h"
#include "tracer/runtime/journal_writer.h"
#include "tracer/runtime/recording_start.h"

namespace refrain::runtime {

struct JournalBench {
  JournalBench() {
    start.take();
    spool::Header header{};
    start.fill(header, spool::kJournalFile);
    REQUIRE(journal.file().open(AT_FDCWD, path().c_str(), header, {0, 0, 1 << 20},
                                budget) == recorder::SpoolResult::kOk);
  }
  std::string path() const { return folder / "journal.spool"; }
  std::vector<spool::Record> records() const {
    const spool::SpoolFile file = spool::SpoolFile::open(path());
    std::vector<spool::Record> out;
    for (std::uint64_t i = 0; i < file.log().size(); ++i) out.push_back(file.log()[i]);
    return out;
  }
  std::vector<spool::Record> records(spool::Kind kind) const {
    std::vector<spool::Record> out = records();
    std::erase_if(out, [&](const spool::Record& record) { return record.kind != kind; });
    return out;
  }

  test::TemporaryFolder folder;
  RecordingStart start;
  recorder::Budget budget{0, 0};
  Journal journal;
};

}  // namespace refrain::runtime
