#include "writer/interpret/event_sink.h"

#include "spool/file_format.h"
#include "spool/mpi_format.h"

namespace refrain::writer {

EventSink::EventSink(OTF2_EvtWriter* writer, const std::vector<regions::RegionDef>& regions)
    : writer_(writer), attributes_(OTF2_AttributeList_New()), regions_(regions) {
  if (attributes_ == nullptr) error_ = OTF2_ERROR_MEM_ALLOC_FAILED;
}

EventSink::~EventSink() {
  if (attributes_ != nullptr) OTF2_AttributeList_Delete(attributes_);
}

bool EventSink::skips(std::uint32_t region) noexcept {
  if (!ok() || region >= regions_.size()) return true;
  if (!regions_[region].filtered) return false;
  ++filtered_;
  return true;
}

// Before an enter or leave at the time last_. `counted`: the values are of that time.
void EventSink::put_metric(bool counted) {
  if (metric_values_.empty()) return;
  if (counted && ok()) {
    std::vector<OTF2_Type> types(metric_values_.size(), OTF2_TYPE_UINT64);
    std::vector<OTF2_MetricValue> values(metric_values_.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i].unsigned_int = metric_values_[i];
    check(OTF2_EvtWriter_Metric(writer_, nullptr, last_, metric_,
                                static_cast<std::uint8_t>(values.size()), types.data(),
                                values.data()));
  }
  metric_values_.clear();
}

void EventSink::enter(std::uint64_t ticks, std::uint32_t region, std::uint32_t place) {
  if (skips(region)) return metric_values_.clear();
  ticks = at_edge(ticks);
  if (place != regions::kNoRegion)
    check(OTF2_AttributeList_AddSourceCodeLocationRef(attributes_, kCallSiteAttribute,
                                                      place));
  check(OTF2_EvtWriter_Enter(writer_, attributes_, ticks, region));
  if (place != regions::kNoRegion)
    check(OTF2_AttributeList_RemoveAllAttributes(attributes_));
}

void EventSink::leave(std::uint64_t ticks, std::uint32_t region) {
  if (skips(region)) return metric_values_.clear();
  ticks = at_edge(ticks);
  check(OTF2_EvtWriter_Leave(writer_, nullptr, ticks, region));
}

void EventSink::enter_iteration(std::uint64_t ticks, std::uint32_t region,
                                std::uint64_t number, std::uint8_t kept, bool complete) {
  if (!ok() || region >= regions_.size()) return;
  ticks = at_edge(ticks);
  // Nearly all iterations of a long run are skipped; leaving it out of these keeps a mark
  // at 30 bytes.
  if (kept != 0) check(OTF2_AttributeList_AddUint8(attributes_, kWrittenAttribute, kept));
  if (!complete) check(OTF2_AttributeList_AddUint8(attributes_, kCompleteAttribute, 0));
  check(OTF2_EvtWriter_Enter(writer_, attributes_, ticks, region));
  check(OTF2_AttributeList_RemoveAllAttributes(attributes_));
  if (!ok()) return;  // libotf2 does not survive a write after one that failed
  check(OTF2_EvtWriter_ParameterInt(writer_, nullptr, ticks, kIterationParameter,
                                    static_cast<std::int64_t>(number)));
}

void EventSink::on_off(std::uint64_t ticks, bool on) {
  if (!ok()) return;
  const OTF2_MeasurementMode mode = on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF;
  check(OTF2_EvtWriter_MeasurementOnOff(writer_, nullptr, at(ticks), mode));
}

void EventSink::edge(std::uint64_t ticks, bool on) {
  if (!ok()) return;
  const OTF2_MeasurementMode mode = on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF;
  check(OTF2_AttributeList_AddUint8(attributes_, kEdgeAttribute, 1));
  check(OTF2_EvtWriter_MeasurementOnOff(writer_, attributes_, at(ticks), mode));
  check(OTF2_AttributeList_RemoveAllAttributes(attributes_));
}

void EventSink::fork(std::uint64_t ticks, std::uint32_t requested) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ThreadFork(writer_, nullptr, at(ticks), OTF2_PARADIGM_OPENMP,
                                  requested));
}

void EventSink::join(std::uint64_t ticks) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ThreadJoin(writer_, nullptr, at(ticks), OTF2_PARADIGM_OPENMP));
}

void EventSink::team_begin(std::uint64_t ticks, std::uint32_t comm) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ThreadTeamBegin(writer_, nullptr, at(ticks), comm));
}

void EventSink::team_end(std::uint64_t ticks, std::uint32_t comm) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ThreadTeamEnd(writer_, nullptr, at(ticks), comm));
}

void EventSink::task_create(std::uint64_t ticks, std::uint32_t comm, std::uint32_t creator,
                            std::uint32_t number) {
  if (!ok()) return;
  check(
      OTF2_EvtWriter_ThreadTaskCreate(writer_, nullptr, at(ticks), comm, creator, number));
}

