#include "tracer/runtime/file_regions.h"

#include <algorithm>

#include "tracer/runtime/this_thread.h"

namespace refrain::runtime {
void record_file_call(const files::SlowCall& call) noexcept {
  if (t_thread.recorder == nullptr || is_in_mpi(*t_thread.recorder)) return;
  const Scope scope;
  if (!scope) return;
  if (scope->depth() >= spool::kMaxDepth) return scope->count_loss(spool::kLossDepth);
  scope->count_event();
  // What was recorded meanwhile, by a handler of a signal, is not in it.
  const std::uint64_t begin = std::min(std::max(call.begin, scope->time_known()), call.end);
  const auto operation = static_cast<std::uint8_t>(call.operation);
  const spool::FileDescriptor descriptor{
      static_cast<std::uint16_t>(call.descriptor), static_cast<std::uint16_t>(call.file),
      static_cast<std::uint16_t>(call.flags | spool::kFileSeen)};
  scope->begin(spool::record_words(spool::kFileEnter, begin, call.name, operation,
                                   descriptor.packed()));
  const std::uint64_t offset = std::min(call.offset, spool::kNoFileOffset);
  scope->append(spool::record_words(
      spool::kFileMoved, call.end,
      std::uint64_t{call.file} << spool::kFileShift | (call.bytes & spool::kAddressMask),
      operation, offset));
  scope->end(spool::record_words(spool::kFileLeave, call.end, call.name, operation));
}

}  // namespace refrain::runtime
