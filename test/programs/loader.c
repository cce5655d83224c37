/* Not an OpenMP program: loads a library that is one, uses it and unloads it, three times.
 *
 * Arguments: LIBRARY [iterations = 50, each time] */
#include <dlfcn.h>

#include "common.h"

int main(int argc, char** argv) {
  const long iterations = argument(argc, argv, 2, 50, 1);
  uint64_t checksum = 0;
  for (int k = 0; k < 3; ++k) {
    void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
      fprintf(stderr, "%s: %s\n", argv[0], argc > 1 ? dlerror() : "which library?");
      return 2;
    }
    uint64_t (*work)(long);
    *(void**)&work = dlsym(library, "loaded_work");
    checksum = checksum_add(checksum, work(iterations));
    dlclose(library);
  }
  printf("regions=%ld checksum=%016llx\n", 3 * iterations, (unsigned long long)checksum);
  return 0;
}