void EventSink::task_switch(std::uint64_t ticks, std::uint32_t comm, std::uint32_t creator,
                            std::uint32_t number) {
  if (!ok() || (number == 0 && !in_task_)) return;
  in_task_ = number != 0;
  check(
      OTF2_EvtWriter_ThreadTaskSwitch(writer_, nullptr, at(ticks), comm, creator, number));
}

void EventSink::task_complete(std::uint64_t ticks, std::uint32_t comm,
                              std::uint32_t creator, std::uint32_t number) {
  if (!ok()) return;
  in_task_ = false;
  check(OTF2_EvtWriter_ThreadTaskComplete(writer_, nullptr, at(ticks), comm, creator,
                                          number));
}

void EventSink::acquire_lock(std::uint64_t ticks, std::uint32_t lock, std::uint32_t order) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ThreadAcquireLock(writer_, nullptr, at(ticks), OTF2_PARADIGM_OPENMP,
                                         lock, order));
}

void EventSink::release_lock(std::uint64_t ticks, std::uint32_t lock, std::uint32_t order) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ThreadReleaseLock(writer_, nullptr, at(ticks), OTF2_PARADIGM_OPENMP,
                                         lock, order));
}

void EventSink::parameter(std::uint64_t ticks, OTF2_ParameterRef parameter,
                          std::int64_t value) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ParameterInt(writer_, nullptr, at(ticks), parameter, value));
}

void EventSink::parameter_text(std::uint64_t ticks, OTF2_ParameterRef parameter,
                               OTF2_StringRef value) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ParameterString(writer_, nullptr, at(ticks), parameter, value));
}

void EventSink::program_begin(std::uint64_t ticks, OTF2_StringRef name,
                              const std::vector<OTF2_StringRef>& arguments) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ProgramBegin(writer_, nullptr, at(ticks), name,
                                    static_cast<std::uint32_t>(arguments.size()),
                                    arguments.data()));
}

void EventSink::program_end(std::uint64_t ticks) {
  if (!ok()) return;
  check(OTF2_EvtWriter_ProgramEnd(writer_, nullptr, at(ticks), OTF2_UNDEFINED_INT64));
}

std::uint64_t EventSink::count() const {
  std::uint64_t count = 0;
  if (writer_ != nullptr) OTF2_EvtWriter_GetNumberOfEvents(writer_, &count);
  return count;
}

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
  if (!ok() || drops(region)) return;
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

namespace {

OTF2_IoAccessMode access_of(std::uint16_t flags) noexcept {
  const bool reads = (flags & spool::kFileReadable) != 0;
  if ((flags & spool::kFileWritable) == 0) return OTF2_IO_ACCESS_MODE_READ_ONLY;
  return reads ? OTF2_IO_ACCESS_MODE_READ_WRITE : OTF2_IO_ACCESS_MODE_WRITE_ONLY;
}

struct FlagPair {
  std::uint16_t own;
  std::uint32_t otf2;
};

template <std::size_t count>
std::uint32_t translated(std::uint16_t flags, const FlagPair (&pairs)[count]) noexcept {
  std::uint32_t out = 0;
  for (const FlagPair& pair : pairs)
    if ((flags & pair.own) != 0) out |= pair.otf2;
  return out;
}

OTF2_IoCreationFlag creation_of(std::uint16_t flags) noexcept {
  constexpr FlagPair kPairs[] = {
      {spool::kFileCreate, OTF2_IO_CREATION_FLAG_CREATE},
      {spool::kFileTruncate, OTF2_IO_CREATION_FLAG_TRUNCATE},
      {spool::kFileExclusive, OTF2_IO_CREATION_FLAG_EXCLUSIVE},
  };
  return translated(flags, kPairs);
}

OTF2_IoStatusFlag status_of(std::uint16_t flags) noexcept {
  constexpr FlagPair kPairs[] = {
      {spool::kFileCloseOnExec, OTF2_IO_STATUS_FLAG_CLOSE_ON_EXEC},
      {spool::kFileAppend, OTF2_IO_STATUS_FLAG_APPEND},
      {spool::kFileNonBlocking, OTF2_IO_STATUS_FLAG_NON_BLOCKING},
      {spool::kFileSync, OTF2_IO_STATUS_FLAG_SYNC},
      {spool::kFileDataSync, OTF2_IO_STATUS_FLAG_DATA_SYNC},
  };
  return translated(flags, kPairs);
}

OTF2_IoOperationMode mode_of(spool::FileAct act) noexcept {
  switch (act) {
    case spool::FileAct::kRead:
      return OTF2_IO_OPERATION_MODE_READ;
    case spool::FileAct::kWrite:
      return OTF2_IO_OPERATION_MODE_WRITE;
    default:
      return OTF2_IO_OPERATION_MODE_FLUSH;
  }
}

bool is_operation(const FileCall& call) noexcept {
  return call.row().act != spool::FileAct::kOpen &&
         call.row().act != spool::FileAct::kClose;
}

// Calls of several threads on one handle have numbers of their own.
std::uint64_t matching_id(std::uint32_t location, std::size_t call) noexcept {
  return std::uint64_t{location} << 40 | call;
}

}  // namespace

