// Other libraries, or the program itself, that define procedures of MPI, as profiling tools do
// (MPI-4.0, section 15.2): which are called.
//
// Place in the flow: ARCHITECTURE.md, stage 2. The loader decides, once for each name, for the first
// one in this order: the program, what is preloaded, its libraries. Procedures that are taken before
// Refrain's are not recorded: their wrappers call MPI by its PMPI_ names. So do Refrain's: wrappers
// that come after it are not called. Messages and collectives of which some are not seen cannot be
// counted: this is reported to the journal (kTextTaken), and the archive has none.
// Thread-safety: none; when tracing starts. Cost: about a millisecond.
#pragma once

#include <string>
#include <vector>

namespace refrain::mpi {

struct OtherTools {
  std::vector<std::string> before;  // procedures that others take before Refrain
  std::string first;                // file that has the first of these
  bool meaning = false;  // with what they do messages or collectives are not known
  std::vector<std::string> after;  // that Refrain takes from others
  std::string next;                // file that has the first of these
};
OtherTools find_other_tools();

// One line each, for the user, of what was found.
std::vector<std::string> described(const OtherTools& tools);

}  // namespace refrain::mpi
