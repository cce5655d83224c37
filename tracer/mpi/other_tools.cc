#include "tracer/mpi/other_tools.h"

#include "tracer/mpi/procedures.h"
#include "tracer/runtime/search_order.h"

namespace refrain::mpi {
namespace {

// "MPI_Send and 3 other procedures"
std::string text(const std::vector<std::string>& names) {
  std::string result = names.front();
  if (names.size() > 1)
    result += " and " + std::to_string(names.size() - 1) + " other procedure" +
              (names.size() > 2 ? "s" : "");
  return result;
}

}  // namespace

OtherTools find_other_tools() {
  OtherTools tools;
  const runtime::SearchOrder order;
  for (const ProcedureInfo& procedure : kProcedureTable) {
    if (const std::string file = order.taken_by(procedure.name); !file.empty()) {
      if (tools.before.empty()) tools.first = file;
      tools.before.emplace_back(procedure.name);
      tools.meaning = tools.meaning || procedure.means;
    }
    // MPI's own library has both names in one file.
    const std::string file = order.taken_from(procedure.name);
    const std::string own = order.taken_from((std::string("P") + procedure.name).c_str());
    if (file.empty() || own.empty() || file == own) continue;
    if (tools.after.empty()) tools.next = file;
    tools.after.emplace_back(procedure.name);
  }
  return tools;
}

std::vector<std::string> described(const OtherTools& tools) {
  std::vector<std::string> lines;
  if (!tools.before.empty())
    lines.push_back(tools.first + " takes " + text(tools.before) +
                    " of MPI before Refrain: these calls are not traced" +
                    (tools.meaning ? ", nor are messages and collectives" : ""));
  if (!tools.after.empty())
    lines.push_back(tools.next + " has " + text(tools.after) +
                    " of MPI, but Refrain takes the calls first: it is not called");
  return lines;
}

}  // namespace refrain::mpi
