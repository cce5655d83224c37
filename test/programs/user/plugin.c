/* A library that a program loads: it has a place of its own to look for Refrain. */
#include "tracer/user/refrain.h"

int plugin_add(int to) {
  REFRAIN_REGION_BEGIN("plugin");
  to++;
  REFRAIN_REGION_END("plugin");
  return to;
}
