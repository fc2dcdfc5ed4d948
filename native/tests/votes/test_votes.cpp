#include "check.hpp"
#include "vicinal/votes/votes.hpp"

namespace vicinal::test_votes {

static bool same(const std::vector<vicinal::LabelCount>& row,
                 const std::vector<std::pair<int, int>>& expected) {
  bool equal = row.size() == expected.size();
  for (std::size_t i = 0; equal && i < row.size(); ++i)
    equal = row[i].label == expected[i].first && row[i].count == expected[i].second;
  return equal;
}

TEST(test_votes) {
  const std::vector<std::int64_t> indptr{0, 2, 2, 3, 5};  // {0, 4}, {}, {4}, {1, 4}
  const std::vector<std::int32_t> labels{0, 4, 4, 1, 4};
  const std::vector<std::int32_t> ids{0, 2, 3, 1, -1, -1, 3, 0, -1};
  VoteTable table({indptr, labels, 5}, ids, 3);
  table.extend(0, 1, 2, vicinal::never_interrupted);
  CHECK(same(table.rows()[0], {{0, 1}, {4, 1}}));
  CHECK(same(table.rows()[1], {}));
  table.extend(1, 3, 2, vicinal::never_interrupted);
  CHECK(same(table.rows()[0], {{0, 1}, {1, 1}, {4, 3}}));
  CHECK(same(table.rows()[1], {}));
  CHECK(same(table.rows()[2], {{0, 1}, {1, 1}, {4, 2}}));
}

}  // namespace vicinal::test_votes
