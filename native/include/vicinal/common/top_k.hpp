// The k nearest rows found so far, in the order on which every search method agrees.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace vicinal {

// How two rows are compared. The numbers match those of the Python layer.
enum class Metric : int { euclidean = 0, cosine = 1, dot = 2 };

// `key` is the squared distance or the negated similarity: smaller is nearer.
struct Neighbor {
  double key;
  std::int32_t id;
};

// Nearer first; of two equally near rows, the lower id first.
inline constexpr auto before = [](const Neighbor& a, const Neighbor& b) {
  return a.key < b.key || (a.key == b.key && a.id < b.id);
};

// A bounded heap with the worst kept neighbour at its root.
class TopK {
 public:
  explicit TopK(std::size_t k) : k_(k) {}

  std::size_t size() const { return heap_.size(); }
  std::size_t capacity() const { return k_; }
  bool full() const { return heap_.size() == k_; }

  // A row with a larger key than this cannot enter any more; infinity until the heap is full.
  double worst_key() const {
    return full() && k_ > 0 ? heap_.front().key : std::numeric_limits<double>::infinity();
  }

  void push(Neighbor neighbor) {
    if (heap_.size() < k_) {
      heap_.push_back(neighbor);
      std::push_heap(heap_.begin(), heap_.end(), before);
    } else if (k_ > 0 && before(neighbor, heap_.front())) {
      std::pop_heap(heap_.begin(), heap_.end(), before);
      heap_.back() = neighbor;
      std::push_heap(heap_.begin(), heap_.end(), before);
    }
  }

  void clear() { heap_.clear(); }

  // Nearest first. This destroys the heap: call clear() before the next push().
  const std::vector<Neighbor>& sort() {
    std::sort(heap_.begin(), heap_.end(), before);
    return heap_;
  }

 private:
  std::size_t k_;
  std::vector<Neighbor> heap_;
};

}  // namespace vicinal
