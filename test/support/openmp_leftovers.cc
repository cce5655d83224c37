#include "test/support/openmp_leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace refrain::test {

void remove_openmp_leftovers() noexcept {
  DIR* folder = opendir("/dev/shm");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    int process = 0;
    int user = -1;
    if (std::sscanf(entry->d_name, "__KMP_REGISTERED_LIB_%d_%d", &process, &user) != 2)
      continue;
    if (process <= 0 || user != static_cast<int>(getuid())) continue;
    if (kill(process, 0) != 0 && errno == ESRCH) unlinkat(dirfd(folder), entry->d_name, 0);
  }
  closedir(folder);
}

}  // namespace refrain::test
