#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/causes/cause_search.h"
#include "analysis/causes/cause_texts.h"
#include "base/texts.h"

namespace refrain::analysis {

namespace {

constexpr double kNearFastest = 4;  // times the fastest call: hardly any of it is waiting
// Share of the time that threads had no core: without one, nobody is to blame; far more than that, nor are those who wait longest.
constexpr double kFewCores = 0.2, kVeryFewCores = 0.36;

}  // namespace

void CauseSearch::communication() {
  if (share(ledger(Account::kCommunication)) < kMinShare) return;
  std::vector<MpiCall> calls = mpi_calls(profile_);
  std::vector<WaitsOfProcess> waits(processes_);
  for (std::size_t i = 0; i < processes_; ++i)
    waits[i] = {.threads = static_cast<double>(parts_.threads[i]),
                .explained = in_mpi_[i] > 0 ? std::min(1.0, explained_[i] / in_mpi_[i]) : 0,
                .chained_ns = chained_[i],
                .in_turn_ns = in_turn_[i]};
  charge_waits(calls, waits);
  double all = 0;
  for (const MpiCall& call : calls) all += call.total_lost() + call.others_ns;
  // The rest of the account is time in calls that wait for nobody (MPI_Wtime): not theirs.
  const double scale = all > 0 ? std::min(1.0, ledger(Account::kCommunication) / all) : 0;
  for (MpiCall& call : calls) {
    for (double& ns : call.lost_ns) ns *= scale;
    call.others_ns *= scale;
    if (share(call.total_lost() + call.others_ns) >= kMinShare) one_call(call);
  }
  join_varying();
  gains_of_meetings();
}

// What else is waited at the call in which ranks wait for work that varies, if it is less, is no finding of its own.
void CauseSearch::join_varying() {
  constexpr double kLess = 0.5;
  for (std::size_t into = 0; into < out_.causes.size(); ++into) {
    if (out_.causes[into].waits != RootCause::Waits::kForWork) continue;
    for (std::size_t from = 0; from < out_.causes.size(); ++from)
      if (const RootCause& rest = out_.causes[from];
          rest.waits == RootCause::Waits::kForAll &&
          rest.where == out_.causes[into].call() &&
          rest.lost_ns <= kLess * out_.causes[into].lost_ns)
        charge_to(out_, into, from, 1);
  }
}

void CauseSearch::gains_of_meetings() {
  using enum RootCause::Waits;
  // Of a small part of the waits a bound that has them all says nothing.
  constexpr double kSmall = 0.2;
  double all = 0;
  for (const RootCause& cause : out_.causes)
    if (cause.waits == kForMessages || cause.waits == kForAll) all += cause.lost_ns;
  for (RootCause& cause : out_.causes) {
    if (cause.waits != kForAll || cause.lost_ns >= all) continue;
    if (cause.lost_ns < kSmall * all) {
      cause.gain = gain_text(cause, "Without these waits alone", run_text(out_));
      continue;
    }
    cause.gain_ns = all / all_threads();
    cause.gain = gain_text(
        cause, "At best, without it and what ranks wait in other calls because of it",
        run_text(out_));
  }
}

void CauseSearch::one_call(const MpiCall& call) {
  const double each =
      call.total_ns() / static_cast<double>(std::max<std::uint64_t>(1, call.visits));
  const bool is_long = call.is_long(each);
  const std::vector<std::size_t> who =
      is_long && call.is_of_messages() ? most_of(call.lost_ns) : std::vector<std::size_t>();
  double ns = call.total_lost() + call.others_ns;
  // Where cores are few, ranks wait for those that wait for a core.
  if (is_long && cores_are_few_ >= (who.empty() ? kFewCores : kVeryFewCores) * counted_) {
    const double rest = without_core(Account::kCommunication, ns, waits_for_cores_);
    waits_for_cores_ -= ns - rest;
    ns = rest;
  }
  RootCause cause = whole_cause(Account::kCommunication, ns, call.name, call.path);
  for (std::size_t i = 0; i < processes_; ++i)
    cause.with_idle |= call.lost_ns[i] > 0 && parts_.threads[i] > 1;
  if (call.is_fine())
    fine_calls(cause, call, each);
  else if (processes_ == 1)
    alone(cause, call, each);
  else if (!is_long)
    transfers(cause, call, each);
  else if (call.is_of_messages())
    messages(cause, call, who);
  else
    meetings(cause, call, each);
  out_.causes.push_back(std::move(cause));
}

std::string CauseSearch::per_iteration(const MpiCall& call) const {
  const Frame* frame = main_frame(&Part::mpi);
  const auto callers = static_cast<double>(
      std::ranges::count_if(call.calls, [](double n) { return n > 0; }));
  if (frame == nullptr || frame->iterations == 0 || callers == 0 ||
      places_.is_in_another(call.name.substr(call.name.rfind('@') + 1), frame->loop))
    return {};
  // Of the first iterations, before it was found, one or two are not counted. Where that gives no whole number calls of other parts of the
  // program are among them.
  for (std::uint64_t missed = 0; missed <= 2; ++missed) {
    const double number = static_cast<double>(call.visits) / callers /
                          static_cast<double>(frame->iterations + missed);
    if (number < 1.5 || std::abs(number - std::round(number)) > 0.001 * number) continue;
    return fmt::format(" ({:.0f} per iteration of {} on each rank)", number,
                       loop_place(frame->loop));
  }
  return {};
}

std::string CauseSearch::calls_text(const MpiCall& call, double number, double each) const {
  return fmt::format("{:.0f} calls{}{}, {} each (fastest: {})", number,
                     call.bytes > 0 ? " of " + base::bytes_text(call.bytes) : "",
                     per_iteration(call), time_text(each), time_text(call.fastest_ns));
}

void CauseSearch::fine_calls(RootCause& cause, const MpiCall& call, double each) const {
  if (call.polls()) {
    cause.what = "Frequent polling";
    cause.text = fmt::format("{}: {} calls, {} each. Lost: {}.", call.name, call.visits,
                             time_text(each), lost_text(cause));
    cause.hint =
        "Where there is work between two polls, do more of it. Where there is none this is waiting, and so is the time "
        "between them: a call that blocks in their place (MPI_Probe, MPI_Recv, MPI_Wait) is no faster, but shows for whom.";
    return;
  }
  cause.what = "Many small MPI calls";
  // Receives far from the fastest wait, for whatever.
  const bool may_wait = processes_ > 1 && call.kind != MpiCall::Kind::kSend &&
                        each > kNearFastest * call.fastest_ns;
  cause.text =
      fmt::format("{}: {}. {}. Lost: {}.", call.name,
                  calls_text(call, static_cast<double>(call.visits), each),
                  may_wait ? "The share of waiting is not known from totals (refrain "
                             "analyze --metrics has the waits of written iterations)"
                           : "Little of this is waiting for others",
                  lost_text(cause));
  cause.hint = "Combine several messages into one, or communicate less often.";
}

void CauseSearch::transfers(RootCause& cause, const MpiCall& call, double each) const {
  cause.what = "Communication";
  cause.text = fmt::format(
      "{}: {}. No rank has more work that explains this. Lost: {}.", call.name,
      calls_text(call, static_cast<double>(call.visits), each), lost_text(cause));
  cause.hint =
      "The messages are large, or the network is slow: overlap communication "
      "with computation.";
}

// The only rank waits for nobody.
void CauseSearch::alone(RootCause& cause, const MpiCall& call, double each) const {
  cause.what = "Communication";
  cause.text = fmt::format(
      "{}: {}. The run has one rank: none of this is waiting for others. Lost: {}.",
      call.name, calls_text(call, static_cast<double>(call.visits), each),
      lost_text(cause));
  cause.hint = "Call it less often, or look at a run of more ranks.";
}

void CauseSearch::meetings(RootCause& cause, const MpiCall& call, double each) const {
  const bool barrier = call.kind == MpiCall::Kind::kBarrier;
  cause.waits = RootCause::Waits::kForAll;
  cause.what = barrier ? "Barriers" : "Ranks wait for each other";
  cause.text = fmt::format(
      "{}: {}. Ranks reach it at different times{}. Lost: {}.", call.name,
      calls_text(call, static_cast<double>(call.visits), each),
      has_cause(out_, Account::kUnevenRanks)
          ? "; ranks with more work (a finding of their own) do not explain this part"
      : main_frame(&Part::mpi) != nullptr ? " although none has more work over an iteration"
                                          : " although none has more work over the run",
      lost_text(cause));
  cause.hint =
      barrier ? "Remove barriers that the results do not need: differences between ranks "
                "even out over several iterations."
              : "Use fewer or non-blocking operations, so that differences between ranks "
                "even out.";
}

void CauseSearch::messages(RootCause& cause, const MpiCall& call,
                           const std::vector<std::size_t>& who) const {
  const bool sends = call.kind == MpiCall::Kind::kSend;
  if (!sends) cause.waits = RootCause::Waits::kForMessages;
  double number = 0, time = 0;
  for (std::size_t i = 0; i < processes_; ++i) {
    if (!who.empty() && !std::ranges::count(who, i)) continue;
    number += call.calls[i];
    time += call.time_ns[i];
  }
  cause.gain_ns = 0;
  for (std::size_t i = 0; i < processes_; ++i)
    cause.gain_ns = std::max(
        cause.gain_ns,
        call.lost_ns[i] / std::max<double>(1, static_cast<double>(parts_.threads[i])) -
            call.calls[i] * call.possible_ns());
  // A part may be for want of cores.
  cause.gain_ns *= cause.lost_ns / (call.total_lost() + call.others_ns);
  for (const std::size_t each : who) cause.ranks.push_back(rank_of(each));
  std::vector<std::uint32_t> callers = cause.ranks;
  if (who.empty())
    for (std::size_t i = 0; i < processes_; ++i)
      if (call.calls[i] > 0) callers.push_back(rank_of(i));
  const std::string ranks = callers.size() == processes_ ? std::string("All ranks")
                                                         : as_sentence(ranks_text(callers));
  const bool several = callers.size() != 1;
  cause.what = sends ? "Slow sends" : "Late messages";
  cause.text = fmt::format(
      "{} {} in {}: {}{}. {}: {}.", ranks,
      sends ? (several ? "stay" : "stays") : (several ? "wait" : "waits"), call.name,
      calls_text(call, number, number > 0 ? time / number : 0),
      sends ? ""
      : has_cause(out_, Account::kUnevenRanks)
          ? "; the messages arrive late, and ranks with more work (a finding of their own) do "
            "not explain this part"
          : "; the messages arrive late although no rank has more work",
      call.others_ns > 0
          ? std::string("Lost, including waits for ") + (several ? "them" : "it")
          : "Lost",
      lost_text(cause));
  cause.gain =
      gain_text(cause, sends ? "If all took as long as the fastest" : "Without these waits",
                run_text(out_));
  cause.hint =
      sends ? "Their network is slow, or their receivers are late: post receives "
              "earlier, or use non-blocking sends."
            : "Ranks work one after the other: send earlier, receive in the order of "
              "sending, and compute in between.";
  if (call.others_ns <= 0) return;
  std::vector<bool> is(processes_);
  for (const std::size_t each : who) is[each] = true;
  for (const auto& [where, ns] : waits_by_place(is))
    if (where != call.name) cause.evidence.push_back({where, ns});
}

}  // namespace refrain::analysis
