/* A library that a program loads: it looks up Refrain by itself. */
#include "tracer/user/refrain.h"

int plugin_add(int to) {
  REFRAIN_REGION_BEGIN("plugin");
  to++;
  REFRAIN_REGION_END("plugin");
  return to;
}
