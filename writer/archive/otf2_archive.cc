#include "writer/archive/otf2_archive.h"

#include <otf2/OTF2_Pthread_Locks.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace refrain::writer {

// Error texts of libotf2 come by its callback, on the thread with the error; what failed
// here, by check().
struct Otf2Messages {
  std::mutex mutex;
  std::string first;
  std::string library;

  void add(OTF2_ErrorCode code, const char* what) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!first.empty()) return;
    first = std::string(what) + ": " +
            (library.empty() ? OTF2_Error_GetDescription(code) : library);
  }
  // libotf2 does not return every error that it has reported, such as those of a last
  // flush.
  void take_unreported() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (first.empty() && !library.empty()) first = "cannot write the archive: " + library;
  }
  void say(OTF2_ErrorCode code, const char* text) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!library.empty()) return;
    library = OTF2_Error_GetDescription(code);
    if (text[0] != '\0') library += std::string(" (") + text + ")";
  }
};

namespace {

extern "C" OTF2_ErrorCode refrain_otf2_error(void* user_data, const char* /*file*/,
                                             uint64_t /*line*/, const char* /*function*/,
                                             OTF2_ErrorCode code, const char* format,
                                             va_list arguments) {
  char text[256] = "";
  if (format != nullptr) std::vsnprintf(text, sizeof(text), format, arguments);
  if (user_data != nullptr) static_cast<Otf2Messages*>(user_data)->say(code, text);
  return code;
}

extern "C" OTF2_FlushType refrain_pre_flush(void*, OTF2_FileType, OTF2_LocationRef, void*,
                                            bool) {
  return OTF2_FLUSH;
}

// Chunks of one size, for one buffer of libotf2.
struct Chunks {
  std::vector<void*> all;
  std::size_t bytes = 0;
};

// Returning no memory makes libotf2 flush what it has.
extern "C" void* refrain_allocate(void* pool, OTF2_FileType type, OTF2_LocationRef,
                                  void** buffer_data, uint64_t bytes) {
  auto* chunks = static_cast<Chunks*>(*buffer_data);
  try {
    if (chunks == nullptr) *buffer_data = chunks = new Chunks;
    if (type == OTF2_FILETYPE_EVENTS && chunks->all.size() >= kChunksPerLocation)
      return nullptr;
    chunks->all.push_back(nullptr);
  } catch (...) {
    return nullptr;
  }
  void* chunk = static_cast<ChunkPool*>(pool)->take(bytes);
  if (chunk == nullptr) {
    chunks->all.pop_back();
  } else {
    chunks->all.back() = chunk;
    chunks->bytes = bytes;
  }
  return chunk;
}

extern "C" void refrain_free_all(void* pool, OTF2_FileType, OTF2_LocationRef,
                                 void** buffer_data, bool final) {
  auto* chunks = static_cast<Chunks*>(*buffer_data);
  if (chunks == nullptr) return;
  for (void* chunk : chunks->all)
    static_cast<ChunkPool*>(pool)->give_back(chunk, chunks->bytes);
  chunks->all.clear();
  if (!final) return;
  delete chunks;
  *buffer_data = nullptr;
}

// Without a post-flush callback libotf2 writes no record of a flush: the run is over, and
// readers would take one for time that the program lost.
constexpr OTF2_FlushCallbacks kFlush = {refrain_pre_flush, nullptr};
constexpr OTF2_MemoryCallbacks kMemory = {refrain_allocate, refrain_free_all};

}  // namespace

Otf2Archive::Otf2Archive(const std::string& folder, const std::string& machine,
                         std::uint64_t longest_definition)
    : messages_(std::make_unique<Otf2Messages>()) {
  const std::uint64_t definitions = longest_definition <= kShortDefinition
                                        ? OTF2_CHUNK_SIZE_MIN
                                        : OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT;
  previous_ = OTF2_Error_RegisterCallback(refrain_otf2_error, messages_.get());
  archive_ =
      OTF2_Archive_Open(folder.c_str(), "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
                        definitions, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (archive_ == nullptr) {
    check(OTF2_ERROR_FILE_CAN_NOT_OPEN, "cannot create the archive");
    return;
  }
  check(OTF2_Archive_SetFlushCallbacks(archive_, &kFlush, nullptr), "flush callbacks");
  check(OTF2_Archive_SetMemoryCallbacks(archive_, &kMemory, &chunks_), "memory callbacks");
  check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_), "collective callbacks");
  check(OTF2_Pthread_Archive_SetLockingCallbacks(archive_, nullptr), "locking callbacks");
  check(OTF2_Archive_SetCreator(archive_, "Refrain"), "creator");
  if (!machine.empty())
    check(OTF2_Archive_SetMachineName(archive_, machine.c_str()), "machine name");
}

void Otf2Archive::describe(const std::string& text) {
  check(OTF2_Archive_SetDescription(archive_, text.c_str()), "description");
}

Otf2Archive::~Otf2Archive() {
  close();
  OTF2_Error_RegisterCallback(previous_, nullptr);
}

std::string Otf2Archive::error() const {
  const std::lock_guard<std::mutex> lock(messages_->mutex);
  return messages_->first;
}

bool Otf2Archive::check(OTF2_ErrorCode code, const char* what) {
  if (code == OTF2_SUCCESS) return true;
  messages_->add(code, what);
  return false;
}

void Otf2Archive::close() {
  if (archive_ == nullptr) return;
  if (!error().empty()) {
    // After a write that failed (a full disk), libotf2 frees its buffers twice when it is
    // closed. The process is about to end, so open files are left to the kernel.
#if defined(__SANITIZE_ADDRESS__)
    __lsan_ignore_object(archive_);
#endif
    archive_ = nullptr;
    return;
  }
  const OTF2_ErrorCode code = OTF2_Archive_Close(archive_);
  archive_ = nullptr;
  check(code, "cannot close the archive");
  messages_->take_unreported();
}

namespace {

// All pages in one call. Kernels before 5.14 provide them one by one, as they are touched.
void touch(void* memory, std::size_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + page - 1) & ~(page - 1);
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) & ~(page - 1);
  if (begin < end)
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
#endif
}

}  // namespace

ChunkPool::~ChunkPool() {
  for (const Chunk& chunk : free_) std::free(chunk.memory);
}

void* ChunkPool::take(std::size_t bytes) noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto chunk = std::find_if(free_.rbegin(), free_.rend(),
                                    [&](const Chunk& c) { return c.bytes == bytes; });
    if (chunk != free_.rend()) {
      void* const memory = chunk->memory;
      *chunk = free_.back();
      free_.pop_back();
      return memory;
    }
  }
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) return nullptr;
  touch(memory, bytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  bytes_ += bytes;
  return memory;
}

void ChunkPool::give_back(void* chunk, std::size_t bytes) noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      free_.push_back({chunk, bytes});
      return;
    } catch (...) {
      bytes_ -= bytes;
    }
  }
  std::free(chunk);
}

std::size_t ChunkPool::bytes() const noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace refrain::writer
