/* An OMPT tool that counts callbacks, independent of the tracer: what the tests compare the
 * tracer's archives with.
 *
 * Use:     OMP_TOOL_LIBRARIES=counting_tool.so COUNTING_TOOL_OUTPUT=counts.json ./program
 * Output:  one JSON object, written when the runtime ends (and by an exit handler, if the
 *          process ends before the runtime does):
 *              {"pid": 4711,
 *               "totals": {"parallel_begin": 3, ...},
 *               "counts": {"parallel_begin.team": 3, "work.loop_static.begin": 6, ...}}
 *          A kind without a name here is printed as a number. "%p" in the file's name
 *          becomes the process' number.
 * Threads: counters are atomic; every host callback of OpenMP 5.1 is registered. */
#include <omp-tools.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kTypes = 38, kKinds = 128, kEndpoints = 4 };

static atomic_uint_fast64_t counts[kTypes][kKinds][kEndpoints];
static pid_t owner;

static void count(int type, unsigned kind, unsigned endpoint) {
  if (kind >= kKinds) kind = kKinds - 1;
  atomic_fetch_add_explicit(&counts[type][kind][endpoint & 3], 1, memory_order_relaxed);
}

/* ------------------------------------------------------------------- Names ---------- */

static const char* const kTypeNames[kTypes] = {
    [ompt_callback_thread_begin] = "thread_begin",
    [ompt_callback_thread_end] = "thread_end",
    [ompt_callback_parallel_begin] = "parallel_begin",
    [ompt_callback_parallel_end] = "parallel_end",
    [ompt_callback_task_create] = "task_create",
    [ompt_callback_task_schedule] = "task_schedule",
    [ompt_callback_implicit_task] = "implicit_task",
    [ompt_callback_control_tool] = "control_tool",
    [ompt_callback_sync_region_wait] = "sync_region_wait",
    [ompt_callback_mutex_released] = "mutex_released",
    [ompt_callback_dependences] = "dependences",
    [ompt_callback_task_dependence] = "task_dependence",
    [ompt_callback_work] = "work",
    [ompt_callback_masked] = "masked",
    [ompt_callback_sync_region] = "sync_region",
    [ompt_callback_lock_init] = "lock_init",
    [ompt_callback_lock_destroy] = "lock_destroy",
    [ompt_callback_mutex_acquire] = "mutex_acquire",
    [ompt_callback_mutex_acquired] = "mutex_acquired",
    [ompt_callback_nest_lock] = "nest_lock",
    [ompt_callback_flush] = "flush",
    [ompt_callback_cancel] = "cancel",
    [ompt_callback_reduction] = "reduction",
    [ompt_callback_dispatch] = "dispatch",
    [ompt_callback_error] = "error",
};

static const char* const kThreadNames[kKinds] = {[ompt_thread_initial] = "initial",
                                                 [ompt_thread_worker] = "worker",
                                                 [ompt_thread_other] = "other",
                                                 [ompt_thread_unknown] = "unknown"};
static const char* const kWorkNames[kKinds] = {
    [ompt_work_loop] = "loop",
    [ompt_work_sections] = "sections",
    [ompt_work_single_executor] = "single_executor",
    [ompt_work_single_other] = "single_other",
    [ompt_work_workshare] = "workshare",
    [ompt_work_distribute] = "distribute",
    [ompt_work_taskloop] = "taskloop",
    [ompt_work_scope] = "scope",
    [ompt_work_loop_static] = "loop_static",
    [ompt_work_loop_dynamic] = "loop_dynamic",
    [ompt_work_loop_guided] = "loop_guided",
    [ompt_work_loop_other] = "loop_other"};
