#include "analysis/report/report_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace refrain::report {
namespace {

// Removed, unless it was moved to its place.
class NewFile {
 public:
  explicit NewFile(const std::string& path)
      : path_(path), beside_(path + ".part-" + std::to_string(getpid())) {}
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (file_ != nullptr) std::fclose(file_);
    if (made_) unlink(beside_.c_str());
  }

  bool open() {
    const int descriptor =
        ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) return false;
    made_ = true;
    file_ = fdopen(descriptor, "wb");
    return file_ != nullptr;
  }
  void write(std::string_view text) {
    if (text.empty()) return;
    good_ = good_ && std::fwrite(text.data(), 1, text.size(), file_) == text.size();
  }
  // Not in the place of another file, unless that is wanted.
  bool finish(bool replace) {
    std::FILE* const file = file_;
    file_ = nullptr;
    if (std::fclose(file) != 0 || !good_) return false;
    if (replace) {
      if (std::rename(beside_.c_str(), path_.c_str()) != 0) return false;
      made_ = false;
      return true;
    }
    if (link(beside_.c_str(), path_.c_str()) == 0) return true;
    // A file system without hard links.
    if (errno == EEXIST || access(path_.c_str(), F_OK) == 0) {
      errno = EEXIST;
      return false;
    }
    if (std::rename(beside_.c_str(), path_.c_str()) != 0) return false;
    made_ = false;
    return true;
  }

 private:
  std::string path_, beside_;
  std::FILE* file_ = nullptr;
  bool made_ = false;
  bool good_ = true;
};

}  // namespace

std::string write_report(const std::string& path, std::string_view page,
                         const Blocks& blocks, bool replace) {
  const std::size_t at = page.find(kDataLine);
  if (at == std::string_view::npos) return "the page has no place for the data";
  const auto failed = [&] {
    return "cannot write '" + path + "': " + std::strerror(errno);
  };
  NewFile file(path);
  if (!file.open()) return failed();
  file.write(page.substr(0, at));
  blocks.write([&](const std::string& text) { file.write(text); });
  file.write(page.substr(at + kDataLine.size()));
  if (file.finish(replace)) return {};
  if (errno == EEXIST) return "'" + path + "' exists; --overwrite replaces it";
  return failed();
}

}  // namespace refrain::report
