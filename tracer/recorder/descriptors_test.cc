// Descriptors: none of ours is where the program's next one would be. In children, whose streams may be closed.
#include "tracer/recorder/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>

namespace refrain::recorder::descriptors_test {
namespace {

int next_descriptor() {
  const int next = open("/dev/null", O_RDONLY);
  close(next);
  return next;
}

// What `test` returns in a child; -1: it died.
template <typename Test>
int in_child(const Test& test) {
  const pid_t child = fork();
  if (child == 0) _exit(test());
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool set_limit(rlim_t soft, rlim_t hard) {
  const rlimit limit{soft, hard};
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}
rlim_t soft_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

int open_null() { return open_apart(AT_FDCWD, "/dev/null", O_RDWR); }

}  // namespace

TEST_CASE("Descriptors: closed streams - are as closed as before, and nothing of ours") {
  CHECK(in_child([] {
          for (const int low : {0, 1, 2}) close(low);
          const int ours = open_null();
          if (ours <= 2) return 1;
          {
            const NoLowDescriptors outer;
            const NoLowDescriptors inner;
            char byte = 0;
            if (write(1, &byte, 1) != -1 || errno != EBADF) return 2;
            if (read(0, &byte, 1) != -1 || errno != EBADF) return 3;
            if (next_descriptor() <= 2) return 4;
          }
          return next_descriptor() == 0 ? 0 : 5;
        }) == 0);
}

TEST_CASE("Descriptors: kept ones - above the program's limit, which stays as it is") {
  CHECK(in_child([] {
          if (!set_limit(64, 256)) return 0;  // the machine's hard limit is lower
          const int next = next_descriptor();
          for (int i = 0; i < 100; ++i)
            if (keep_descriptor(open_null()) < 64) return 1;
          if (next_descriptor() != next) return 2;
          return soft_limit() == 64 ? 0 : 3;
        }) == 0);
}

TEST_CASE("Descriptors: a hard limit - a sixteenth of the numbers, and no more") {
  CHECK(in_child([] {
          if (!set_limit(64, 64)) return 1;
          const int next = next_descriptor();
          FileIdentity file;
          int kept[4];
          for (int& each : kept) {
            each = keep_descriptor(open_null());
            if (each < 60 || !identify(each, file)) return 2;
          }
          if (keep_descriptor(open_null()) != -1) return 3;
          drop_descriptor(kept[1], file);
          if (keep_descriptor(open_null()) != kept[1]) return 4;
          return next_descriptor() == next ? 0 : 5;
        }) == 0);
}

TEST_CASE("Descriptors: all in use - ours are opened above the limit") {
  CHECK(in_child([] {
          if (!set_limit(64, 256)) return 0;
          while (open("/dev/null", O_RDONLY) >= 0) {
          }
          const int ours = open_null();
          if (ours < 64) return 1;
          if (open("/dev/null", O_RDONLY) != -1 || errno != EMFILE) return 2;
          return keep_descriptor(ours) >= 64 ? 0 : 3;
        }) == 0);
}

TEST_CASE("Descriptors: a number that is another file's by now - stays open") {
  CHECK(in_child([] {
          FileIdentity file;
          const int ours = keep_descriptor(open_null());
          if (!identify(ours, file)) return 1;
          const int other = open("/dev/zero", O_RDONLY);
          if (dup2(other, ours) != ours) return 2;
          drop_descriptor(ours, file);
          return fcntl(ours, F_GETFD) >= 0 ? 0 : 3;
        }) == 0);
}

}  // namespace refrain::recorder::descriptors_test
