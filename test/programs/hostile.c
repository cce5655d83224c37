/* A life that is hostile to whoever traces it: steps in any order, each of which some tracer did not survive.
 *
 * Arguments: RESULT FOLDER STEP ... RESULT is a file that gets a line of each step, FOLDER one for other files (both
 * absolute). The first letter of a step's name says who has it: m- only with MPI (-DWITH_MPI), e- ends the process and
 * comes last. What they do: the functions below. A line is the same traced and untraced. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#ifdef WITH_MPI
#include <mpi.h>
#endif

static const char* g_result;
static const char* g_folder;
static const char* g_program;
static volatile sig_atomic_t g_alarms = 0;

/* The file is opened anew each time: whatever descriptor it gets, it must be ours. */
static void line(const char* step, long value) {
  char text[200];
  const int size = snprintf(text, sizeof text, "%s %ld\n", step, value);
  const int file = open(g_result, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (file < 0 || write(file, text, (size_t)size) != size) _exit(99);
  close(file);
}

static NOINLINE uint64_t region(uint64_t seed) {
  uint64_t sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
  for (int i = 0; i < 64; ++i) sum += scramble(seed + (uint64_t)i) >> 8;
  return sum;
}

static NOINLINE uint64_t regions(int times) {
  uint64_t sum = 0;
  for (int i = 0; i < times; ++i) sum = checksum_add(sum, region((uint64_t)i));
  return sum;
}

static long folded(uint64_t sum) { return (long)(sum & 0xffffffff); }

/* --- files ------------------------------------------------------------------------------------------ */

enum { kFiles = 64 };
static int g_files[kFiles];
static int g_opened = 0;

/* The lowest free descriptor, whose number the program may know. It is read back at the end. */
static void open_file(const char* step) {
  if (g_opened == kFiles) return;
  char name[PATH_MAX];
  snprintf(name, sizeof name, "%s/file%d", g_folder, g_opened);
  const int file = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || write(file, name, strlen(name)) != (ssize_t)strlen(name)) _exit(98);
  g_files[g_opened++] = file;
  line(step, file);
}

static void check_files(void) {
  long good = 0;
  for (int i = 0; i < g_opened; ++i) {
    char name[PATH_MAX], text[PATH_MAX];
    snprintf(name, sizeof name, "%s/file%d", g_folder, i);
    const ssize_t size = pread(g_files[i], text, sizeof text, 0);
    good += size == (ssize_t)strlen(name) && memcmp(text, name, (size_t)size) == 0;
  }
  line("files unharmed", g_opened - good);
}

static void close_one(const char* step, int descriptor) {
  close(descriptor);
  open_file(step);
}

/* What daemons do. */
static void close_all(const char* step) {
  for (int i = 0; i < g_opened; ++i) close(g_files[i]);
  g_opened = 0;
  line(step, syscall(SYS_close_range, 3, ~0U, 0));
  open_file(step);
}

static void few_files(const char* step) {
  struct rlimit before, few;
  getrlimit(RLIMIT_NOFILE, &before);
  few = before;
  few.rlim_cur = 40 + kFiles;
  setrlimit(RLIMIT_NOFILE, &few);
  int opened = 0, files[20];
  for (int i = 0; i < 20; ++i) opened += (files[i] = open("/dev/null", O_RDONLY)) >= 0;
  regions(3);
  for (int i = 0; i < 20; ++i) close(files[i]);
  setrlimit(RLIMIT_NOFILE, &before);
  line(step, opened);
}

/* --- processes --------------------------------------------------------------------------------------- */

static void wait_for(const char* step, pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  line(step, status);
}

static void fork_here(const char* step, int with_regions, int orderly) {
  const pid_t child = fork();
  if (child == 0) {
    if (with_regions) line("of the child", folded(regions(3)));
    if (orderly) exit(6);
    _exit(7);
  }
  wait_for(step, child);
}

