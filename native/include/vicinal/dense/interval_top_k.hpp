// The k best of values known only up to an error: every row that could be among them is kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace vicinal {

// A row's score, larger is nearer, lies between `low` and `high`.
struct Interval {
  float low;
  float high;
  std::int32_t id;
};

// Keeps each interval that reaches the k-th best lower end. The list is pruned when it has doubled
// since the last pruning, so the work is linear in the number of intervals added.
class IntervalTopK {
 public:
  explicit IntervalTopK(std::size_t k) : k_(k), limit_(2 * k + 64) {}

  // Nothing whose upper end is below this can be among the k best.
  float threshold() const { return threshold_; }

  void push(Interval interval) {
    kept_.push_back(interval);
    if (kept_.size() >= limit_) tighten();
  }

  const std::vector<Interval>& tighten() {
    if (kept_.size() < k_ || k_ == 0) return kept_;
    const auto kth = kept_.begin() + static_cast<std::ptrdiff_t>(k_) - 1;
    std::nth_element(kept_.begin(), kth, kept_.end(),
                     [](const Interval& a, const Interval& b) { return a.low > b.low; });
    threshold_ = std::max(threshold_, kth->low);
    std::erase_if(kept_, [this](const Interval& interval) { return interval.high < threshold_; });
    limit_ = 2 * kept_.size() + 64;
    return kept_;
  }

 private:
  std::size_t k_;
  std::size_t limit_;
  float threshold_ = -std::numeric_limits<float>::infinity();
  std::vector<Interval> kept_;
};

}  // namespace vicinal
