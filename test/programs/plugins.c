/* Not an OpenMP program: uses two libraries one after the other, which the loader is likely to put in the same place, by
 * names that are relative to its directory.
 *
 * Arguments: FOLDER with plugin_first.so and plugin_second.so; the name of another one instead of the second; how often they take
 * turns at the end */
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
  const char* second = argc > 2 ? argv[2] : "./plugin_second.so";
  uint64_t checksum = 0;
  for (int k = 0; k < 2; ++k) {
    checksum = checksum_add(checksum, use("./plugin_first.so", 3));
    checksum = checksum_add(checksum, use(second, 5));
  }
  const int turns = argc > 3 ? atoi(argv[3]) : 0;
  for (int k = 0; k < turns; ++k)
    checksum = checksum_add(checksum, use(k % 2 == 0 ? "./plugin_first.so" : second, 1));
  if (chdir("/") != 0) return 2;
  printf("checksum=%016llx\n", (unsigned long long)checksum);
  return 0;
}
