// Where the waits at a call come from in the end: whose work, through whatever waits of others, as the events say.
//
// Place in the flow: ARCHITECTURE.md, stage 6; for root causes that only name a call (analysis/causes), whose messages come late
// although no rank has more work: pipelines, messages in another order. Thread-safety: pure. Units: seconds.
// Method: what others did longer is charged directly (WaitAnalysis::causes). What they waited themselves meanwhile goes back to
// where the long-term delay costs of such waits are, in proportion: of one kind of waits as a whole, for which of them is not known.
// Source: Boehme et al., "Identifying the root causes of wait states in large-scale parallel applications", TOPC 3(2), 2016.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "waits/findings.h"
#include "waits/wait_analysis.h"

namespace refrain::waits {

struct Origin {
  double waited = 0;            // at all paths of this call, in what is written
  double in_call = 0;           // of that, with what it takes otherwise
  double other_order = 0;       // of `waited`: for messages that were sent in another order
  std::vector<Causer> causers;  // they add up to `waited` at most; most time first
};

// `call`: as "MPI_Recv @ring.c:9".
Origin origin_of(const WaitAnalysis& analysis, std::string_view call);

// A sentence: who it goes back to, as far as that is most of it; empty: the events do not say, or hardly any of it is waiting.
std::string origin_text(const WaitAnalysis& analysis, const Origin& origin);

// A sentence on how much of the time in MPI is waiting for ranks that come later; empty: little is. For runs without enough cores: a
// rank that polls is ready to run without a core all that time, but more cores do not bring its message.
std::string waiting_text(const WaitAnalysis& analysis);

}  // namespace refrain::waits
