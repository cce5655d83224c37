// The meaning of collective calls: operation, communicator, root and bytes (collective_amounts.h).
//
// Place in the flow: ARCHITECTURE.md, stage 2. A collective over all processes of the job is an
// anchor: a moment of the run that all of them share, counted when it is complete, or, of
// the non-blocking ones, when it begins (that all do in the same order).
// Thread-safety: objects live on one thread's stack.
#pragma once

#include "tracer/mpi/collective_amounts.h"
#include "tracer/mpi/message_records.h"

namespace refrain::mpi {

class Collective {
 public:
  explicit Collective(Call& call) noexcept : call_(call) {}
  template <typename Find>
  void after(int result, Find amounts) noexcept {
    if (result == MPI_SUCCESS && call_ && call_.comm()->known()) record(amounts());
  }

 private:
  __attribute__((hot)) void record(const Amounts& amounts) noexcept;
  Call& call_;
};

class Icollective {
 public:
  Icollective(Call& call, const MPI_Request* request) noexcept
      : call_(call), request_(request) {}
  template <typename Find>
  void after(int result, Find amounts) noexcept {
    if (result == MPI_SUCCESS && call_)
      keep(call_.comm()->known() ? amounts() : Amounts{}, false);
  }

 protected:
  void keep(const Amounts& amounts, bool persistent) noexcept;
  Call& call_;
  const MPI_Request* request_;
};

class CollectiveInit : Icollective {
 public:
  using Icollective::Icollective;
  template <typename Find>
  void after(int result, Find amounts) noexcept {
    if (result == MPI_SUCCESS && call_)
      keep(call_.comm()->known() ? amounts() : Amounts{}, true);
  }
};

}  // namespace refrain::mpi
