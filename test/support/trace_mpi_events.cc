#include "test/support/trace_events.h"

namespace refrain::test {
namespace {

using Time = OTF2_TimeStamp;
using List = OTF2_AttributeList*;
using Where = OTF2_LocationRef;
using Code = OTF2_CallbackCode;
using enum EventType;

struct Operands {
  std::uint32_t tag = 0;
  std::uint64_t sent = 0, received = 0, request = 0;
};

Code add(void* data, List list, EventType type, Time time, std::uint32_t reference = 0,
         std::int64_t value = 0, std::uint32_t extra = 0, Operands operands = {}) {
  return add_event(data, list,
                   {type,
                    time,
                    reference,
                    value,
                    extra,
                    {},
                    operands.tag,
                    operands.sent,
                    operands.received,
                    operands.request});
}

// --- Messages -------------------------------------------------------------------------

Code on_send(Where, Time time, uint64_t, void* data, List list, uint32_t receiver,
             OTF2_CommRef comm, uint32_t tag, uint64_t bytes) {
  return add(data, list, kMpiSend, time, comm, receiver, 0, {.tag = tag, .sent = bytes});
}

Code on_isend(Where, Time time, uint64_t, void* data, List list, uint32_t receiver,
              OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request) {
  return add(data, list, kMpiIsend, time, comm, receiver, 0,
             {.tag = tag, .sent = bytes, .request = request});
}

Code on_recv(Where, Time time, uint64_t, void* data, List list, uint32_t sender,
             OTF2_CommRef comm, uint32_t tag, uint64_t bytes) {
  return add(data, list, kMpiRecv, time, comm, sender, 0, {.tag = tag, .received = bytes});
}

Code on_irecv(Where, Time time, uint64_t, void* data, List list, uint32_t sender,
              OTF2_CommRef comm, uint32_t tag, uint64_t bytes, uint64_t request) {
  return add(data, list, kMpiIrecv, time, comm, sender, 0,
             {.tag = tag, .received = bytes, .request = request});
}

template <EventType kType>
Code on_request(Where, Time time, uint64_t, void* data, List list, uint64_t request) {
  return add(data, list, kType, time, 0, 0, 0, {.request = request});
}

// --- Collectives and communicators ----------------------------------------------------

template <EventType kType>
Code on_begin(Where, Time time, uint64_t, void* data, List list) {
  return add(data, list, kType, time);
}

Code on_collective(Where, Time time, uint64_t, void* data, List list,
                   OTF2_CollectiveOp operation, OTF2_CommRef comm, uint32_t root,
                   uint64_t sent, uint64_t received) {
  return add(data, list, kMpiCollectiveEnd, time, comm, operation, root,
             {.sent = sent, .received = received});
}

Code on_collective_complete(Where, Time time, uint64_t, void* data, List list,
                            OTF2_CollectiveOp operation, OTF2_CommRef comm, uint32_t root,
                            uint64_t sent, uint64_t received, uint64_t request) {
  return add(data, list, kMpiCollectiveComplete, time, comm, operation, root,
             {.sent = sent, .received = received, .request = request});
}

template <EventType kType>
Code on_object(Where, Time time, uint64_t, void* data, List list, uint32_t self) {
  return add(data, list, kType, time, self);
}

// --- One-sided communication ----------------------------------------------------------

Code on_rma_collective(Where, Time time, uint64_t, void* data, List list,
                       OTF2_CollectiveOp operation, OTF2_RmaSyncLevel,
                       OTF2_RmaWinRef window, uint32_t root, uint64_t sent,
                       uint64_t received) {
  return add(data, list, kRmaCollectiveEnd, time, window, operation, root,
             {.sent = sent, .received = received});
}

Code on_group_sync(Where, Time time, uint64_t, void* data, List list,
                   OTF2_RmaSyncLevel level, OTF2_RmaWinRef window, OTF2_GroupRef group) {
  return add(data, list, kRmaGroupSync, time, window, level, group);
}

template <EventType kType>
Code on_lock(Where, Time time, uint64_t, void* data, List list, OTF2_RmaWinRef window,
             uint32_t target, uint64_t lock, OTF2_LockType type) {
  return add(data, list, kType, time, window, target, type, {.request = lock});
}

Code on_release(Where, Time time, uint64_t, void* data, List list, OTF2_RmaWinRef window,
                uint32_t target, uint64_t lock) {
  return add(data, list, kRmaReleaseLock, time, window, target, 0, {.request = lock});
}

Code on_sync(Where, Time time, uint64_t, void* data, List list, OTF2_RmaWinRef window,
             uint32_t target, OTF2_RmaSyncType type) {
  return add(data, list, kRmaSync, time, window, target, type);
}

Code on_put(Where, Time time, uint64_t, void* data, List list, OTF2_RmaWinRef window,
            uint32_t target, uint64_t bytes, uint64_t id) {
  return add(data, list, kRmaPut, time, window, target, 0, {.sent = bytes, .request = id});
}

Code on_get(Where, Time time, uint64_t, void* data, List list, OTF2_RmaWinRef window,
            uint32_t target, uint64_t bytes, uint64_t id) {
  return add(data, list, kRmaGet, time, window, target, 0,
             {.received = bytes, .request = id});
}

Code on_atomic(Where, Time time, uint64_t, void* data, List list, OTF2_RmaWinRef window,
               uint32_t target, OTF2_RmaAtomicType type, uint64_t sent, uint64_t received,
               uint64_t id) {
  return add(data, list, kRmaAtomic, time, window, target, type,
             {.sent = sent, .received = received, .request = id});
}

template <EventType kType>
Code on_operation(Where, Time time, uint64_t, void* data, List list, OTF2_RmaWinRef window,
                  uint64_t id) {
  return add(data, list, kType, time, window, 0, 0, {.request = id});
}

}  // namespace

void set_mpi_callbacks(OTF2_EvtReaderCallbacks* c) {
#define SET(name, function) OTF2_EvtReaderCallbacks_Set##name##Callback(c, function)
  SET(MpiSend, on_send);
  SET(MpiIsend, on_isend);
  SET(MpiIsendComplete, on_request<kMpiIsendComplete>);
  SET(MpiIrecvRequest, on_request<kMpiIrecvRequest>);
  SET(MpiRecv, on_recv);
  SET(MpiIrecv, on_irecv);
  SET(MpiRequestTest, on_request<kMpiRequestTest>);
  SET(MpiRequestCancelled, on_request<kMpiRequestCancelled>);
  SET(MpiCollectiveBegin, on_begin<kMpiCollectiveBegin>);
  SET(MpiCollectiveEnd, on_collective);
  SET(NonBlockingCollectiveRequest, on_request<kMpiCollectiveRequest>);
  SET(NonBlockingCollectiveComplete, on_collective_complete);
  SET(CommCreate, on_object<kCommCreate>);
  SET(CommDestroy, on_object<kCommDestroy>);
  SET(RmaWinCreate, on_object<kRmaWinCreate>);
  SET(RmaWinDestroy, on_object<kRmaWinDestroy>);
  SET(RmaCollectiveBegin, on_begin<kRmaCollectiveBegin>);
  SET(RmaCollectiveEnd, on_rma_collective);
  SET(RmaGroupSync, on_group_sync);
  SET(RmaRequestLock, on_lock<kRmaRequestLock>);
  SET(RmaAcquireLock, on_lock<kRmaAcquireLock>);
  SET(RmaTryLock, on_lock<kRmaTryLock>);
  SET(RmaReleaseLock, on_release);
  SET(RmaSync, on_sync);
  SET(RmaWaitChange, on_object<kRmaWaitChange>);
  SET(RmaPut, on_put);
  SET(RmaGet, on_get);
  SET(RmaAtomic, on_atomic);
  SET(RmaOpCompleteBlocking, on_operation<kRmaOpCompleteBlocking>);
  SET(RmaOpCompleteNonBlocking, on_operation<kRmaOpCompleteNonBlocking>);
  SET(RmaOpTest, on_operation<kRmaOpTest>);
  SET(RmaOpCompleteRemote, on_operation<kRmaOpCompleteRemote>);
#undef SET
}

}  // namespace refrain::test
