#include "base/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace refrain::base {
namespace {

Failure exists(const std::string& path) {
  return {"'" + path + "' exists; --overwrite replaces it"};
}

bool is_stream(const std::string& path) {
  struct stat there {};
  return stat(path.c_str(), &there) == 0 &&
         (S_ISFIFO(there.st_mode) || S_ISCHR(there.st_mode));
}

// Names of files that are not complete, for the end by a signal: few at a time.
std::array<std::atomic<const char*>, 16>& unfinished() {
  static std::array<std::atomic<const char*>, 16> names;
  return names;
}

void replace_unfinished(const char* from, const char* to) {
  for (std::atomic<const char*>& name : unfinished())
    if (const char* was = from; name.compare_exchange_strong(was, to)) return;
}

}  // namespace

void remove_unfinished_files() noexcept {
  for (const std::atomic<const char*>& name : unfinished())
    if (const char* const file = name.load()) unlink(file);
}

Result<> may_place(const std::string& path, Existing existing, Streams streams) {
  struct stat there {};
  if (lstat(path.c_str(), &there) != 0) return {};
  if (streams == Streams::kWritten && is_stream(path)) return {};
  if (!S_ISREG(there.st_mode))
    return Failure{"'" + path + "' is not a regular file; it is not replaced"};
  if (existing == Existing::kKeep) return exists(path);
  return {};
}

NewFile::NewFile(std::string path, mode_t mode, Streams streams)
    : path_(std::move(path)), mode_(mode), streams_(streams) {}

NewFile::~NewFile() {
  close_file();
  if (!made_) return;
  unlink(aside_.c_str());
  replace_unfinished(aside_.c_str(), nullptr);
}

Result<> NewFile::open(Existing existing) {
  existing_ = existing;
  if (auto may = may_place(path_, existing, streams_); !may) return may;
  if (streams_ == Streams::kWritten && is_stream(path_)) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) return cannot_write(errno);
    return {};
  }
  static std::atomic<unsigned> count{0};
  // What a process with the same number has left is in the way of nobody.
  for (int tries = 0; tries < 100; ++tries) {
    aside_ = path_ + ".part-" + std::to_string(getpid()) + "-" +
             std::to_string(count.fetch_add(1));
    // Before it is there: a signal may come as soon as it is.
    replace_unfinished(nullptr, aside_.c_str());
    file_ =
        ::open(aside_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_);
    const int error = errno;
    made_ = file_ >= 0;
    if (made_) return {};
    replace_unfinished(aside_.c_str(), nullptr);
    if (error != EEXIST) return cannot_write(error);
  }
  return cannot_write(EEXIST);
}

void NewFile::write(std::string_view text) {
  constexpr std::size_t kBuffer = 64 << 10;
  if (buffer_.size() + text.size() > kBuffer) {
    write_out(buffer_);
    buffer_.clear();
  }
  if (text.size() > kBuffer)
    write_out(text);
  else
    buffer_.append(text);
}

void NewFile::write_out(std::string_view text) noexcept {
  while (!text.empty() && error_ == 0) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written >= 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      error_ = errno;
  }
}

void NewFile::close_file() noexcept {
  if (file_ >= 0 && close(file_) != 0 && error_ == 0) error_ = errno;
  file_ = -1;
}

Result<> NewFile::put_in_place() {
  write_out(buffer_);
  buffer_.clear();
  close_file();
  if (error_ != 0) return cannot_write(error_);
  if (!made_) return {};  // a stream
  if (auto may = may_place(path_, existing_); !may) return may;
  if (existing_ == Existing::kKeep) {
    if (link(aside_.c_str(), path_.c_str()) == 0) return {};
    if (errno == EEXIST) return exists(path_);
    // A file system without hard links.
  }
  if (std::rename(aside_.c_str(), path_.c_str()) != 0) return cannot_write(errno);
  replace_unfinished(aside_.c_str(), nullptr);
  made_ = false;
  return {};
}

Failure NewFile::cannot_write(int why) const {
  return {"cannot write '" + path_ + "': " + std::strerror(why)};
}

Result<> write_new_file(const std::string& path, std::string_view text, Existing existing,
                        mode_t mode) {
  NewFile file(path, mode);
  if (auto opened = file.open(existing); !opened) return opened;
  file.write(text);
  return file.put_in_place();
}

}  // namespace refrain::base
