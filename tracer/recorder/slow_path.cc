#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {

constinit thread_local unsigned t_own_code __attribute__((tls_model("initial-exec"))) = 0;
constinit thread_local unsigned t_no_handlers __attribute__((tls_model("initial-exec"))) =
    0;
constinit thread_local SlowTicks t_slow_ticks __attribute__((tls_model("initial-exec")));

}  // namespace refrain::recorder
