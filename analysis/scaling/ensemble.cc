#include "analysis/scaling/ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/causes/time_shape.h"
#include "analysis/scaling/scaling.h"
#include "base/texts.h"

namespace refrain::analysis {
namespace {

using MemberKind = EnsembleMember::Kind;
using More = EnsembleMember::More;

constexpr double kMinMargin = 0.05;  // of the median
constexpr double kDeviations = 3.5;  // median deviations, as those of a normal distribution
constexpr double kNormal = 1.4826;
constexpr double kMinReason = 0.1;  // of the difference, of what is named
constexpr std::size_t kMaxReasons = 5;
constexpr std::size_t kMaxNames = 12;
constexpr double kNoCore = 0.1;  // of the time of all threads, without a core

std::string names_text(const std::vector<const EnsembleMember*>& members) {
  std::string text;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i == kMaxNames)
      return text + fmt::format(" and {} more", members.size() - kMaxNames);
    text += (i == 0 ? "" : i + 1 == members.size() ? " and " : ", ") + members[i]->name;
  }
  return text;
}

class EnsembleBuilder {
 public:
  explicit EnsembleBuilder(std::vector<Scale> runs) : runs_(std::move(runs)) {
    std::ranges::stable_sort(runs_, std::greater(),
                             [](const Scale& run) { return run.whole.time_ns; });
  }

  Ensemble build() {
    out_.program = runs_.front().program;
    out_.processes = runs_.front().processes;
    out_.threads = runs_.front().threads;
    for (const Scale& run : runs_) {
      out_.mpi = out_.mpi || run.mpi;
      EnsembleMember& member = out_.members.emplace_back();
      member.name = run.name;
      member.time_ns = run.whole.time_ns;
      member.all_ns = run.whole.all_ns;
      member.parallel = run.whole.efficiencies.parallel;
      member.core_wait_ns = run.conclusions.core_wait_ns;
      member.causes = run.conclusions.causes;
    }
    tell_apart();
    typical_places();
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (out_.members[i].kind != MemberKind::kTypical) explain(i);
    tell(MemberKind::kSlow);
    tell(MemberKind::kFast);
    notes();
    return std::move(out_);
  }

 private:
  // By the median and the median deviation, which some extreme members do not move.
  void tell_apart() {
    std::vector<double> times, deviations;
    for (const EnsembleMember& member : out_.members) times.push_back(member.time_ns);
    out_.median_ns = median_of(times);
    for (const double time : times) deviations.push_back(std::abs(time - out_.median_ns));
    out_.margin_ns = std::max(kMinMargin * out_.median_ns,
                              kDeviations * kNormal * median_of(deviations));
    for (EnsembleMember& member : out_.members) {
      const double more = member.time_ns - out_.median_ns;
      if (out_.median_ns > 0) member.ratio = member.time_ns / out_.median_ns;
      if (std::abs(more) > out_.margin_ns)
        member.kind = more > 0 ? MemberKind::kSlow : MemberKind::kFast;
    }
  }

