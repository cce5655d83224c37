// Makes an archive of a given size, to see how what reads archives grows: sized_archive SHAPE ARCHIVE N [M].
//
//   ranks N M   N ranks that each enter M regions in 20 loops (or M, if those are fewer) with one iteration each, send a message
//               to the next rank, and meet in a barrier
//   halo N M    N ranks that M times work, exchange messages with both neighbours (MPI_Irecv, MPI_Isend, MPI_Waitall) and meet in
//               MPI_Allreduce: most of them wait in both
//   paths N     one rank that enters N regions one after the other
//   deep N      one rank that calls itself N times
//   open N      one rank with N enters that are not left, and as many leaves of a region that was not entered
//   bare N      N ranks with one region, without files of local definitions
// The archive says that it is Refrain's, so that `refrain info` reads it.
#include <otf2/otf2.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

void check(OTF2_ErrorCode code) {
  if (code == OTF2_SUCCESS) return;
  std::fprintf(stderr, "sized_archive: %s\n", OTF2_Error_GetDescription(code));
  std::exit(1);
}

OTF2_FlushType pre_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
OTF2_TimeStamp post_flush(void*, OTF2_FileType, OTF2_LocationRef) { return 0; }
constexpr OTF2_FlushCallbacks kFlush = {pre_flush, post_flush};

constexpr std::uint32_t kMaxLoops = 20;
constexpr OTF2_AttributeRef kWritten = 0;
constexpr std::uint64_t kStart = 1000;
constexpr std::uint32_t kManyRanks = 20'000;  // more have no files of local definitions

class Archive {
 public:
  // `many`: the group of all needs a larger chunk of definitions.
  Archive(const char* folder, bool many)
      : archive_(OTF2_Archive_Open(
            folder, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
            many ? OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT : OTF2_CHUNK_SIZE_MIN,
            OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE)) {
    if (archive_ == nullptr) std::exit(1);
    check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
    check(OTF2_Archive_SetFlushCallbacks(archive_, &kFlush, nullptr));
    check(OTF2_Archive_SetCreator(archive_, "sized_archive"));
    for (const char* name : {"VERSION", "MESSAGES", "EVENTS_SEEN", "EVENTS_WRITTEN"})
      check(OTF2_Archive_SetProperty(archive_, (std::string("REFRAIN::") + name).c_str(),
                                     "1", true));
    check(OTF2_Archive_OpenEvtFiles(archive_));
  }

  std::uint32_t region(const std::string& name, OTF2_RegionRole role,
                       OTF2_Paradigm paradigm = OTF2_PARADIGM_USER) {
    regions_.push_back({name, role, paradigm});
    return static_cast<std::uint32_t>(regions_.size() - 1);
  }
  std::uint32_t function(const std::string& name) {
    return region(name, OTF2_REGION_ROLE_FUNCTION);
  }

  // A location and its process.
  void begin() { writer_ = OTF2_Archive_GetEvtWriter(archive_, events_.size()); }
  void enter(std::uint64_t time, std::uint32_t region) {
    check(OTF2_EvtWriter_Enter(writer_, nullptr, at(time), region));
  }
  void leave(std::uint64_t time, std::uint32_t region) {
    check(OTF2_EvtWriter_Leave(writer_, nullptr, at(time), region));
  }
  void iteration(std::uint64_t time, std::uint32_t loop) {
    OTF2_AttributeList* const list = OTF2_AttributeList_New();
    check(OTF2_AttributeList_AddUint32(list, kWritten, 1));
    check(OTF2_EvtWriter_Enter(writer_, list, at(time), loop));
    OTF2_AttributeList_Delete(list);
  }
  void send(std::uint64_t time, std::uint32_t to) {
    check(OTF2_EvtWriter_MpiSend(writer_, nullptr, at(time), to, 0, 0, 8));
  }
  void receive(std::uint64_t time, std::uint32_t from) {
    check(OTF2_EvtWriter_MpiRecv(writer_, nullptr, at(time), from, 0, 0, 8));
  }
  void start_send(std::uint64_t time, std::uint32_t to, std::uint32_t tag,
                  std::uint64_t request) {
    check(OTF2_EvtWriter_MpiIsend(writer_, nullptr, at(time), to, 0, tag, 8, request));
  }
  void sent(std::uint64_t time, std::uint64_t request) {
    check(OTF2_EvtWriter_MpiIsendComplete(writer_, nullptr, at(time), request));
  }
  void start_receive(std::uint64_t time, std::uint64_t request) {
    check(OTF2_EvtWriter_MpiIrecvRequest(writer_, nullptr, at(time), request));
  }
  void received(std::uint64_t time, std::uint32_t from, std::uint32_t tag,
                std::uint64_t request) {
    check(OTF2_EvtWriter_MpiIrecv(writer_, nullptr, at(time), from, 0, tag, 8, request));
  }
  void together(std::uint64_t begin, std::uint64_t end, OTF2_CollectiveOp operation) {
    check(OTF2_EvtWriter_MpiCollectiveBegin(writer_, nullptr, at(begin)));
    check(OTF2_EvtWriter_MpiCollectiveEnd(writer_, nullptr, at(end), operation, 0,
                                          OTF2_UNDEFINED_UINT32, 0, 0));
  }
  void end() {
    events_.emplace_back();
    check(OTF2_EvtWriter_GetNumberOfEvents(writer_, &events_.back()));
    check(OTF2_Archive_CloseEvtWriter(archive_, writer_));
  }

