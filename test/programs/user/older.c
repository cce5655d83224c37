/* A library of Refrain that is older than the header: its table has a member less. It must not be called. */
#include <stdio.h>

#include "tracer/user/refrain.h"

static struct refrain_api older;

static void never(void) { __builtin_trap(); }

const struct refrain_api* refrain_get_api(unsigned version) {
  (void)version;
  older.size = sizeof older - sizeof(void*);
  older.pause = older.resume = never;
  return &older;
}

int main(void) {
  REFRAIN_REGION_BEGIN("work");
  REFRAIN_PARAMETER_INT("size", 3);
  REFRAIN_PAUSE();
  REFRAIN_RESUME();
  REFRAIN_REGION_END("work");
  puts("done");
  return 0;
}