static void* forking_thread(void* step) {
  fork_here(step, 1, 0);
  return NULL;
}

/* Has not used OpenMP before. */
static void fork_in_thread(const char* step) {
  pthread_t thread;
  pthread_create(&thread, NULL, forking_thread, (void*)step);
  pthread_join(thread, NULL);
}

static void run_again(const char* step, int without_environment) {
  const pid_t child = fork();
  if (child == 0) {
    if (without_environment) clearenv();
    execl(g_program, g_program, g_result, g_folder, "regions", "threads", "e-return",
          (char*)NULL);
    _exit(97);
  }
  wait_for(step, child);
}

static void shell(const char* step) {
  char text[64] = "";
  FILE* pipe = popen("echo of the shell", "r");
  const int got = pipe != NULL && fgets(text, sizeof text, pipe) != NULL &&
                  strcmp(text, "of the shell\n") == 0;
  if (pipe != NULL) pclose(pipe);
  line(step, got * 1000 + (system("exit 3") >> 8));
}

/* --- threads, keys and signals ------------------------------------------------------------------------ */

static void* thread_work(void* sum) {
  *(uint64_t*)sum = regions(3);
  return NULL;
}

static void threads(const char* step) {
  pthread_t ids[3];
  uint64_t sums[3], sum = 0;
  for (int i = 0; i < 3; ++i) pthread_create(&ids[i], NULL, thread_work, &sums[i]);
  for (int i = 0; i < 3; ++i) {
    pthread_join(ids[i], NULL);
    sum = checksum_add(sum, sums[i]);
  }
  line(step, folded(sum));
}

static pthread_key_t g_keys[PTHREAD_KEYS_MAX];
static int g_key_count = 0;

/* All that there are. */
static void keys(const char* step) {
  pthread_key_t key;
  regions(1); /* the runtime has what it needs */
  while (g_key_count < PTHREAD_KEYS_MAX && pthread_key_create(&key, NULL) == 0) {
    g_keys[g_key_count] = key;
    pthread_setspecific(key, &g_keys[g_key_count++]);
  }
  line(step, g_key_count > 900);
}

static void check_keys(void) {
  long bad = 0;
  for (int i = 0; i < g_key_count; ++i) bad += pthread_getspecific(g_keys[i]) != &g_keys[i];
  line("keys changed", bad);
}

static void wait_for_signal(const char* step) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  regions(2);
  pthread_kill(pthread_self(), SIGUSR2);
  int got = 0;
  sigwait(&all, &got);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  line(step, got);
}

static void on_alarm(int signal) {
  (void)signal;
  ++g_alarms;
}

static void alarms(const char* step) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval each_ms = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &each_ms, NULL);
  const uint64_t begin = now_ns();
  uint64_t sum = 0;
  while (g_alarms < 5 && now_ns() - begin < UINT64_C(10000000000)) sum = regions(4);
  setitimer(ITIMER_REAL, &none, NULL);
  line(step, folded(sum));
}

/* --- libraries ---------------------------------------------------------------------------------------- */

static void plugin(const char* step, const char* file, int flags) {
  char name[PATH_MAX];
  snprintf(name, sizeof name, "%.*s/%s", (int)(strrchr(g_program, '/') - g_program),
           g_program, file);
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL | flags);
  if (library == NULL) _exit(96);
  uint64_t (*work)(void);
  *(void**)&work = dlsym(library, "plugin_work");
  line(step, folded(work() + work()));
  dlclose(library);
}

/* --- MPI ---------------------------------------------------------------------------------------------- */

#ifdef WITH_MPI
static long g_copies = 0;
static long g_deletes = 0;
static long g_errors = 0;

static int refuse_copy(MPI_Comm comm, int key, void* extra, void* value, void* copy,
                       int* flag) {
  (void)comm, (void)key, (void)extra, (void)value, (void)copy;
  ++g_copies;
  *flag = 0;
  return MPI_ERR_OTHER;
}

