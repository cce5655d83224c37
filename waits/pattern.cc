#include "waits/pattern.h"

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
    tree_.parents.push_back(parent == kNone && !metric.parent.empty() ? std::uint32_t{kTime}
                                                                      : parent);
    tree_.metrics.push_back(metric);
    for (const Compound compound : pattern->wants())
      lists_[static_cast<std::size_t>(compound)].push_back(pattern.get());
  }
}

}  // namespace refrain::waits