static const char* const kSyncNames[kKinds] = {
    [1] = "barrier",
    [2] = "barrier_implicit",
    [ompt_sync_region_barrier_explicit] = "barrier_explicit",
    [ompt_sync_region_barrier_implementation] = "barrier_implementation",
    [ompt_sync_region_taskwait] = "taskwait",
    [ompt_sync_region_taskgroup] = "taskgroup",
    [ompt_sync_region_reduction] = "reduction",
    [ompt_sync_region_barrier_implicit_workshare] = "barrier_implicit_workshare",
    [ompt_sync_region_barrier_implicit_parallel] = "barrier_implicit_parallel",
    [ompt_sync_region_barrier_teams] = "barrier_teams"};
static const char* const kMutexNames[kKinds] = {
    [ompt_mutex_lock] = "lock",           [ompt_mutex_test_lock] = "test_lock",
    [ompt_mutex_nest_lock] = "nest_lock", [ompt_mutex_test_nest_lock] = "test_nest_lock",
    [ompt_mutex_critical] = "critical",   [ompt_mutex_atomic] = "atomic",
    [ompt_mutex_ordered] = "ordered"};
static const char* const kStatusNames[kKinds] = {
    [ompt_task_complete] = "complete",
    [ompt_task_yield] = "yield",
    [ompt_task_cancel] = "cancel",
    [ompt_task_detach] = "detach",
    [ompt_task_early_fulfill] = "early_fulfill",
    [ompt_task_late_fulfill] = "late_fulfill",
    [ompt_task_switch] = "switch",
    [ompt_taskwait_complete] = "taskwait_complete"};
static const char* const kTaskNames[kKinds] = {[ompt_task_initial] = "initial",
                                               [ompt_task_implicit] = "implicit",
                                               [ompt_task_explicit] = "explicit",
                                               [ompt_task_target] = "target",
                                               [ompt_task_taskwait] = "taskwait"};
static const char* const kDispatchNames[kKinds] = {
    [ompt_dispatch_iteration] = "iteration",
    [ompt_dispatch_section] = "section",
    [ompt_dispatch_ws_loop_chunk] = "ws_loop_chunk",
    [ompt_dispatch_taskloop_chunk] = "taskloop_chunk",
    [ompt_dispatch_distribute_chunk] = "distribute_chunk"};
enum { kTeam = 1, kLeague = 2 };
static const char* const kParallelNames[kKinds] = {[kTeam] = "team", [kLeague] = "league"};

static const char* const* kind_names(int type) {
  switch (type) {
    case ompt_callback_thread_begin:
      return kThreadNames;
    case ompt_callback_parallel_begin:
    case ompt_callback_parallel_end:
      return kParallelNames;
    case ompt_callback_implicit_task:
    case ompt_callback_task_create:
      return kTaskNames;
    case ompt_callback_task_schedule:
      return kStatusNames;
    case ompt_callback_work:
      return kWorkNames;
    case ompt_callback_dispatch:
      return kDispatchNames;
    case ompt_callback_sync_region:
    case ompt_callback_sync_region_wait:
    case ompt_callback_reduction:
      return kSyncNames;
    case ompt_callback_lock_init:
    case ompt_callback_lock_destroy:
    case ompt_callback_mutex_acquire:
    case ompt_callback_mutex_acquired:
    case ompt_callback_mutex_released:
      return kMutexNames;
    default:
      return NULL;
  }
}

/* ------------------------------------------------------------------- Output --------- */

static FILE* open_output(void) {
  const char* name = getenv("COUNTING_TOOL_OUTPUT");
  if (!name || !*name) return NULL;
  char path[4096];
  const char* mark = strstr(name, "%p");
  if (mark)
    snprintf(path, sizeof path, "%.*s%d%s", (int)(mark - name), name, (int)getpid(),
             mark + 2);
  else
    snprintf(path, sizeof path, "%s", name);
  FILE* file = fopen(path, "w");
  if (!file) fprintf(stderr, "counting_tool: cannot write %s\n", path);
  return file;
}

static void write_key(FILE* file, int type, int kind, int endpoint) {
  static const char* const kEndpointNames[kEndpoints] = {"", ".begin", ".end", ".beginend"};
  const char* const* names = kind_names(type);
  fprintf(file, "\"%s", kTypeNames[type]);
  if (names && names[kind])
    fprintf(file, ".%s", names[kind]);
  else if (kind)
    fprintf(file, ".%d", kind);
  fprintf(file, "%s\"", kEndpointNames[endpoint]);
}

