#include <algorithm>

#include "spool/mpi_format.h"
#include "writer/process/mpi_interpreter.h"

namespace refrain::writer {

using spool::Record;

void MpiInterpreter::window_collective(const Record& record, std::size_t index,
                                       const LocalWindow& window) {
  const std::uint64_t number = (record.payload & 0xffffffff) >> 1;
  if (input_.collect != nullptr) input_.collect->collectives[window.identity].add(number);
  if (!keeps_collective(window.identity, number)) {
    ++outcome_.mpi.one_sided_dropped;
    return;
  }
  const bool begun = begun_collective_ == index;
  begun_collective_ = kNone;
  stack_.point(record.ticks, [&](EventSink& sink) {
    if (!begun) sink.rma_collective_begin(record.ticks);
    sink.rma_collective_end(record.ticks, static_cast<OTF2_CollectiveOp>(record.sub),
                            window.index);
  });
}

void MpiInterpreter::one_sided(const Record& record) {
  const LocalWindow* window = window_of(record);
  if (window == nullptr) {
    ++outcome_.mpi.one_sided_dropped;
    return;
  }
  switch (record.sub) {
    case spool::kMpiRmaComplete:
      return operations_complete(record, *window);
    case spool::kMpiRmaGroupSync: {
      const auto group = mpi_.comms.groups.find(static_cast<std::uint16_t>(record.aux32));
      if (group == mpi_.comms.groups.end()) {
        ++outcome_.mpi.one_sided_dropped;
        return;
      }
      return stack_.point(record.ticks, [&](EventSink& sink) {
        sink.rma_group_sync(record.ticks, window->index, mpi_.group_of(group->second),
                            static_cast<OTF2_RmaSyncLevel>(record.payload));
      });
    }
    case spool::kMpiRmaRequestLock:
      return stack_.point(record.ticks, [&](EventSink& sink) {
        sink.rma_request_lock(record.ticks, window->index, record.aux32,
                              record.payload != 0);
      });
    case spool::kMpiRmaReleaseLock:
      return stack_.point(record.ticks, [&](EventSink& sink) {
        sink.rma_release_lock(record.ticks, window->index, record.aux32);
      });
    default:
      break;
  }
  const std::uint64_t id = operation_ids_++;
  operations_.push_back({record.aux16, record.aux32, id});
  ++outcome_.mpi.one_sided;
  stack_.point(record.ticks, [&](EventSink& sink) {
    sink.rma(record.ticks, record.sub, window->index, record.aux32, record.payload, id);
  });
}

void MpiInterpreter::operations_complete(const Record& record, const LocalWindow& window) {
  const auto is_complete = [&record](const Operation& operation) {
    return operation.window == record.aux16 &&
           (record.aux32 == spool::kMpiNoRoot || operation.target == record.aux32);
  };
  for (const Operation& operation : operations_)
    if (is_complete(operation))
      stack_.point(record.ticks, [&](EventSink& sink) {
        sink.rma_complete(record.ticks, window.index, operation.id);
      });
  std::erase_if(operations_, is_complete);
}

}  // namespace refrain::writer