  void finish(bool local_definitions) {
    check(OTF2_Archive_CloseEvtFiles(archive_));
    if (local_definitions) write_local_definitions();
    definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_);
    write_definitions();
    check(OTF2_Archive_CloseGlobalDefWriter(archive_, definitions_));
    check(OTF2_Archive_Close(archive_));
  }

 private:
  struct Region {
    std::string name;
    OTF2_RegionRole role;
    OTF2_Paradigm paradigm;
  };

  std::uint64_t at(std::uint64_t time) {
    last_ = std::max(last_, time);
    return time;
  }
  std::uint32_t text(const std::string& text) {
    check(OTF2_GlobalDefWriter_WriteString(definitions_, texts_, text.c_str()));
    return texts_++;
  }

  void write_local_definitions() {
    check(OTF2_Archive_OpenDefFiles(archive_));
    for (std::uint64_t i = 0; i < events_.size(); ++i) {
      OTF2_DefWriter* const local = OTF2_Archive_GetDefWriter(archive_, i);
      check(OTF2_DefWriter_WriteClockOffset(local, 0, 0, 0.0));
      check(OTF2_Archive_CloseDefWriter(archive_, local));
    }
    check(OTF2_Archive_CloseDefFiles(archive_));
  }

  void write_definitions() {
    const std::uint32_t none = text(""), machine = text("machine");
    check(OTF2_GlobalDefWriter_WriteClockProperties(definitions_, 1'000'000'000, kStart,
                                                    last_ - kStart, 0));
    check(OTF2_GlobalDefWriter_WriteAttribute(definitions_, kWritten, text("written"), none,
                                              OTF2_TYPE_UINT32));
    check(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, 0, machine, machine,
                                                   OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    const std::uint32_t primary = text("REFRAIN::PRIMARY"), thread = text("thread 0");
    std::vector<std::uint64_t> ranks;
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      ranks.push_back(i);
      check(OTF2_GlobalDefWriter_WriteLocationGroup(
          definitions_, i, text("rank " + std::to_string(i)),
          OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP));
      check(OTF2_GlobalDefWriter_WriteLocation(
          definitions_, i, thread, OTF2_LOCATION_TYPE_CPU_THREAD, events_[i], i));
      OTF2_AttributeValue yes{};
      yes.uint64 = 1;
      check(OTF2_GlobalDefWriter_WriteLocationProperty(definitions_, i, primary,
                                                       OTF2_TYPE_UINT64, yes));
    }
    for (std::uint32_t i = 0; i < regions_.size(); ++i) {
      const std::uint32_t name = text(regions_[i].name);
      const bool loop = regions_[i].role == OTF2_REGION_ROLE_LOOP;
      check(OTF2_GlobalDefWriter_WriteRegion(
          definitions_, i, name, name, none, regions_[i].role, regions_[i].paradigm,
          loop ? OTF2_REGION_FLAG_PHASE : OTF2_REGION_FLAG_NONE, none, 0, 0));
    }
    const auto count = static_cast<std::uint32_t>(ranks.size());
    check(OTF2_GlobalDefWriter_WriteGroup(definitions_, 0, none,
                                          OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                          OTF2_GROUP_FLAG_NONE, count, ranks.data()));
    check(OTF2_GlobalDefWriter_WriteGroup(definitions_, 1, none, OTF2_GROUP_TYPE_COMM_GROUP,
                                          OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, count,
                                          ranks.data()));
    check(OTF2_GlobalDefWriter_WriteComm(definitions_, 0, text("world"), 1,
                                         OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
  }

  OTF2_Archive* archive_;
  OTF2_EvtWriter* writer_ = nullptr;
  OTF2_GlobalDefWriter* definitions_ = nullptr;
  std::vector<Region> regions_;
  std::vector<std::uint64_t> events_;  // by location
  std::uint64_t last_ = kStart;
  std::uint32_t texts_ = 0;
};

void write_ranks(Archive& archive, std::uint32_t ranks, std::uint32_t count) {
  const std::uint32_t top = archive.function("main");
  const auto mpi = [&](const char* name, OTF2_RegionRole role) {
    return archive.region(name, role, OTF2_PARADIGM_MPI);
  };
  const std::uint32_t send = mpi("MPI_Send", OTF2_REGION_ROLE_POINT2POINT),
                      receive = mpi("MPI_Recv", OTF2_REGION_ROLE_POINT2POINT),
                      barrier = mpi("MPI_Barrier", OTF2_REGION_ROLE_BARRIER);
  const std::uint32_t loop_count = std::min(count, kMaxLoops);
  std::vector<std::uint32_t> loops, regions;
  for (std::uint32_t i = 0; i < loop_count; ++i)
    loops.push_back(archive.region(
        "loop " + std::to_string(i + 1) + " @ main program.c:" + std::to_string(10 * i),
        OTF2_REGION_ROLE_LOOP));
  for (std::uint32_t i = 0; i < count; ++i)
    regions.push_back(archive.function("function_" + std::to_string(i)));
  const std::uint64_t all_work = 20 * std::uint64_t{count} + ranks + 100;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    archive.begin();
    std::uint64_t time = kStart + rank;  // later ones make the others wait
    archive.enter(time, top);
    for (std::uint32_t i = 0, loop = 0; i < count; ++loop) {
      archive.iteration(++time, loops[loop]);
      for (const std::uint64_t until = std::uint64_t{count} * (loop + 1) / loop_count;
           i < until; ++i) {
        archive.enter(++time, regions[i]);
        archive.leave(time += 10, regions[i]);
      }
      archive.leave(++time, loops[loop]);
    }
    archive.enter(++time, send);
    archive.send(++time, (rank + 1) % ranks);
    archive.leave(++time, send);
    archive.enter(++time, receive);
    archive.receive(kStart + all_work, (rank + ranks - 1) % ranks);
    archive.leave(kStart + all_work + 1, receive);
    archive.enter(kStart + all_work + 2, barrier);
    archive.together(kStart + all_work + 3, kStart + all_work + 9,
                     OTF2_COLLECTIVE_OP_BARRIER);
    archive.leave(kStart + all_work + 10, barrier);
    archive.leave(kStart + all_work + 11, top);
    archive.end();
  }
}

