// An OTF2 archive that is being written: opening, closing, and the callbacks that libotf2
// needs.
//
// Place in the flow: ARCHITECTURE.md, stage 5; archive_writer.cc fills it.
// Thread-safety: writers of different locations may be used at the same time; opening,
// closing and errors belong to one thread. libotf2 has one error callback a process: an
// Otf2Archive owns it during its lifetime, so that nothing is printed.
// Ownership: closes the archive when destroyed.
// Cost: at most kChunksPerLocation chunks of 256 KiB for each location being written, then
// they are flushed (libotf2 alone would keep 128 MiB for each); one of definitions at a
// time. These are the smallest chunks that OTF2 allows, because libotf2 touches all of
// each: with its defaults of 1 and 4 MiB, that is 5 MiB for every location that has written
// a few bytes.
#pragma once

#include <otf2/otf2.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace refrain::writer {

// --- Memory for libotf2's buffers, reused: a chunk that one location has written in goes to
// the next.
//
// Place in the flow: ARCHITECTURE.md, stage 5; otf2_archive.cc gives it to libotf2, which
// clears the rest of a buffer before writing it to its file. That touches every page,
// however few bytes there are, and a page touched before costs a tenth of a fresh one.
//
// Thread-safety: all. Ownership: owns the free chunks; a taken chunk belongs to its taker.
// Errors: null where there is no memory. Not for signal handlers.
// Cost: a lock and a pointer; for a fresh chunk, its pages at once.

class ChunkPool {
 public:
  ChunkPool() = default;
  ~ChunkPool();
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  // The contents are undefined.
  void* take(std::size_t bytes) noexcept;
  void give_back(void* chunk, std::size_t bytes) noexcept;

  // The most bytes that were taken at one time, or that wait here.
  std::size_t bytes() const noexcept;

 private:
  struct Chunk {
    void* memory;
    std::size_t bytes;
  };
  mutable std::mutex mutex_;
  std::vector<Chunk> free_;
  std::size_t bytes_ = 0;  // of all chunks, taken or free
};

inline constexpr std::size_t kChunksPerLocation = 16;
// A definition must fit into a chunk: up to this many bytes, it fits into the smallest one.
inline constexpr std::uint64_t kShortDefinition = 64 << 10;

struct Otf2Messages;

class Otf2Archive {
 public:
  // Creates <directory>/traces.*, which must not exist yet. error() reports success.
  // `longest_definition`: bytes, about; the same in all processes that write to one
  // archive.
  Otf2Archive(const std::string& folder, const std::string& machine,
              std::uint64_t longest_definition);
  ~Otf2Archive();
  Otf2Archive(const Otf2Archive&) = delete;
  Otf2Archive& operator=(const Otf2Archive&) = delete;

  OTF2_Archive* get() const noexcept { return archive_; }
  // The first thing that went wrong; empty if nothing did.
  std::string error() const;
  // Checks a result; true if it is a success.
  bool check(OTF2_ErrorCode code, const char* what);
  // The description of the trace in the anchor file.
  void describe(const std::string& text);
  // Afterwards everything is on disk, or error() says why not.
  void close();

 private:
  ChunkPool chunks_;
  std::unique_ptr<Otf2Messages> messages_;
  OTF2_ErrorCallback previous_ = nullptr;
  OTF2_Archive* archive_ = nullptr;
};

}  // namespace refrain::writer
