/* Not an OpenMP program: uses two libraries one after the other, which the loader is likely to put in the same place, by
 * names that are relative to its directory.
 *
 * Arguments: FOLDER with plugin_first.so and plugin_second.so */
#include <dlfcn.h>
#include <unistd.h>

#include "common.h"

static uint64_t use(const char* name, int times) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  uint64_t (*work)(void);
  *(void**)&work = dlsym(library, "plugin_work");
  uint64_t sum = 0;
  for (int i = 0; i < times; ++i) sum += work();
  dlclose(library);
  return sum;
}

int main(int argc, char** argv) {
  if (argc < 2 || chdir(argv[1]) != 0) return 2;
  uint64_t checksum = 0;
  for (int k = 0; k < 2; ++k) {
    checksum = checksum_add(checksum, use("./plugin_first.so", 3));
    checksum = checksum_add(checksum, use("./plugin_second.so", 5));
  }
  if (chdir("/") != 0) return 2;
  printf("checksum=%016llx\n", (unsigned long long)checksum);
  return 0;
}
