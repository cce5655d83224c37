/* An OMPT tool that registers the callbacks that Refrain registers and does nothing in
 * them: the floor under any tracer's overhead (tools/bench measures against it).
 *
 * Use:  OMP_TOOL_LIBRARIES=empty_tool.so ./program */
#include <omp-tools.h>

static void on_thread_begin(ompt_thread_t kind, ompt_data_t* thread) {
  (void)kind, (void)thread;
}
static void on_thread_end(ompt_data_t* thread) { (void)thread; }
static void on_parallel_begin(ompt_data_t* task, const ompt_frame_t* frame,
                              ompt_data_t* parallel, unsigned requested, int flags,
                              const void* code) {
  (void)task, (void)frame, (void)parallel, (void)requested, (void)flags, (void)code;
}
static void on_parallel_end(ompt_data_t* parallel, ompt_data_t* task, int flags,
                            const void* code) {
  (void)parallel, (void)task, (void)flags, (void)code;
}
static void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                             ompt_data_t* task, unsigned team, unsigned index, int flags) {
  (void)endpoint, (void)parallel, (void)task, (void)team, (void)index, (void)flags;
}
static void on_work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                    ompt_data_t* task, uint64_t length, const void* code) {
  (void)kind, (void)endpoint, (void)parallel, (void)task, (void)length, (void)code;
}
static void on_masked(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                      ompt_data_t* task, const void* code) {
  (void)endpoint, (void)parallel, (void)task, (void)code;
}
/* Serves sync_region, sync_region_wait and reduction. */
static void on_sync(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                    ompt_data_t* parallel, ompt_data_t* task, const void* code) {
  (void)kind, (void)endpoint, (void)parallel, (void)task, (void)code;
}
static void on_task_create(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* made,
                           int flags, int dependences, const void* code) {
  (void)task, (void)frame, (void)made, (void)flags, (void)dependences, (void)code;
}
static void on_task_schedule(ompt_data_t* prior, ompt_task_status_t status,
                             ompt_data_t* next) {
  (void)prior, (void)status, (void)next;
}
static void on_mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned implementation,
                             ompt_wait_id_t mutex, const void* code) {
  (void)kind, (void)hint, (void)implementation, (void)mutex, (void)code;
}
/* Serves mutex_acquired and mutex_released. */
static void on_mutex(ompt_mutex_t kind, ompt_wait_id_t mutex, const void* code) {
  (void)kind, (void)mutex, (void)code;
}
static void on_nest_lock(ompt_scope_endpoint_t endpoint, ompt_wait_id_t mutex,
                         const void* code) {
  (void)endpoint, (void)mutex, (void)code;
}
static void on_flush(ompt_data_t* thread, const void* code) { (void)thread, (void)code; }
static void on_cancel(ompt_data_t* task, int flags, const void* code) {
  (void)task, (void)flags, (void)code;
}

static int initialise(ompt_function_lookup_t lookup, int device, ompt_data_t* data) {
  (void)device, (void)data;
  const ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  if (!set) return 0;
  const struct {
    ompt_callbacks_t event;
    ompt_callback_t callback;
  } callbacks[] = {
      {ompt_callback_thread_begin, (ompt_callback_t)on_thread_begin},
      {ompt_callback_thread_end, (ompt_callback_t)on_thread_end},
      {ompt_callback_parallel_begin, (ompt_callback_t)on_parallel_begin},
      {ompt_callback_parallel_end, (ompt_callback_t)on_parallel_end},
      {ompt_callback_implicit_task, (ompt_callback_t)on_implicit_task},
      {ompt_callback_work, (ompt_callback_t)on_work},
      {ompt_callback_masked, (ompt_callback_t)on_masked},
      {ompt_callback_sync_region, (ompt_callback_t)on_sync},
      {ompt_callback_sync_region_wait, (ompt_callback_t)on_sync},
      {ompt_callback_reduction, (ompt_callback_t)on_sync},
      {ompt_callback_task_create, (ompt_callback_t)on_task_create},
      {ompt_callback_task_schedule, (ompt_callback_t)on_task_schedule},
      {ompt_callback_mutex_acquire, (ompt_callback_t)on_mutex_acquire},
      {ompt_callback_mutex_acquired, (ompt_callback_t)on_mutex},
      {ompt_callback_mutex_released, (ompt_callback_t)on_mutex},
      {ompt_callback_nest_lock, (ompt_callback_t)on_nest_lock},
      {ompt_callback_flush, (ompt_callback_t)on_flush},
      {ompt_callback_cancel, (ompt_callback_t)on_cancel},
  };
  for (unsigned i = 0; i < sizeof callbacks / sizeof *callbacks; ++i)
    set(callbacks[i].event, callbacks[i].callback);
  return 1;
}

static void finalise(ompt_data_t* data) { (void)data; }

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* runtime) {
  (void)version, (void)runtime;
  static ompt_start_tool_result_t result = {initialise, finalise, {0}};
  return &result;
}