OTF2_IoHandleRef EventSink::handle_of(std::uint32_t region,
                                      const FileCall& call) const noexcept {
  if (!ok() || files_ == nullptr || drops(region)) return OTF2_UNDEFINED_IO_HANDLE;
  const std::uint32_t handle = files_->of(call);
  if (handle == kNoHandle ||
      (!is_operation(call) && !files_->writes(location_, file_calls_)))
    return OTF2_UNDEFINED_IO_HANDLE;
  return first_handle_ + handle;
}

void EventSink::begin_file_call(std::uint64_t ticks, std::uint32_t region,
                                const FileCall& call) {
  if (drops(region)) return;
  if (file_moments_ != nullptr && !call.counts_at_end())
    return file_moments_->push_back({ticks, call});
  const OTF2_IoHandleRef handle = handle_of(region, call);
  if (handle == OTF2_UNDEFINED_IO_HANDLE || call.counts_at_end()) return;
  check(is_operation(call)
            ? OTF2_EvtWriter_IoOperationBegin(writer_, nullptr, at(ticks), handle,
                                              mode_of(call.row().act),
                                              OTF2_IO_OPERATION_FLAG_NONE, call.bytes,
                                              matching_id(location_, file_calls_))
            : OTF2_EvtWriter_IoDestroyHandle(writer_, nullptr, at(ticks), handle));
}

void EventSink::end_file_call(std::uint64_t ticks, std::uint32_t region,
                              const FileCall& call) {
  if (drops(region)) return;
  if (file_moments_ != nullptr && call.counts_at_end())
    return file_moments_->push_back({ticks, call});
  const OTF2_IoHandleRef handle = handle_of(region, call);
  const std::size_t number = file_calls_++;
  if (handle == OTF2_UNDEFINED_IO_HANDLE) return;
  if (is_operation(call))
    check(OTF2_EvtWriter_IoOperationComplete(writer_, nullptr, at(ticks), handle,
                                             call.bytes, matching_id(location_, number)));
  else if (call.counts_at_end())
    check(OTF2_EvtWriter_IoCreateHandle(
        writer_, nullptr, at(ticks), handle, access_of(call.descriptor.flags),
        creation_of(call.descriptor.flags), status_of(call.descriptor.flags)));
}

bool EventSink::takes_thread(std::uint32_t region, const ThreadLink& link) {
  if (drops(region)) return false;
  if (thread_links_ != nullptr) thread_links_->push_back(link);
  return ok() && threads_ != nullptr && threads_->writes(link);
}

void EventSink::thread_create(std::uint64_t ticks, std::uint32_t region,
                              const ThreadLink& link) {
  if (takes_thread(region, link))
    check(
        OTF2_EvtWriter_ThreadCreate(writer_, nullptr, at(ticks), contingent_, link.thread));
}

void EventSink::thread_begin(std::uint64_t ticks, std::uint32_t region,
                             const ThreadLink& link) {
  if (takes_thread(region, link))
    check(
        OTF2_EvtWriter_ThreadBegin(writer_, nullptr, at(ticks), contingent_, link.thread));
}

void EventSink::thread_wait(std::uint64_t ticks, std::uint32_t region,
                            const ThreadLink& link) {
  if (takes_thread(region, link))
    check(OTF2_EvtWriter_ThreadWait(writer_, nullptr, at(ticks), contingent_, link.thread));
}

void EventSink::thread_end(std::uint64_t ticks, std::uint32_t region,
                           const ThreadLink& link) {
  if (!ok() || drops(region) || threads_ == nullptr || !threads_->writes(link)) return;
  check(OTF2_EvtWriter_ThreadEnd(
      writer_, nullptr, at(ticks), contingent_,
      threads_->is_waited_for(link.thread) ? link.thread : OTF2_UNDEFINED_UINT64));
}

void EventSink::polls(std::uint64_t ticks, std::uint64_t number, std::uint32_t region) {
  if (!ok() || drops(region)) return;
  check(OTF2_EvtWriter_ParameterUnsignedInt(writer_, nullptr, at(ticks), kPollsParameter,
                                            number));
}

void EventSink::bytes_moved(std::uint64_t ticks, std::uint64_t bytes,
                            std::uint32_t region) {
  if (!ok() || drops(region)) return;
  check(OTF2_EvtWriter_ParameterUnsignedInt(writer_, nullptr, at(ticks), kBytesParameter,
                                            bytes));
}

}  // namespace refrain::writer
