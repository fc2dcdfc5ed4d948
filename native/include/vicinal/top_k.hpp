// The k best candidates seen so far, in the one order every backend agrees on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace vicinal {

// What two rows are compared by. The numbers are those of the Python side.
enum class Metric : int { euclidean = 0, cosine = 1, dot = 2 };

// `key` is the squared distance, or the similarity with its sign turned: smaller is nearer.
struct Candidate {
  double key;
  std::int32_t id;
};

// Nearer first, and of two equally near the lower row id.
inline constexpr auto before = [](const Candidate& a, const Candidate& b) {
  return a.key < b.key || (a.key == b.key && a.id < b.id);
};

// A bounded heap with the worst of the kept candidates at its root.
class TopK {
 public:
  explicit TopK(std::size_t k) : k_(k) {}

  std::size_t size() const { return heap_.size(); }
  std::size_t capacity() const { return k_; }
  bool full() const { return heap_.size() == k_; }

  // A candidate with a larger key than this cannot enter any more; infinity while there is room.
  double worst_key() const {
    return full() && k_ > 0 ? heap_.front().key : std::numeric_limits<double>::infinity();
  }

  void push(Candidate candidate) {
    if (heap_.size() < k_) {
      heap_.push_back(candidate);
      std::push_heap(heap_.begin(), heap_.end(), before);
    } else if (k_ > 0 && before(candidate, heap_.front())) {
      std::pop_heap(heap_.begin(), heap_.end(), before);
      heap_.back() = candidate;
      std::push_heap(heap_.begin(), heap_.end(), before);
    }
  }

  void clear() { heap_.clear(); }

  // Nearest first. The heap is no heap afterwards: nothing may be pushed before clear().
  const std::vector<Candidate>& sort() {
    std::sort(heap_.begin(), heap_.end(), before);
    return heap_;
  }

 private:
  std::size_t k_;
  std::vector<Candidate> heap_;
};

}  // namespace vicinal
