// The region filter while the program runs: what has to know at once which regions it leaves out, for
// it cannot be found out afterwards (tracer/recorder/excluded_regions.h; functions that are to cost nothing).
//
// Place in the flow: ARCHITECTURE.md, stages 2 and 3. The filter is applied to what was recorded when the
// archive is written; regions have the same names here and there (regions/region_table.h).
// MPI's procedures and regions of refrain.h have numbers: whoever gives them one says what the name is.
// Constructs of OpenMP and functions are named by the program's debug information. An implicit barrier
// of which the runtime reports no address is named as one that ends its parallel region.
// Thread-safety: any thread; a lock where a name has to be looked up. Not for signal handlers.
// Cost: without a filter none. With one, milliseconds for the first address of a module, microseconds
// for others, nothing of what no pattern can match by the start of its name; then a look into a table.
// Errors: a filter that cannot be read or understood leaves out nothing; that is reported when the archive
// is written. Without memory a region is not left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace refrain::recorder {
class HandlerSafeMutex;
}

namespace refrain::runtime {

// Before the first thread has a recorder; later calls change nothing.
void begin_live_filter(const std::string& path);

void name_procedure(std::uint16_t number, std::string_view name) noexcept;
void name_user_region(std::uint32_t number, std::string_view name,
                      std::string_view file) noexcept;

bool filter_excludes_function(std::uint64_t address) noexcept;
// A thread of the program begins with it: recorded whether it is left out or not.
void name_thread_function(std::uint64_t address) noexcept;

// For lock_at_fork() alone.
recorder::HandlerSafeMutex& live_filter_mutex() noexcept;

}  // namespace refrain::runtime
