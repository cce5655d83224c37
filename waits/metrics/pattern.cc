#include "waits/metrics/pattern.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace refrain::waits {

PatternSet::PatternSet(std::vector<std::unique_ptr<Pattern>> patterns)
    : patterns_(std::move(patterns)) {
  tree_.metrics = base_metrics();
  for (const MetricInfo& metric : tree_.metrics)
    tree_.parents.push_back(metric.parent.empty() ? kNone : tree_.of(metric.parent));
  for (const std::unique_ptr<Pattern>& pattern : patterns_) {
    pattern->set_ = this;
    pattern->number_ = static_cast<std::uint32_t>(tree_.metrics.size());
    const MetricInfo metric = pattern->metric();
    const std::uint32_t parent = tree_.of(metric.parent);
    const std::string pattern_of = "the pattern of the metric '" + metric.name + "' ";
    if (metric.name.empty())
      pattern->fail("a pattern has a metric without a name");
    else if (tree_.of(metric.name) != kNone)
      pattern->fail(pattern_of + "cannot be used: there is such a metric already");
    else if (parent == kNone && !metric.parent.empty())
      pattern->fail(pattern_of + "cannot be used: its parent '" + metric.parent +
                    "' is not a metric before it");
    tree_.parents.push_back(parent == kNone && !metric.parent.empty() ? std::uint32_t{kTime}
                                                                      : parent);
    tree_.metrics.push_back(metric);
    for (const Compound compound : pattern->wants())
      lists_[static_cast<std::size_t>(compound)].push_back(pattern.get());
  }
}

std::vector<std::unique_ptr<Pattern>> with_more(
    std::vector<std::unique_ptr<Pattern>> patterns,
    std::vector<std::unique_ptr<Pattern>> more) {
  const auto is_view = [](const std::unique_ptr<Pattern>& each) {
    return each->metric().parent.empty();
  };
  const auto first = std::ranges::find_if(patterns, is_view);
  std::vector<std::unique_ptr<Pattern>> views(std::make_move_iterator(first),
                                              std::make_move_iterator(patterns.end()));
  patterns.erase(first, patterns.end());
  for (std::unique_ptr<Pattern>& each : more) {
    const std::string parent = each->metric().parent;
    const bool of_view =
        std::ranges::any_of(views, [&](const std::unique_ptr<Pattern>& other) {
          return other->metric().name == parent;
        });
    (is_view(each) || of_view ? views : patterns).push_back(std::move(each));
  }
  std::ranges::move(views, std::back_inserter(patterns));
  return patterns;
}

}  // namespace refrain::waits
