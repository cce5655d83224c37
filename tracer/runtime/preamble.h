// The first texts of the journal: what program this is, how it was called and with which settings.
//
// Place in the flow: ARCHITECTURE.md, stage 3. Thread-safety: the thread that starts the session. May
// throw std::bad_alloc.
#pragma once

#include <string>

#include "filters/settings.h"
#include "tracer/runtime/journal_writer.h"

namespace refrain::runtime {

// The path of the program's file.
std::string program_path();

// `runtime_name` may be null.
void put_preamble(Journal& journal, const filters::Settings& settings,
                  const char* runtime_name, const std::string& program);

}  // namespace refrain::runtime
