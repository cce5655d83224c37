#include "tracer/recorder/slow_path.h"

namespace refrain::recorder {

constinit thread_local unsigned t_own_code __attribute__((tls_model("initial-exec"))) = 0;

}  // namespace refrain::recorder
