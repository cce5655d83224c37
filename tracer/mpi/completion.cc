#include "tracer/mpi/completion.h"

#include <algorithm>

#pragma weak PMPI_Error_class

namespace refrain::mpi {
namespace {

// Some of the operations have failed: each status says which.
bool each_has_its_error(int result) noexcept {
  int error_class = MPI_SUCCESS;
  return result != MPI_SUCCESS && PMPI_Error_class(result, &error_class) == MPI_SUCCESS &&
         error_class == MPI_ERR_IN_STATUS;
}

}  // namespace

void Start::after(int result) noexcept {
  if (result != MPI_SUCCESS || !call_) return;
  for (int i = 0; i < count_; ++i) {
    Request* entry;
    {
      const TablesLock lock;
      entry = g_tables.requests.find(handle_of(requests_[i]), requests_ + i);
    }
    // No other thread may use a request while it is started.
    if (entry != nullptr && entry->persistent) begin(call_, *entry);
  }
}

void Test::record_unsuccessful() noexcept {
  std::uint32_t id = 0;
  {
    const TablesLock lock;
    const Request* entry = g_tables.requests.find(handle_of(handle_), place_);
    if (entry != nullptr && entry->active && entry->kind != RequestKind::kNothing)
      id = entry->id;
  }
  if (id != 0) call_.put_unsuccessful(id);
}

Several::Several(Call& call, int count, const MPI_Request* requests,
                 MPI_Status* statuses) noexcept
    : call_(call),
      count_(count),
      places_(requests),
      handles_(call ? count : 0),
      own_(call && statuses == MPI_STATUSES_IGNORE ? count : 0),
      statuses_(statuses) {
  if (!call) return;
  if (handles_.data() != nullptr && count > 0)
    std::copy_n(requests, count, handles_.data());
  // The program's MPI_STATUSES_IGNORE stays where there is no memory.
  if (statuses == MPI_STATUSES_IGNORE && own_.data() != nullptr) statuses_ = own_.data();
}

void Waitall::after(int result) noexcept {
  if (!usable() || statuses_ == MPI_STATUSES_IGNORE) return;
  if (result == MPI_SUCCESS) {
    for (int i = 0; i < count_; ++i) complete_one(i, statuses_[i]);
  } else if (each_has_its_error(result)) {
    for (int i = 0; i < count_; ++i) complete_one(i, statuses_[i], statuses_[i].MPI_ERROR);
  }
}

void Waitsome::after(int result) noexcept {
  if (!usable() || statuses_ == MPI_STATUSES_IGNORE || *done_ == MPI_UNDEFINED) return;
  const bool some_failed = each_has_its_error(result);
  if (result != MPI_SUCCESS && !some_failed) return;
  for (int i = 0; i < *done_; ++i)
    complete_one(indices_[i], statuses_[i],
                 some_failed ? statuses_[i].MPI_ERROR : MPI_SUCCESS);
}

Waitany::Waitany(Call& call, int count, const MPI_Request* requests, const int* index,
                 MPI_Status* status) noexcept
    : call_(call),
      status_(call, status),
      places_(requests),
      index_(index),
      count_(count),
      handles_(call ? count : 0) {
  if (call && handles_.data() != nullptr && count > 0)
    std::copy_n(requests, count, handles_.data());
}

void Waitany::after(int result) noexcept {
  if (!call_ || *index_ == MPI_UNDEFINED || handles_.data() == nullptr) return;
  if (result != MPI_SUCCESS) return failed(result);
  if (handles_[*index_] != MPI_REQUEST_NULL)
    complete(call_, handle_of(handles_[*index_]), places_ + *index_, *status_);
}

// Which of them has failed: not every MPI says so.
void Waitany::failed(int result) noexcept {
  const int index = *index_;
  if (index >= 0 && index < count_ && handles_[index] != MPI_REQUEST_NULL &&
      places_[index] == MPI_REQUEST_NULL)
    fail(handle_of(handles_[index]), places_ + index, *status_, result);
}

void Cancel::after(int result) noexcept {
  if (result != MPI_SUCCESS || !call_) return;
  const TablesLock lock;
  Request* entry = g_tables.requests.find(handle_of(*request_), request_);
  if (entry != nullptr) entry->cancelled = true;
}

void RequestFree::after(int result) noexcept {
  if (result != MPI_SUCCESS || !call_ || handle_ == MPI_REQUEST_NULL) return;
  Request freed;
  {
    const TablesLock lock;
    Request* entry = g_tables.requests.find(handle_of(handle_), place_);
    if (entry == nullptr) return;
    freed = *entry;
    g_tables.requests.remove(entry);
  }
  if (freed.kind == RequestKind::kReceive && freed.active)
    count_not_received(NotReceived::kFreed);
  drop_receive(freed);
}

}  // namespace refrain::mpi