static int count_delete(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  ++g_deletes;
  return MPI_SUCCESS;
}

static void count_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++g_errors;
}

static int rank_of(void) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

static void messages(const char* step) {
  const int rank = rank_of();
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long sum = 0;
  for (long k = 0; k < 20; ++k) {
    long got = -1;
    MPI_Sendrecv(&k, 1, MPI_LONG, (rank + 1) % size, 3, &got, 1, MPI_LONG,
                 (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    long total = 0;
    MPI_Allreduce(&got, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    sum += total;
  }
  line(step, sum);
}

static void attributes(const char* step) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(refuse_copy, count_delete, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &g_copies);
  line(step, g_copies);
}

static void error_handler(const char* step) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Errhandler_free(&handler);
  int value = 0;
  MPI_Send(&value, 1, MPI_INT, -77, 0, MPI_COMM_WORLD);
  line(step, g_errors);
}

/* As many as there can be, and a few of them are left for the end. */
static void communicators(const char* step) {
  enum { kMax = 2200 };
  static MPI_Comm comms[kMax];
  MPI_Comm own;
  MPI_Comm_split(MPI_COMM_WORLD, 0, rank_of(), &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  int made = 0;
  while (made < kMax && MPI_Comm_split(own, 0, 0, &comms[made]) == MPI_SUCCESS) ++made;
  for (int i = 0; i < made; ++i) MPI_Comm_free(&comms[i]);
  MPI_Comm_free(&own);
  line(step, made > 1900);
}

static void truncated(const char* step) {
  MPI_Comm own;
  MPI_Comm_split(MPI_COMM_WORLD, rank_of(), 0, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  long values[2] = {1, 2}, got = 0;
  MPI_Request request;
  MPI_Isend(values, 2, MPI_LONG, 0, 1, own, &request);
  const int failed =
      MPI_Recv(&got, 1, MPI_LONG, 0, 1, own, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&own);
  line(step, failed);
}

static void finalize(const char* step) {
  const long errors = g_errors;
  MPI_Finalize();
  line("copies", g_copies);
  line("deletes", g_deletes);
  line(step, g_errors - errors);
}
#endif

/* --- ends --------------------------------------------------------------------------------------------- */

static void exit_in_handler(int signal) {
  (void)signal;
  exit(8);
}

static void fork_in_handler(int number) {
  (void)number;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  signal(SIGABRT, SIG_DFL);
}

static void* exiting_thread(void* nothing) {
  (void)nothing;
  regions(2);
  exit(9);
}

static void* exit_on_thread(void* nothing) {
  (void)nothing;
  exit(11);
}

/* exit() where there is little stack. */
static void exit_on_small_thread(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_create(&thread, &attributes, exit_on_thread, NULL);
  pthread_join(thread, NULL);
}

static void exit_in_small_handler(void) {
  const stack_t stack = {.ss_sp = malloc(SIGSTKSZ), .ss_size = SIGSTKSZ};
  sigaltstack(&stack, NULL);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = exit_in_handler;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGTERM, &action, NULL);
  raise(SIGTERM);
}

static void* last_thread(void* nothing) {
  (void)nothing;
  usleep(20000);
  line("the last thread", folded(regions(2)));
  exit(10); /* threads of the OpenMP runtime never end */
}

static int end(const char* step) {
  pthread_t thread;
  if (strcmp(step, "e-exit") == 0) exit(3);
  if (strcmp(step, "e-_exit") == 0) _exit(4);
  if (strcmp(step, "e-quick") == 0) quick_exit(5);
  if (strcmp(step, "e-abort") == 0) abort();
  if (strcmp(step, "e-term") == 0) raise(SIGTERM);
  if (strcmp(step, "e-segv") == 0) raise(SIGSEGV);
  if (strcmp(step, "e-segv-exit") == 0) {
    signal(SIGSEGV, exit_in_handler);
    raise(SIGSEGV);
  }
  if (strcmp(step, "e-abort-fork") == 0) {
    signal(SIGABRT, fork_in_handler);
    abort();
  }
  if (strcmp(step, "e-thread-exit") == 0) {
    pthread_create(&thread, NULL, exiting_thread, NULL);
    pthread_join(thread, NULL);
  }
  if (strcmp(step, "e-small-thread-exit") == 0) exit_on_small_thread();
  if (strcmp(step, "e-small-handler-exit") == 0) exit_in_small_handler();
  if (strcmp(step, "e-primary-ends") == 0) {
    pthread_create(&thread, NULL, last_thread, NULL);
    pthread_exit(NULL);
  }
  if (strcmp(step, "e-exec") == 0)
    execl(g_program, g_program, g_result, g_folder, "regions", "fork-quiet", "e-exit",
          (char*)NULL);
  return 0;
}

static int do_step(const char* step) {
#define STEP(text, what)         \
  if (strcmp(step, text) == 0) { \
    what;                        \
    return 0;                    \
  }
  STEP("regions", line(step, folded(regions(5))))
  STEP("close0", close_one(step, 0))
  STEP("close1", close_one(step, 1))
  STEP("close2", close_one(step, 2))
  STEP("close-all", close_all(step))
  STEP("open", open_file(step))
  STEP("few-files", few_files(step))
  STEP("fork", fork_here(step, 1, 1))
  STEP("fork-quiet", fork_here(step, 0, 0))
  STEP("fork-thread", fork_in_thread(step))
  STEP("again", run_again(step, 0))
  STEP("again-bare", run_again(step, 1))
  STEP("shell", shell(step))
  STEP("threads", threads(step))
  STEP("keys", keys(step))
  STEP("sigwait", wait_for_signal(step))
  STEP("alarms", alarms(step))
  STEP("plugin", plugin(step, "plugin_first.so", 0))
  STEP("other-plugin", plugin(step, "plugin_second.so", 0))
  /* With its own libgomp, which goes with it; not in random lives: untraced, a thread of it may run on in code that is gone. */
  STEP("deep-plugin", plugin(step, "plugin_gcc.so", RTLD_DEEPBIND))
  STEP("chdir", line(step, chdir("/dev/shm")))
  STEP("umask", umask(0777); line(step, folded(regions(2))); umask(022))
  STEP("pause", regions(1); line(step, omp_pause_resource_all(omp_pause_hard)))
#ifdef WITH_MPI
  STEP("m-init", MPI_Init(NULL, NULL); line(step, rank_of()))
  STEP("m-messages", messages(step))
  STEP("m-attributes", attributes(step))
  STEP("m-errors", error_handler(step))
  STEP("m-comms", communicators(step))
  STEP("m-truncated", truncated(step))
  STEP("m-finalize", finalize(step))
#endif
  fprintf(stderr, "no step %s\n", step);
  _exit(95);
}

int main(int argc, char** argv) {
  static char program[PATH_MAX];
  if (argc < 4 || readlink("/proc/self/exe", program, sizeof program - 1) < 0) return 2;
  g_program = program;
  g_result = argv[1];
  g_folder = argv[2];
#ifdef WITH_MPI
  /* A file for each rank, whatever the launcher says. */
  static char result[PATH_MAX], folder[PATH_MAX];
  const char* rank = getenv("PMI_RANK");
  if (rank == NULL) rank = getenv("OMPI_COMM_WORLD_RANK");
  if (rank != NULL) {
    snprintf(result, sizeof result, "%s.%s", argv[1], rank);
    snprintf(folder, sizeof folder, "%s.%s", argv[2], rank);
    mkdir(folder, 0755);
    g_result = result;
    g_folder = folder;
  }
#endif
  int i = 3;
  for (; i < argc && strncmp(argv[i], "e-", 2) != 0; ++i) do_step(argv[i]);
  check_files();
  check_keys();
  line("done", 0);
  return i < argc ? end(argv[i]) : 0;
}
