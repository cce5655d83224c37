// Makes small archives of MPI programs by hand, including faulty ones, for the tests of the
// checkers.
//
// Processes of one location each (process r: location r). Communicators: kWorld of all in
// order; kTwin of the same members; kBackwards of all in reverse order; kSelf of one.
// Thread-safety: none.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <string>
#include <vector>

#include "test/support/files.h"
#include "test/support/read_trace.h"

namespace refrain::test {

class MpiArchive {
 public:
  enum Comm : std::uint32_t { kWorld, kTwin, kBackwards, kSelf };

  explicit MpiArchive(int processes) : processes_(processes) {
    archive_ =
        OTF2_Archive_Open((folder_ / "").c_str(), "traces", OTF2_FILEMODE_WRITE, 1 << 20,
                          4 << 20, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    static OTF2_FlushCallbacks flush = {pre_flush, post_flush};
    OTF2_Archive_SetFlushCallbacks(archive_, &flush, nullptr);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive_);
    OTF2_Archive_OpenEvtFiles(archive_);
    for (int i = 0; i < processes; ++i)
      writers_.push_back(
          OTF2_Archive_GetEvtWriter(archive_, static_cast<OTF2_LocationRef>(i)));
  }

  // Ranks are those of the communicator.
  void send(int process, std::uint64_t time, int to, std::uint64_t bytes,
            std::uint32_t tag = 1, Comm comm = kWorld) {
    OTF2_EvtWriter_MpiSend(writers_[process], nullptr, time, to, comm, tag, bytes);
  }
  void recv(int process, std::uint64_t time, int from, std::uint64_t bytes,
            std::uint32_t tag = 1, Comm comm = kWorld) {
    OTF2_EvtWriter_MpiRecv(writers_[process], nullptr, time, from, comm, tag, bytes);
  }
  void isend(int process, std::uint64_t time, int to, std::uint64_t bytes,
             std::uint64_t request) {
    OTF2_EvtWriter_MpiIsend(writers_[process], nullptr, time, to, kWorld, 1, bytes,
                            request);
  }
  void isend_complete(int process, std::uint64_t time, std::uint64_t request) {
    OTF2_EvtWriter_MpiIsendComplete(writers_[process], nullptr, time, request);
  }
  void post(int process, std::uint64_t time, std::uint64_t request) {
    OTF2_EvtWriter_MpiIrecvRequest(writers_[process], nullptr, time, request);
  }
  void irecv(int process, std::uint64_t time, int from, std::uint64_t bytes,
             std::uint64_t request) {
    OTF2_EvtWriter_MpiIrecv(writers_[process], nullptr, time, from, kWorld, 1, bytes,
                            request);
  }
  void cancelled(int process, std::uint64_t time, std::uint64_t request) {
    OTF2_EvtWriter_MpiRequestCancelled(writers_[process], nullptr, time, request);
  }
  void tested(int process, std::uint64_t time, std::uint64_t request) {
    OTF2_EvtWriter_MpiRequestTest(writers_[process], nullptr, time, request);
  }
  void collective(int process, std::uint64_t begin, std::uint64_t end,
                  OTF2_CollectiveOp operation = OTF2_COLLECTIVE_OP_ALLREDUCE,
                  std::uint32_t root = OTF2_COLLECTIVE_ROOT_NONE, Comm comm = kWorld) {
    OTF2_EvtWriter_MpiCollectiveBegin(writers_[process], nullptr, begin);
    OTF2_EvtWriter_MpiCollectiveEnd(writers_[process], nullptr, end, operation, comm, root,
                                    8, 8);
  }
  void collective_request(int process, std::uint64_t time, std::uint64_t request) {
    OTF2_EvtWriter_NonBlockingCollectiveRequest(writers_[process], nullptr, time, request);
  }
  void collective_complete(int process, std::uint64_t time, std::uint64_t request,
                           OTF2_CollectiveOp operation) {
    OTF2_EvtWriter_NonBlockingCollectiveComplete(writers_[process], nullptr, time,
                                                 operation, kWorld,
                                                 OTF2_COLLECTIVE_ROOT_NONE, 8, 8, request);
  }
  OTF2_EvtWriter* writer(int process) { return writers_[process]; }

