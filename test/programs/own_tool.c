/* Contains its own OMPT tool, which counts parallel regions.
 *
 * Arguments: [tool = yes | no: it declines] [iterations = 50]
 * The last line: `regions=... counted=... checksum=...`. */
#include <omp-tools.h>

#include "common.h"

static long counted;
static const char* wanted = "yes";

static void on_parallel_begin(ompt_data_t* task, const ompt_frame_t* frame,
                              ompt_data_t* parallel, unsigned requested, int flags,
                              const void* code) {
  (void)task, (void)frame, (void)parallel, (void)requested, (void)flags, (void)code;
  ++counted;
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t* data) {
  (void)device, (void)data;
  const ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
  set(ompt_callback_parallel_begin, (ompt_callback_t)on_parallel_begin);
  return 1;
}

static void finalize(ompt_data_t* data) { (void)data; }

ompt_start_tool_result_t* ompt_start_tool(unsigned version, const char* runtime) {
  (void)version, (void)runtime;
  static ompt_start_tool_result_t result = {initialize, finalize, {0}};
  return strcmp(wanted, "no") ? &result : NULL;
}

static NOINLINE uint64_t region(uint64_t seed) {
  uint64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (int i = 0; i < 64; ++i) sum += scramble(seed + (uint64_t)i) >> 8;
  return sum;
}

int main(int argc, char** argv) {
  if (argc > 1) wanted = argv[1]; /* the runtime asks with the first region */
  const long iterations = argument(argc, argv, 2, 50, 0);
  uint64_t total = 0;
  for (long k = 0; k < iterations; ++k) total = checksum_add(total, region((uint64_t)k));
  printf("regions=%ld counted=%ld checksum=%016llx\n", iterations, counted,
         (unsigned long long)total);
  return 0;
}