  // Medians of the typical members.
  void typical_places() {
    std::map<std::string, std::pair<std::string, std::vector<double>>> places;
    std::size_t typical = 0;
    std::array<std::vector<double>, kAccounts> accounts;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (out_.members[i].kind != MemberKind::kTypical) continue;
      ++typical;
      for (const PlaceTime& place : runs_[i].places)
        if (place.kind == PlaceTime::Kind::kCallPath) {
          places[place.key].first = place.text;
          places[place.key].second.push_back(place.ns);
        }
      for (std::size_t a = 0; a < kAccounts; ++a)
        accounts[a].push_back(runs_[i].conclusions.ledger[a]);
    }
    for (auto& [key, place] : places) {
      place.second.resize(typical);  // who does not call it spends no time there
      typical_[key] = {place.first, median_of(std::move(place.second))};
    }
    for (std::size_t a = 0; a < kAccounts; ++a)
      typical_accounts_[a] = median_of(std::move(accounts[a]));
  }

  // What differs most, in the direction in which the member does.
  void explain(std::size_t i) {
    EnsembleMember& member = out_.members[i];
    for (std::size_t a = 0; a < kAccounts; ++a)
      if (static_cast<Account>(a) != Account::kStart)
        member.accounts.push_back({account_title(static_cast<Account>(a)),
                                   runs_[i].conclusions.ledger[a] - typical_accounts_[a]});
    std::map<std::string, More> places = typical_;
    for (auto& [key, more] : places) more.ns = -more.ns;
    for (const PlaceTime& place : runs_[i].places) {
      if (place.kind != PlaceTime::Kind::kCallPath) continue;
      More& more = places[place.key];
      more.text = place.text;
      more.ns += place.ns;
    }
    for (auto& [key, more] : places) member.places.push_back(std::move(more));
    for (std::vector<More>* each : {&member.accounts, &member.places}) {
      const double sign = member.kind == MemberKind::kSlow ? 1 : -1;
      std::erase_if(*each, [&](const More& more) {
        return sign * more.ns < kMinReason * difference(member);
      });
      std::ranges::stable_sort(*each, std::greater(),
                               [&](const More& more) { return sign * more.ns; });
      if (each->size() > kMaxReasons) each->resize(kMaxReasons);
    }
  }

  // Of all threads.
  double difference(const EnsembleMember& member) const {
    return std::abs(member.time_ns - out_.median_ns) * static_cast<double>(out_.threads);
  }

  double waited(const EnsembleMember& member) const {
    return member.all_ns > 0 ? member.core_wait_ns / member.all_ns : 0;
  }

  // What a member's sentence is about: members of one reason are told together.
  std::string reason_of(const EnsembleMember& member) const {
    const bool no_cores =
        member.kind == MemberKind::kSlow && waited(member) - waited_typical_ >= kNoCore;
    if (no_cores) return "cores";
    return (member.accounts.empty() ? "" : member.accounts.front().text) + "\n" +
           (member.places.empty() ? "" : member.places.front().text);
  }

  void tell(MemberKind kind) {
    std::vector<double> waits;
    for (const EnsembleMember& member : out_.members)
      if (member.kind == MemberKind::kTypical) waits.push_back(waited(member));
    waited_typical_ = median_of(waits);
    std::vector<std::pair<std::string, std::vector<const EnsembleMember*>>> groups;
    for (const EnsembleMember& member : out_.members) {
      if (member.kind != kind) continue;
      const std::string reason = reason_of(member);
      auto group = std::ranges::find(groups, reason, [](const auto& g) { return g.first; });
      if (group == groups.end()) group = groups.insert(groups.end(), {reason, {}});
      group->second.push_back(&member);
    }
    std::ranges::stable_sort(groups, std::greater(),
                             [](const auto& group) { return group.second.size(); });
    for (const auto& [reason, members] : groups)
      out_.findings.push_back(sentence(reason, members));
  }

  std::string sentence(const std::string& reason,
                       const std::vector<const EnsembleMember*>& members) const {
    const EnsembleMember& first = *members.front();
    const EnsembleMember& last = *members.back();
    const bool slow = first.kind == MemberKind::kSlow;
    const double a = std::abs(last.ratio - 1), b = std::abs(first.ratio - 1);
    std::string text = names_text(members);
    text +=
        fmt::format(" took {}{:.0f} % {} than the median of {} ({}{}).",
                    members.size() > 1 && std::lround(100 * a) != std::lround(100 * b)
                        ? fmt::format("{:.0f} to ", 100 * std::min(a, b))
                        : "",
                    100 * std::max(a, b), slow ? "longer" : "less",
                    base::duration_text(out_.median_ns, 3),
                    members.size() > 1 ? base::duration_text(last.time_ns, 3) + " to " : "",
                    base::duration_text(first.time_ns, 3));
    if (reason == "cores")
      return text +
             fmt::format(
                 " Threads had no core for {:.0f} % of the time (others: {:.0f} %): there were "
                 "more threads than cores, or other programs used them.",
                 100 * waited(first), 100 * waited_typical_);
    const char* what = slow ? "more" : "less";
    const double all = difference(first);
    const std::string whose = members.size() > 1 ? " in " + first.name : "";
    if (!first.accounts.empty())
      text += fmt::format(" {:.0f} % of the difference{} is {}.",
                          100 * std::abs(first.accounts.front().ns) / all, whose,
                          first.accounts.front().text);
    if (!first.places.empty())
      text += fmt::format(" {} took {} {} of all threads.", first.places.front().text,
                          base::duration_text(std::abs(first.places.front().ns), 3), what);
    if (first.accounts.empty() && first.places.empty())
      text += " No account of time and no place has a tenth of the difference.";
    if (slow)
      for (const RootCause& cause : first.causes)
        if (!first.accounts.empty() &&
            account_title(cause.account) == first.accounts.front().text)
          return text + " " + cause.what + ": " + cause.text;
    return text;
  }

  void notes() {
    const auto typical =
        std::ranges::count(out_.members, MemberKind::kTypical, &EnsembleMember::kind);
    if (2 * typical <= static_cast<std::ptrdiff_t>(out_.members.size()))
      out_.notes.emplace_back("Few members are alike: what is typical says little");
    if (waited_typical_ >= kNoCore)
      out_.notes.push_back(
          fmt::format("Threads of the typical members had no core for {:.0f} % of the time",
                      100 * waited_typical_));
  }

  std::vector<Scale> runs_;
  std::map<std::string, More> typical_;  // by key
  std::array<double, kAccounts> typical_accounts_{};
  double waited_typical_ = 0;
  Ensemble out_;
};

}  // namespace

bool is_ensemble(const std::vector<Scale>& runs) {
  return runs.size() > 2 && std::ranges::all_of(runs, [&](const Scale& run) {
           return run.threads == runs.front().threads &&
                  run.processes == runs.front().processes;
         });
}

base::Result<Ensemble> ensemble_of(std::vector<Scale> runs) {
  if (!is_ensemble(runs))
    return base::Failure{"give three runs or more on equally many processes and threads"};
  if (const auto one = of_one_program(runs); !one) return one.failure();
  return EnsembleBuilder(std::move(runs)).build();
}

}  // namespace refrain::analysis
