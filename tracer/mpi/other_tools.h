// Other libraries, or the program itself, that have procedures of MPI of their own, as profiling
// tools do (MPI-4.0, section 15.2): who wins.
//
// Place in the flow: ARCHITECTURE.md, step 2. The loader decides, once for each name: whoever comes first
// in the program, what is preloaded, its libraries. Procedures that are taken before Refrain's are not
// recorded: their wrappers call MPI by its PMPI_ names, and so do Refrain's, so that those that
// come after it are not called. Messages and collectives of which some are not seen cannot be
// counted: the journal is told (kTextTaken), and the archive has none.
// Thread-safety: none; when tracing starts. Cost: about a millisecond.
#pragma once

#include <string>
#include <vector>

namespace refrain::mpi {

struct OtherTools {
  std::vector<std::string> before;  // procedures that others take before Refrain
  std::string first;                // file that has the first of these
  bool meaning = false;  // with what they do messages or collectives are not known
  std::vector<std::string> behind;  // that Refrain takes from others
  std::string next;                 // file that has the first of these
};
OtherTools find_other_tools();

// One line for people, each; of what is there.
std::vector<std::string> described(const OtherTools& tools);

}  // namespace refrain::mpi
