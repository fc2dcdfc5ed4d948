// Lists of label centroids: sums of any size, differences, and arrays that cannot be trusted.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "check.hpp"
#include "vicinal/blend/centroid_lists.hpp"

namespace vicinal::test_centroid_lists {

namespace {

using Sums = std::map<std::int32_t, std::int64_t>;  // by label

constexpr std::int32_t n_labels = 300;

// Small, large and negative sums of some labels.
Sums random_sums(std::mt19937_64& random) {
  Sums sums;
  for (std::int32_t label = 0; label < n_labels; ++label) {
    if (random() % 3 != 0) continue;
    const auto size = static_cast<std::int64_t>(random() >> (random() % 3 == 0 ? 20 : 33));
    sums[label] = 1 + size * (random() % 5 == 0 ? -1 : 1);
    if (sums[label] == 0) sums.erase(label);
  }
  return sums;
}

CentroidBlock block_of(const std::vector<Sums>& lists, std::int64_t first) {
  GrowingBlock block;
  for (const Sums& list : lists) {
    for (const auto& [label, sum] : list) block.add(label, sum);
    block.add(n_labels, 0);  // no label is listed without a sum
    block.end_list();
  }
  return GrowingBlock::shared(std::move(block), first);
}

// What a list says, read in pieces.
Sums read(const CentroidList& list) {
  Sums found;
  CentroidReader reader(list);
  for (std::int32_t end = 0; end <= n_labels + 50; end += 50) {
    reader.read_below(end, [&](std::int32_t label, double sum) {
      CHECK(label < end && label >= end - 50);
      found[label] = static_cast<std::int64_t>(sum);
    });
    CHECK(reader.next() >= end);
  }
  return found;
}

bool says(const CentroidList& list, const Sums& expected) {
  bool equal = read(list) == expected;
  for (std::int32_t label = 0; label < n_labels; ++label) {
    const auto at = expected.find(label);
    equal = equal && list.sum(label) == (at == expected.end() ? 0 : at->second);
  }
  return equal;
}

// Products with the sums, added in pieces by every instruction set.
bool adds(const CentroidList& list, const Sums& expected) {
  bool equal = true;
  for (const std::string& level : simd_levels()) {
    std::vector<double> products(n_labels + 50, 0.5), wanted = products;
    for (const auto& [label, sum] : expected) wanted[label] += 0.3 * static_cast<double>(sum);
    CentroidReader reader(list);
    for (const std::int32_t end : {1, 130, n_labels + 50}) {
      reader.fetch();
      reader.add_below(end, 0.3, products.data(), simd_level(level));
    }
    equal = equal && products == wanted;
  }
  return equal;
}

void lists_say_what_was_added() {
  std::mt19937_64 random(1);
  const std::vector<Sums> lists{random_sums(random), {}, random_sums(random), {{7, -1}}};
  const CentroidBlock block = block_of(lists, 40);
  CHECK(block.n_features() == 4 && block.is_sound(n_labels) && !block.wide.empty());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const CentroidList list = CentroidList::of(block, 40 + static_cast<std::int64_t>(i));
    CHECK(says(list, lists[i]));
    CHECK(adds(list, lists[i]));
  }
}

void differences_replace_what_is_listed() {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20; ++round) {
    Sums sums = random_sums(random);
    const CentroidBlock block = block_of({sums}, 0);
    CentroidList list = CentroidList::of(block, 0);
    for (std::int32_t label = 0; label < n_labels; ++label) {
      if (random() % 6 != 0) continue;
      const auto sum = static_cast<std::int64_t>(random() % 4) - 1;  // 0 among them
      list.differences.push_back({label, list.listed(label) != 0, sum});
      sums.erase(label);
      if (sum != 0) sums[label] = sum;
    }
    CHECK(says(list, sums));
    CHECK(adds(list, sums));
    CHECK(list.has_many_differences());
  }
}

void blocks_can_be_joined() {
  std::mt19937_64 random(3);
  const std::vector<Sums> lists{random_sums(random), random_sums(random), random_sums(random)};
  const std::vector<CentroidBlock> parts{block_of({lists[0], lists[1]}, 5),
                                         block_of({lists[2]}, 7)};
  GrowingBlock joined;
  joined.reserve(parts);
  for (const CentroidBlock& part : parts) joined.append(part);
  const CentroidBlock block = GrowingBlock::shared(std::move(joined), 5);
  CHECK(block.is_sound(n_labels) && block.n_features() == 3);
  for (std::int64_t i = 0; i < 3; ++i) CHECK(says(CentroidList::of(block, 5 + i), lists[i]));
}

void arrays_that_do_not_fit_are_found() {
  std::mt19937_64 random(4);
  const CentroidBlock block = block_of({random_sums(random), random_sums(random)}, 0);
  CHECK(block.is_sound(n_labels) && block.wide.size() > 1);
  CHECK(!block.is_sound(block.labels[0]));
  CentroidBlock changed = block;
  changed.starts = block.starts.first(block.starts.size() - 1);
  CHECK(!changed.is_sound(n_labels));
  changed = block;
  changed.wide = block.wide.first(block.wide.size() - 1);
  CHECK(!changed.is_sound(n_labels));
  changed = block;
  const std::vector<std::uint32_t> elsewhere(block.wide.size(), 1'000'000);
  changed.wide_places = elsewhere;
  CHECK(!changed.is_sound(n_labels));
  changed = block;
  std::vector<std::int32_t> falling(block.labels.begin(), block.labels.end());
  std::swap(falling[0], falling[1]);
  changed.labels = falling;
  CHECK(!changed.is_sound(n_labels));
}

}  // namespace

TEST(test_centroid_lists) {
  lists_say_what_was_added();
  differences_replace_what_is_listed();
  blocks_can_be_joined();
  arrays_that_do_not_fit_are_found();
}

}  // namespace vicinal::test_centroid_lists
