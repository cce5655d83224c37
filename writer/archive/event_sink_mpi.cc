#include "spool/mpi_format.h"
#include "writer/archive/event_sink.h"

namespace refrain::writer {

void EventSink::send(std::uint64_t ticks, const MessageEnd& message,
                     std::uint64_t request) {
  if (!ok()) return;
  check(request == 0
            ? OTF2_EvtWriter_MpiSend(writer_, nullptr, at(ticks), message.peer,
                                     message.comm, message.tag, message.bytes)
            : OTF2_EvtWriter_MpiIsend(writer_, nullptr, at(ticks), message.peer,
                                      message.comm, message.tag, message.bytes, request));
}

void EventSink::receive(std::uint64_t ticks, const MessageEnd& message,
                        std::uint64_t request) {
  if (!ok()) return;
  check(request == 0
            ? OTF2_EvtWriter_MpiRecv(writer_, nullptr, at(ticks), message.peer,
                                     message.comm, message.tag, message.bytes)
            : OTF2_EvtWriter_MpiIrecv(writer_, nullptr, at(ticks), message.peer,
                                      message.comm, message.tag, message.bytes, request));
}

void EventSink::send_complete(std::uint64_t ticks, std::uint64_t request) {
  if (!ok()) return;
  check(OTF2_EvtWriter_MpiIsendComplete(writer_, nullptr, at(ticks), request));
}

void EventSink::receive_request(std::uint64_t ticks, std::uint64_t request) {
  if (!ok()) return;
  check(OTF2_EvtWriter_MpiIrecvRequest(writer_, nullptr, at(ticks), request));
}

void EventSink::request_test(std::uint64_t ticks, std::uint64_t request,
                             std::uint32_t region) {
  if (!ok() || (region < regions_.size() && regions_[region].filtered)) return;
  check(OTF2_EvtWriter_MpiRequestTest(writer_, nullptr, at(ticks), request));
}

void EventSink::request_cancelled(std::uint64_t ticks, std::uint64_t request) {
  if (!ok()) return;
  check(OTF2_EvtWriter_MpiRequestCancelled(writer_, nullptr, at(ticks), request));
}

void EventSink::collective_begin(std::uint64_t ticks) {
  if (!ok()) return;
  check(OTF2_EvtWriter_MpiCollectiveBegin(writer_, nullptr, at(ticks)));
}

void EventSink::collective_end(std::uint64_t ticks, const Collective& collective) {
  if (!ok()) return;
  check(OTF2_EvtWriter_MpiCollectiveEnd(writer_, nullptr, at(ticks), collective.operation,
                                        collective.comm, collective.root, collective.sent,
                                        collective.received));
}

void EventSink::collective_request(std::uint64_t ticks, std::uint64_t request) {
  if (!ok()) return;
  check(OTF2_EvtWriter_NonBlockingCollectiveRequest(writer_, nullptr, at(ticks), request));
}

void EventSink::collective_complete(std::uint64_t ticks, const Collective& collective,
                                    std::uint64_t request) {
  if (!ok()) return;
  check(OTF2_EvtWriter_NonBlockingCollectiveComplete(
      writer_, nullptr, at(ticks), collective.operation, collective.comm, collective.root,
      collective.sent, collective.received, request));
}

void EventSink::rma(std::uint64_t ticks, std::uint8_t operation, OTF2_RmaWinRef window,
                    std::uint32_t target, std::uint64_t bytes, std::uint64_t id) {
  if (!ok()) return;
  switch (operation) {
    case spool::kMpiRmaPut:
      check(OTF2_EvtWriter_RmaPut(writer_, nullptr, at(ticks), window, target, bytes, id));
      return;
    case spool::kMpiRmaGet:
      check(OTF2_EvtWriter_RmaGet(writer_, nullptr, at(ticks), window, target, bytes, id));
      return;
    case spool::kMpiRmaFetchAccumulate:
      return rma_atomic(ticks, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, window, target,
                        bytes, bytes, id);
    case spool::kMpiRmaFetch:
      return rma_atomic(ticks, OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE, window, target, 0,
                        bytes, id);
    case spool::kMpiRmaCompareAndSwap:
      return rma_atomic(ticks, OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP, window, target, bytes,
                        bytes, id);
    default:
      return rma_atomic(ticks, OTF2_RMA_ATOMIC_TYPE_ACCUMULATE, window, target, bytes, 0,
                        id);
  }
}

void EventSink::rma_atomic(std::uint64_t ticks, OTF2_RmaAtomicType type,
                           OTF2_RmaWinRef window, std::uint32_t target, std::uint64_t sent,
                           std::uint64_t received, std::uint64_t id) {
  check(OTF2_EvtWriter_RmaAtomic(writer_, nullptr, at(ticks), window, target, type, sent,
                                 received, id));
}

void EventSink::rma_complete(std::uint64_t ticks, OTF2_RmaWinRef window, std::uint64_t id) {
  if (!ok()) return;
  check(OTF2_EvtWriter_RmaOpCompleteBlocking(writer_, nullptr, at(ticks), window, id));
}

void EventSink::rma_collective_begin(std::uint64_t ticks) {
  if (!ok()) return;
  check(OTF2_EvtWriter_RmaCollectiveBegin(writer_, nullptr, at(ticks)));
}

void EventSink::rma_collective_end(std::uint64_t ticks, OTF2_CollectiveOp operation,
                                   OTF2_RmaWinRef window) {
  if (!ok()) return;
  const OTF2_RmaSyncLevel level =
      operation == OTF2_COLLECTIVE_OP_BARRIER
          ? OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY
          : OTF2_RMA_SYNC_LEVEL_PROCESS;
  check(OTF2_EvtWriter_RmaCollectiveEnd(writer_, nullptr, at(ticks), operation, level,
                                        window, OTF2_UNDEFINED_UINT32, 0, 0));
}

void EventSink::rma_group_sync(std::uint64_t ticks, OTF2_RmaWinRef window,
                               OTF2_GroupRef group, OTF2_RmaSyncLevel level) {
  if (!ok()) return;
  check(OTF2_EvtWriter_RmaGroupSync(writer_, nullptr, at(ticks), level, window, group));
}

void EventSink::rma_request_lock(std::uint64_t ticks, OTF2_RmaWinRef window,
                                 std::uint32_t target, bool exclusive) {
  if (!ok()) return;
  check(OTF2_EvtWriter_RmaRequestLock(writer_, nullptr, at(ticks), window, target, 0,
                                      exclusive ? OTF2_LOCK_EXCLUSIVE : OTF2_LOCK_SHARED));
}

void EventSink::rma_release_lock(std::uint64_t ticks, OTF2_RmaWinRef window,
                                 std::uint32_t target) {
  if (!ok()) return;
  check(OTF2_EvtWriter_RmaReleaseLock(writer_, nullptr, at(ticks), window, target, 0));
}

void EventSink::polls(std::uint64_t ticks, std::uint64_t number, std::uint32_t region) {
  if (!ok() || (region < regions_.size() && regions_[region].filtered)) return;
  check(OTF2_EvtWriter_ParameterUnsignedInt(writer_, nullptr, at(ticks), kPollsParameter,
                                            number));
}

void EventSink::bytes_moved(std::uint64_t ticks, std::uint64_t bytes,
                            std::uint32_t region) {
  if (!ok() || (region < regions_.size() && regions_[region].filtered)) return;
  check(OTF2_EvtWriter_ParameterUnsignedInt(writer_, nullptr, at(ticks), kBytesParameter,
                                            bytes));
}

}  // namespace refrain::writer
