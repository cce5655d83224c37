// gethostid() for libotf2, which distinguishes traces by it, the time and the process' number. The C
// library's looks up the address of the host's name: some twenty system calls at best, seconds where a
// name server does not answer, in a program that never asked for one. Ours comes from the name alone.
//
// Place in the flow: ARCHITECTURE.md, stage 3; the library is linked with --wrap=gethostid.
// Thread-safety: all.
#include <limits.h>
#include <unistd.h>

#include <cstdint>

extern "C" __attribute__((visibility("hidden"))) long __wrap_gethostid() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof name - 1);
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char* c = name; *c != '\0'; ++c)
    hash = (hash ^ static_cast<unsigned char>(*c)) * 16777619u;
  return static_cast<std::int32_t>(hash);
}