static void write_output(void) {
  if (getpid() != owner) return; /* a child of fork() that did not exec */
  FILE* file = open_output();
  if (!file) return;
  fprintf(file, "{\n  \"pid\": %d,\n  \"totals\": {", (int)owner);
  const char* separator = "\n";
  for (int type = 0; type < kTypes; ++type) {
    uint64_t total = 0;
    for (int i = 0; i < kKinds * kEndpoints; ++i)
      total += atomic_load(&counts[type][i / kEndpoints][i % kEndpoints]);
    if (!kTypeNames[type]) continue;
    fprintf(file, "%s    \"%s\": %llu", separator, kTypeNames[type],
            (unsigned long long)total);
    separator = ",\n";
  }
  fprintf(file, "\n  },\n  \"counts\": {");
  separator = "\n";
  for (int i = 0; i < kTypes * kKinds * kEndpoints; ++i) {
    const int type = i / (kKinds * kEndpoints);
    const int kind = i / kEndpoints % kKinds, endpoint = i % kEndpoints;
    const uint64_t value = atomic_load(&counts[type][kind][endpoint]);
    if (!value) continue;
    fprintf(file, "%s    ", separator);
    write_key(file, type, kind, endpoint);
    fprintf(file, ": %llu", (unsigned long long)value);
    separator = ",\n";
  }
  fprintf(file, "\n  }\n}\n");
  fclose(file);
}

/* ------------------------------------------------------------------- Callbacks ------ */

static unsigned task_kind(int flags) { return (unsigned)flags & 0x1f; }
static unsigned parallel_kind(int flags) {
  return flags & ompt_parallel_league ? kLeague : kTeam;
}

static void on_thread_begin(ompt_thread_t kind, ompt_data_t* thread) {
  (void)thread;
  count(ompt_callback_thread_begin, kind, 0);
}
static void on_thread_end(ompt_data_t* thread) {
  (void)thread;
  count(ompt_callback_thread_end, 0, 0);
}
static void on_parallel_begin(ompt_data_t* task, const ompt_frame_t* frame,
                              ompt_data_t* parallel, unsigned requested, int flags,
                              const void* code) {
  (void)task, (void)frame, (void)parallel, (void)requested, (void)code;
  count(ompt_callback_parallel_begin, parallel_kind(flags), 0);
}
static void on_parallel_end(ompt_data_t* parallel, ompt_data_t* task, int flags,
                            const void* code) {
  (void)parallel, (void)task, (void)code;
  count(ompt_callback_parallel_end, parallel_kind(flags), 0);
}
static void on_task_create(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* made,
                           int flags, int dependences, const void* code) {
  (void)task, (void)frame, (void)made, (void)dependences, (void)code;
  count(ompt_callback_task_create, task_kind(flags), 0);
}
static void on_task_schedule(ompt_data_t* prior, ompt_task_status_t status,
                             ompt_data_t* next) {
  (void)prior, (void)next;
  count(ompt_callback_task_schedule, status, 0);
}
static void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                             ompt_data_t* task, unsigned team, unsigned index, int flags) {
  (void)parallel, (void)task, (void)team, (void)index;
  count(ompt_callback_implicit_task, task_kind(flags), endpoint);
}
static int on_control_tool(uint64_t command, uint64_t modifier, void* argument,
                           const void* code) {
  (void)command, (void)modifier, (void)argument, (void)code;
  count(ompt_callback_control_tool, 0, 0);
  return 0;
}
static void on_dependences(ompt_data_t* task, const ompt_dependence_t* list, int length) {
  (void)task, (void)list, (void)length;
  count(ompt_callback_dependences, 0, 0);
}
static void on_task_dependence(ompt_data_t* source, ompt_data_t* sink) {
  (void)source, (void)sink;
  count(ompt_callback_task_dependence, 0, 0);
}
static void on_work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                    ompt_data_t* task, uint64_t length, const void* code) {
  (void)parallel, (void)task, (void)length, (void)code;
  count(ompt_callback_work, kind, endpoint);
}
static void on_masked(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                      ompt_data_t* task, const void* code) {
  (void)parallel, (void)task, (void)code;
  count(ompt_callback_masked, 0, endpoint);
}