// When a rank begins an iteration's exchange, and has ended it and the operation of all. Work is drawn.
struct Exchange {
  std::uint64_t begin = 0, received = 0, together = 0;
};
constexpr std::uint64_t kCall = 200, kTransfer = 1000;

std::vector<Exchange> exchanges_of(std::uint32_t ranks, std::uint32_t count) {
  std::vector<Exchange> all(std::size_t{ranks} * count);
  std::mt19937 random(1);
  std::vector<std::uint64_t> now(ranks, kStart + 10);
  for (std::uint32_t i = 0; i < count; ++i) {
    Exchange* const these = all.data() + std::size_t{ranks} * i;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      these[rank].begin = now[rank] + 10'000 + random() % 10'000;
    std::uint64_t last = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const std::uint64_t sent = std::max(these[(rank + 1) % ranks].begin,
                                          these[(rank + ranks - 1) % ranks].begin);
      these[rank].received =
          std::max(these[rank].begin + 5 * kCall, sent + 4 * kCall + kTransfer);
      last = std::max(last, these[rank].received + kCall);
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      now[rank] = these[rank].together = last + kTransfer + random() % kCall;
  }
  return all;
}

void write_halo(Archive& archive, std::uint32_t ranks, std::uint32_t count) {
  const std::vector<Exchange> exchanges = exchanges_of(ranks, count);
  const std::uint32_t top = archive.function("main");
  const auto mpi = [&](const char* name, OTF2_RegionRole role) {
    return archive.region(name, role, OTF2_PARADIGM_MPI);
  };
  const std::uint32_t receive = mpi("MPI_Irecv", OTF2_REGION_ROLE_POINT2POINT),
                      send = mpi("MPI_Isend", OTF2_REGION_ROLE_POINT2POINT),
                      wait = mpi("MPI_Waitall", OTF2_REGION_ROLE_POINT2POINT),
                      together = mpi("MPI_Allreduce", OTF2_REGION_ROLE_COLL_ALL2ALL);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t sides[] = {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
    archive.begin();
    archive.enter(kStart + rank, top);
    std::uint64_t time = 0, request = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Exchange& here = exchanges[std::size_t{ranks} * i + rank];
      time = here.begin;
      const auto call = [&](std::uint32_t region, const auto& inside) {
        archive.enter(time, region);
        inside(time + kCall / 2);
        archive.leave(time += kCall, region);
      };
      for (std::uint32_t side = 0; side < 2; ++side)
        call(receive, [&](std::uint64_t at) { archive.start_receive(at, request + side); });
      for (std::uint32_t side = 0; side < 2; ++side)
        call(send, [&](std::uint64_t at) {
          archive.start_send(at, sides[side], side, request + 2 + side);
        });
      archive.enter(time, wait);
      for (std::uint32_t side = 0; side < 2; ++side)
        archive.received(here.received - 1, sides[side], 1 - side, request + side);
      for (std::uint32_t side = 0; side < 2; ++side)
        archive.sent(here.received - 1, request + 2 + side);
      archive.leave(here.received, wait);
      archive.enter(here.received + kCall, together);
      archive.together(here.received + kCall, here.together, OTF2_COLLECTIVE_OP_ALLREDUCE);
      archive.leave(here.together, together);
      time = here.together;
      request += 4;
    }
    archive.leave(time + 10, top);
    archive.end();
  }
}

