/* Makes other processes, or changes the process itself, between iterations.
 *
 * Arguments: [what = none] [iterations = 50, before and after] [file = result]. What:
 *   none
 *   fork, fork-exit         a child that ends at once, by _exit or exit
 *   fork-exec, vfork, spawn, system, popen      a child that becomes another program
 *   fork-openmp             a child that goes on with regions of its own
 *   fork-in-region          from within a parallel region; the child ends at once
 *   thread-fork, thread-fork-exec, thread-fork-openmp      as without `thread-`, from a thread that has
 *                           used no OpenMP
 *   daemon                  the process ends, its child goes on
 *   pause-hard, pause-soft  omp_pause_resource_all
 *   chdir, setuid, clearenv, close-all
 *   streams                 uses its three streams, which may be closed; `file` says what came of it
 *   stderr-is-file          closes stderr, so that `file` gets its descriptor; the line goes there
 *   many-files              opens 200 files at a time, with 64 threads
 * The last line, `what=... regions=... checksum=...`, is the process' own (daemon: the child's);
 * regions are the outermost ones that it had. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

extern char** environ;

static uint64_t total;
static long regions;

static NOINLINE void add(uint64_t seed) {
  uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int i = 0; i < 64; ++i) sum += scramble(seed + (uint64_t)i) >> 8;
  total = checksum_add(total, sum);
  ++regions;
}

static void iterate(long iterations) {
  for (long k = 0; k < iterations; ++k) add((uint64_t)k);
}

static void print_result(const char* what) {
  printf("what=%s regions=%ld checksum=%016llx\n", what, regions,
         (unsigned long long)total);
  fflush(stdout);
}

static int end_of(pid_t child) {
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static pid_t fork_in_region(void) {
  pid_t child = -1;
#pragma omp parallel
#pragma omp masked
  {
    child = fork();
    if (child == 0) _exit(3);
  }
  ++regions;
  return child;
}

/* The child's end, or -1 where there is no child. */
static int with_child(const char* what, const char* program, long iterations);

struct deed {
  const char* what;
  const char* program;
  long iterations;
  int end;
};

static void* in_thread(void* data) {
  struct deed* deed = data;
  deed->end = with_child(deed->what, deed->program, deed->iterations);
  return NULL;
}

static int with_child(const char* what, const char* program, long iterations) {
  if (!strncmp(what, "thread-", 7)) {
    struct deed deed = {what + 7, program, iterations, -1};
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread, &deed)) return -1;
    pthread_join(thread, NULL);
    return deed.end;
  }
  pid_t child = -1;
  fflush(stdout);
  if (!strcmp(what, "fork")) {
    child = fork();
    if (child == 0) _exit(3);
  } else if (!strcmp(what, "fork-exit")) {
    child = fork();
    if (child == 0) exit(4);
  } else if (!strcmp(what, "fork-exec")) {
    child = fork();
    if (child == 0) execl(program, program, "none", "20", (char*)NULL);
    if (child == 0) _exit(99);
  } else if (!strcmp(what, "fork-openmp")) {
    child = fork();
    if (child == 0) {
      regions = 0;
      iterate(iterations);
      print_result("child");
      exit(5);
    }
  } else if (!strcmp(what, "fork-in-region")) {
    child = fork_in_region();
  } else if (!strcmp(what, "vfork")) {
    child = vfork();
    if (child == 0) execl("/bin/sh", "sh", "-c", "exit 6", (char*)NULL);
    if (child == 0) _exit(99);
  } else if (!strcmp(what, "spawn")) {
    char* arguments[] = {(char*)program, "none", "20", NULL};
    if (posix_spawn(&child, program, NULL, NULL, arguments, environ)) return -1;
  } else if (!strcmp(what, "system")) {
    return WEXITSTATUS(system("exit 7"));
  } else if (!strcmp(what, "popen")) {
    char line[32] = "";
    FILE* pipe = popen("echo said; exit 8", "r");
    if (!pipe || !fgets(line, sizeof line, pipe) || strcmp(line, "said\n")) return -1;
    return WEXITSTATUS(pclose(pipe));
  } else {
    return -1;
  }
  return end_of(child);
}

/* Whether this argument is known, and was possible. */
static int changed(const char* what) {
  if (!strcmp(what, "none")) return 1;
  if (!strcmp(what, "pause-hard")) return omp_pause_resource_all(omp_pause_hard) == 0;
  if (!strcmp(what, "pause-soft")) return omp_pause_resource_all(omp_pause_soft) == 0;
  if (!strcmp(what, "chdir")) return chdir("/") == 0;
  if (!strcmp(what, "setuid")) return setgid(65534) == 0 && setuid(65534) == 0;
  if (!strcmp(what, "clearenv")) return clearenv() == 0;
  if (!strcmp(what, "close-all")) {
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    return 1;
  }
  if (!strcmp(what, "daemon")) {
    const pid_t child = fork();
    if (child > 0) _exit(0);
    regions = 0;
    return child == 0 && setsid() >= 0;
  }
  return 0;
}

static int next_descriptor(void) {
  const int next = open("/dev/null", O_RDONLY);
  close(next);
  return next;
}

/* Prints more than a buffer holds. */
static int use_streams(const char* file, long iterations) {
  const int first = next_descriptor();
  long printed = 0, failed = 0;
  for (long k = 0; k < iterations; ++k) {
    add((uint64_t)k);
    for (int i = 0; i < 20; ++i) printed += printf("step %ld row %d of many\n", k, i);
    failed += fflush(stdout) != 0;
    failed += fprintf(stderr, "a line to stderr\n") < 0;
  }
  char text[8];
  errno = 0;
  const long got = (long)read(0, text, sizeof text);
  const int error = errno;
  FILE* out = fopen(file, "w");
  if (!out) return 3;
  fprintf(out, "first=%d printed=%ld failed=%ld read=%ld errno=%d next=%d regions=%ld\n",
          first, printed, failed, got, error, next_descriptor(), regions);
  return fclose(out) != 0;
}

static int write_to_descriptor_2(const char* file, long iterations) {
  iterate(iterations);
  close(2);
  const int out = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  return dprintf(out, "descriptor %d regions=%ld\n", out, regions) < 0;
}

/* The number that could not be opened. */
static int open_many_files(void) {
  int failed = 0;
#pragma omp parallel num_threads(64) reduction(+ : total)
  total += 1;
  ++regions;
  for (int i = 0; i < 200; ++i) failed += open("/dev/null", O_RDONLY) < 0;
  print_result("many-files");
  return failed;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "none";
  const long iterations = argument(argc, argv, 2, 50, 0);
  const char* file = argc > 3 ? argv[3] : "result";
  if (!strcmp(what, "streams")) return use_streams(file, iterations);
  if (!strcmp(what, "stderr-is-file")) return write_to_descriptor_2(file, iterations);
  if (!strcmp(what, "many-files")) return open_many_files();
  iterate(iterations);
  const int end = with_child(what, argv[0], iterations);
  if (end >= 0)
    printf("child's end: %d\n", end);
  else if (!changed(what))
    return 2;
  iterate(iterations);
  print_result(what);
  return 0;
}
