// Input: a file of Cube, as profile.cubex. It is refused with one line, or read; what was read can be
// combined with itself.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "cube/algebra.h"
#include "cube/cubex_reader.h"
#include "test/fuzz/fuzz.h"

namespace {

// The reader wants a name: one without a disk.
class File {
 public:
  File(const std::uint8_t* data, std::size_t size) : descriptor_(memfd_create("cubex", 0)) {
    while (size != 0) {
      const ssize_t written = write(descriptor_, data, size);
      refrain::fuzz::require(written > 0, "the input is there");
      data += written;
      size -= static_cast<std::size_t>(written);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(descriptor_); }
  std::string name() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace refrain;
  const File file(data, size);
  const auto read = cube::read_cubex(file.name());
  fuzz::require(fuzz::one_line(read.error()), "an error is one line", read.error());
  if (!read) return 0;
  for (std::size_t i = 0; i < read->experiment.paths.size(); ++i) {
    const auto parent = read->experiment.paths[i].parent;
    fuzz::require(parent == cube::kNone || parent < i, "parents come first");
  }
  const std::vector<cube::Experiment> twice{read->experiment, read->experiment};
  cube::combine(cube::Operation::kMean, twice);
  return 0;
}
