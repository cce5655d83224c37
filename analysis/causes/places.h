// Where in the program processes spend their time: between two events, in a parallel region, in a function or region of its own.
//
// Place in the flow: private to analysis/causes; of the event flow graphs and the call trees of primary threads.
// Thread-safety: const after it was made. Units: ns. Memory: a number for each place and process.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/profile/run_profile.h"
#include "summary/run_summary.h"

namespace refrain::analysis {

class Places {
 public:
  Places(const std::vector<summary::RunSummary>& summaries, const RunProfile& profile);

  // Where these processes spend most more than those that are no causers, of `excess` ns each; empty: at no place a good part of it.
  std::string of_more(const std::vector<std::size_t>& group,
                      const std::vector<bool>& is_causer, double excess) const;
  // Between which two events most time of all processes passes, at least so much; empty: nowhere.
  std::string between(double minimum) const;

 private:
  using ByProcess = std::map<std::string, std::vector<double>>;

  void add(std::size_t process, const summary::FlowGraph& flow, double tick_ns);
  void add_functions(const RunProfile& profile);
  void more_in(const ByProcess& places, const std::vector<std::size_t>& group,
               const std::vector<bool>& is_causer, double weight, double& most,
               std::string& best) const;
  std::vector<double>& of(ByProcess& places, const std::string& place) const;

  std::size_t processes_;
  ByProcess between_, regions_, functions_;
};

}  // namespace refrain::analysis
