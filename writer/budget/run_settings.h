// The settings of a run, from its journal, and what they explain of its archive.
//
// Place in the flow: ARCHITECTURE.md, step 7. Thread-safety: pure.
// Errors: a setting that is missing, or that this version does not know, has its default.
#pragma once

#include "filters/settings.h"
#include "spool/journal.h"
#include "writer/archive/write_options.h"
#include "writer/budget/limit_reason.h"

namespace refrain::writer {

filters::Settings settings_of(const spool::Journal& journal);

// Of the first process' loops.
LimitFacts limit_facts(const filters::Settings& settings, const WriteResult& result);

}  // namespace refrain::writer
