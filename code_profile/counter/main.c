// The tool's entry: what valgrind calls, and when.
#include "loop_tool.h"

static Bool process_option(const HChar* argument) {
  return VG_STR_CLO(argument, "--loops-out", output_prefix);
}

static void print_usage(void) {
  VG_(printf)("    --loops-out=PREFIX   write PREFIX.PID.N [refrain-loops]\n");
}

static void print_debug_usage(void) { VG_(printf)("    (none)\n"); }

static void begin(void) {
  threads = VG_(calloc)("loops.threads", VG_N_THREADS + 1, sizeof(Thread*));
  // A block for each piece of straight code: no jumps followed, no loops unrolled.
  VG_(clo_vex_control).iropt_unroll_thresh = 0;
  VG_(clo_vex_control).guest_chase = False;
}

static void end(Int status) {
  (void)status;
  close_all();
  write_output();
}

static void before_syscall(ThreadId tid, UInt number, UWord* arguments, UInt count) {
  (void)tid, (void)count;
  // A process that becomes another program does not come to its end. Paths that are tried are not
  // executable, mostly.
  if (number == __NR_execve &&
      VG_(access)((const HChar*)arguments[0], False, False, True) == 0)
    end(0);
}

static void after_syscall(ThreadId tid, UInt number, UWord* arguments, UInt count,
                          SysRes result) {
  (void)arguments, (void)count, (void)result;
  // It did not: go on, as if the thread began here.
  if (number == __NR_execve && threads[tid]->stack.frame_count == 0) thread_begins(tid);
}

static void stopped(ThreadId tid, ULong blocks) {
  (void)tid, (void)blocks;
  discard_pending();
}

static void in_child(ThreadId tid) {
  for (UInt other = 0; other < thread_slots; ++other)
    if (other != tid) threads[other] = NULL;
  forget_counts();
  output_forked();
}

static void initialise(void) {
  VG_(details_name)("refrainloops");
  VG_(details_version)(NULL);
  VG_(details_description)("loops as they run, for 'refrain loops --exact'");
  VG_(details_copyright_author)
  ("Part of Refrain; distributed under the GNU GPL, version 2 or later.");
  VG_(details_bug_reports_to)("the authors of Refrain");
  VG_(details_avg_translation_sizeB)(700);
  VG_(basic_tool_funcs)(begin, instrument, end);
  VG_(needs_command_line_options)(process_option, print_usage, print_debug_usage);
  VG_(needs_syscall_wrapper)(before_syscall, after_syscall);
  VG_(track_pre_thread_first_insn)(thread_begins);
  VG_(track_pre_thread_ll_exit)(thread_ends);
  VG_(track_pre_deliver_signal)(signal_begins);
  VG_(track_post_deliver_signal)(signal_ends);
  VG_(track_stop_client_code)(stopped);
  VG_(atfork)(NULL, NULL, in_child);
  blocks_init();
}

VG_DETERMINE_INTERFACE_VERSION(initialise)