#define SYNC_CALLBACK(name)                                                           \
  static void on_##name(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,      \
                        ompt_data_t* parallel, ompt_data_t* task, const void* code) { \
    (void)parallel, (void)task, (void)code;                                           \
    count(ompt_callback_##name, kind, endpoint);                                      \
  }
SYNC_CALLBACK(sync_region)
SYNC_CALLBACK(sync_region_wait)
SYNC_CALLBACK(reduction)

#define LOCKING_CALLBACK(name)                                                     \
  static void on_##name(ompt_mutex_t kind, unsigned hint, unsigned implementation, \
                        ompt_wait_id_t mutex, const void* code) {                  \
    (void)hint, (void)implementation, (void)mutex, (void)code;                     \
    count(ompt_callback_##name, kind, 0);                                          \
  }
LOCKING_CALLBACK(lock_init)
LOCKING_CALLBACK(mutex_acquire)

#define MUTEX_CALLBACK(name)                                                         \
  static void on_##name(ompt_mutex_t kind, ompt_wait_id_t mutex, const void* code) { \
    (void)mutex, (void)code;                                                         \
    count(ompt_callback_##name, kind, 0);                                            \
  }
MUTEX_CALLBACK(lock_destroy)
MUTEX_CALLBACK(mutex_acquired)
MUTEX_CALLBACK(mutex_released)

static void on_nest_lock(ompt_scope_endpoint_t endpoint, ompt_wait_id_t mutex,
                         const void* code) {
  (void)mutex, (void)code;
  count(ompt_callback_nest_lock, 0, endpoint);
}
static void on_flush(ompt_data_t* thread, const void* code) {
  (void)thread, (void)code;
  count(ompt_callback_flush, 0, 0);
}
static void on_cancel(ompt_data_t* task, int flags, const void* code) {
  (void)task, (void)code;
  count(ompt_callback_cancel, (unsigned)flags, 0);
}
static void on_dispatch(ompt_data_t* parallel, ompt_data_t* task, ompt_dispatch_t kind,
                        ompt_data_t instance) {
  (void)parallel, (void)task, (void)instance;
  count(ompt_callback_dispatch, kind, 0);
}
static void on_error(ompt_severity_t severity, const char* message, size_t length,
                     const void* code) {
  (void)message, (void)length, (void)code;
  count(ompt_callback_error, severity, 0);
}

/* ------------------------------------------------------------------- Life cycle ----- */

static int initialise(ompt_function_lookup_t lookup, int device, ompt_data_t* data) {
  (void)device, (void)data;
  const ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  if (!set) return 0;
#define SET(name) set(ompt_callback_##name, (ompt_callback_t)on_##name)
  SET(thread_begin), SET(thread_end), SET(parallel_begin), SET(parallel_end);
  SET(task_create), SET(task_schedule), SET(implicit_task), SET(control_tool);
  SET(sync_region_wait), SET(mutex_released), SET(dependences), SET(task_dependence);
  SET(work), SET(masked), SET(sync_region), SET(lock_init), SET(lock_destroy);
  SET(mutex_acquire), SET(mutex_acquired), SET(nest_lock), SET(flush), SET(cancel);
  SET(reduction), SET(dispatch), SET(error);
#undef SET
  owner = getpid();
  atexit(write_output);
  return 1;
}

static void finalise(ompt_data_t* data) {
  (void)data;
  write_output();
}

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* runtime) {
  (void)version, (void)runtime;
  static ompt_start_tool_result_t result = {initialise, finalise, {0}};
  return &result;
}