void write_paths(Archive& archive, std::uint32_t count) {
  archive.begin();
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t region = archive.function("function_" + std::to_string(i));
    archive.enter(kStart + 10 * std::uint64_t{i}, region);
    archive.leave(kStart + 10 * std::uint64_t{i} + 9, region);
  }
  archive.end();
}

// `left`: as often as it is entered; else as many leaves are of another region.
void write_deep(Archive& archive, std::uint32_t count, bool left) {
  const std::uint32_t region = archive.function("recursive"),
                      other = archive.function("other");
  archive.begin();
  for (std::uint32_t i = 0; i < count; ++i) archive.enter(kStart + i, region);
  for (std::uint32_t i = 0; i < count; ++i)
    archive.leave(kStart + count + i, left ? region : other);
  archive.end();
}

void write_bare(Archive& archive, std::uint32_t ranks) {
  const std::uint32_t top = archive.function("main");
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    archive.begin();
    archive.enter(kStart, top);
    archive.leave(kStart + 10 + rank, top);
    archive.end();
  }
}

std::uint32_t number(const char* text) {
  std::uint32_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string shape = count > 1 ? arguments[1] : "";
  const std::uint32_t n = count > 3 ? number(arguments[3]) : 0,
                      m = count > 4 ? number(arguments[4]) : 0;
  const bool known = ((shape == "ranks" || shape == "halo") && m != 0) ||
                     shape == "paths" || shape == "deep" || shape == "open" ||
                     shape == "bare";
  if (!known || n == 0) {
    std::fprintf(stderr, "sized_archive ranks|halo|paths|deep|open|bare ARCHIVE N [M]\n");
    return 2;
  }
  const bool many = n > kManyRanks;
  Archive archive(arguments[2], many);
  if (shape == "ranks") write_ranks(archive, n, m);
  if (shape == "halo") write_halo(archive, n, m);
  if (shape == "paths") write_paths(archive, n);
  if (shape == "deep" || shape == "open") write_deep(archive, n, shape == "deep");
  if (shape == "bare") write_bare(archive, n);
  archive.finish(shape != "bare" && !many);
  return 0;
}
