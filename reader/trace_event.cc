#include "reader/trace_event.h"

namespace refrain::reader {

const char* event_name(EventKind kind) noexcept {
  static constexpr const char* kNames[] = {
#define REFRAIN_NAME(name) #name,
      REFRAIN_TRACE_EVENTS(REFRAIN_NAME)
#undef REFRAIN_NAME
  };
  return kind < EventKind::kCount ? kNames[static_cast<unsigned>(kind)] : "Unknown";
}

}  // namespace refrain::reader
