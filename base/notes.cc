#include "base/notes.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace refrain::base {
namespace {

struct Waiting {
  std::mutex mutex;
  std::vector<std::string> lines;
};

Waiting& waiting() {
  static auto* const one = new Waiting;  // never destroyed: threads may outlive main()
  return *one;
}

}  // namespace

void note(std::string line) {
  Waiting& all = waiting();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (std::find(all.lines.begin(), all.lines.end(), line) == all.lines.end())
    all.lines.push_back(std::move(line));
}

std::vector<std::string> take_notes() {
  Waiting& all = waiting();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return std::exchange(all.lines, {});
}

}  // namespace refrain::base