  // Ends writing, and reads what was written.
  Trace finish() {
    std::vector<std::uint64_t> counts(writers_.size());
    for (std::size_t i = 0; i < writers_.size(); ++i) {
      OTF2_EvtWriter_GetNumberOfEvents(writers_[i], &counts[i]);
      OTF2_Archive_CloseEvtWriter(archive_, writers_[i]);
    }
    OTF2_Archive_CloseEvtFiles(archive_);
    OTF2_Archive_OpenDefFiles(archive_);
    for (OTF2_LocationRef i = 0; i < writers_.size(); ++i)
      OTF2_Archive_CloseDefWriter(archive_, OTF2_Archive_GetDefWriter(archive_, i));
    OTF2_Archive_CloseDefFiles(archive_);
    OTF2_Archive_CloseMarkerWriter(archive_, OTF2_Archive_GetMarkerWriter(archive_));
    OTF2_GlobalDefWriter* writer = OTF2_Archive_GetGlobalDefWriter(archive_);
    write_processes(writer, counts);
    write_communicators(writer);
    OTF2_Archive_CloseGlobalDefWriter(archive_, writer);
    OTF2_Archive_Close(archive_);
    return read_trace(folder_.path());
  }

 private:
  static OTF2_FlushType pre_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
    return OTF2_FLUSH;
  }
  static OTF2_TimeStamp post_flush(void*, OTF2_FileType, OTF2_LocationRef) { return 0; }

  std::uint32_t string(OTF2_GlobalDefWriter* writer, const std::string& text) {
    OTF2_GlobalDefWriter_WriteString(writer, strings_, text.c_str());
    return strings_++;
  }

  void write_processes(OTF2_GlobalDefWriter* writer,
                       const std::vector<std::uint64_t>& counts) {
    OTF2_GlobalDefWriter_WriteClockProperties(writer, 1000000, 0, 10000,
                                              OTF2_UNDEFINED_TIMESTAMP);
    empty_ = string(writer, "");
    OTF2_GlobalDefWriter_WriteSystemTreeNode(writer, 0, empty_, empty_,
                                             OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (std::uint32_t i = 0; i < counts.size(); ++i) {
      const std::uint32_t name = string(writer, "rank " + std::to_string(i));
      OTF2_GlobalDefWriter_WriteLocationGroup(writer, i, name,
                                              OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                              OTF2_UNDEFINED_LOCATION_GROUP);
      OTF2_GlobalDefWriter_WriteLocation(writer, i, name, OTF2_LOCATION_TYPE_CPU_THREAD,
                                         counts[i], i);
    }
  }

  void write_communicators(OTF2_GlobalDefWriter* writer) {
    std::vector<std::uint64_t> forth, back;
    for (int i = 0; i < processes_; ++i) {
      forth.push_back(static_cast<std::uint64_t>(i));
      back.push_back(static_cast<std::uint64_t>(processes_ - 1 - i));
    }
    const auto group = [&](std::uint32_t self, OTF2_GroupType type,
                           const std::vector<std::uint64_t>& members) {
      OTF2_GlobalDefWriter_WriteGroup(
          writer, self, empty_, type, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
          static_cast<std::uint32_t>(members.size()), members.data());
    };
    group(0, OTF2_GROUP_TYPE_COMM_LOCATIONS, forth);
    group(1, OTF2_GROUP_TYPE_COMM_GROUP, forth);
    group(2, OTF2_GROUP_TYPE_COMM_GROUP, back);
    group(3, OTF2_GROUP_TYPE_COMM_SELF, {});
    const auto comm = [&](Comm self, const std::string& name, std::uint32_t members) {
      OTF2_GlobalDefWriter_WriteComm(writer, self, string(writer, name), members,
                                     OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    };
    comm(kWorld, "MPI_COMM_WORLD", 1);
    comm(kTwin, "twin", 1);
    comm(kBackwards, "backwards", 2);
    comm(kSelf, "MPI_COMM_SELF", 3);
  }

  TemporaryFolder folder_;
  const int processes_;
  OTF2_Archive* archive_;
  std::vector<OTF2_EvtWriter*> writers_;
  std::uint32_t strings_ = 0, empty_ = 0;
};

}  // namespace refrain::test
