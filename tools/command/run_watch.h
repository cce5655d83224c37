// Says what a traced program could not say itself, because it was killed, crashed, or ended in another way that runs no
// code of the library's.
//
// Place in the flow: `refrain run` becomes the program, so that its process number, parent and status are what they were
// without us. Before that it starts a process that waits for the program's end, and has nothing to do with it: no child of
// it, in a session of its own, with none of its files but stderr. The library sends that process a message when the program has
// ended in order (tracer/life/run_report.h). Without one it looks at what was left, and says it in one line.
// Thread-safety: once. Errors: nobody watches. Cost: two forks; about a millisecond.
#pragma once

#include <cstdint>
#include <string>

namespace refrain::tools {

class RunWatch {
 public:
  // Of this process, which becomes the program. `archive`, `folder`, `since`: as spool::find_archives(). Names itself in
  // REFRAIN_WATCH. `silent`: nothing is said of a run that left nothing.
  void start(const std::string& archive, const std::string& folder, std::int64_t since,
             bool silent);
  // The program was not started.
  void stop() const;

 private:
  std::string name_;
};

}  // namespace refrain::tools
