#include <limits>
#include <vector>

#include "check.hpp"
#include "vicinal/boost/boosting.hpp"
#include "vicinal/common/csr.hpp"
#include "vicinal/dense/dense_index.hpp"
#include "vicinal/rank/rank_dual.hpp"
#include "vicinal/rank/score_rows.hpp"
#include "vicinal/search/postings.hpp"
#include "vicinal/votes/dml_counts.hpp"
#include "vicinal/votes/row_sums.hpp"
#include "vicinal/votes/votes.hpp"

namespace vicinal::test_preconditions {

namespace {

using Offsets = std::vector<std::int64_t>;
using Ids = std::vector<std::int32_t>;

void valid_matrices_are_accepted() {
  CHECK(is_csr(Offsets{0}, Ids{}, 0));
  CHECK(is_csr(Offsets{}, Ids{}, 3));
  CHECK(is_csr(Offsets{0, 0, 2, 2, 3}, Ids{0, 4, 2}, 5));
  const Offsets indptr{0, 2};
  const Ids indices{0, 1};
  const std::vector<float> values{1, 2};
  CHECK(CsrView<float>(indptr, indices, values, 2).n_rows() == 1);
  CHECK(PatternView(indptr, indices, PatternView::unknown_columns).columns(0).size() == 2);
}

void damaged_matrices_are_rejected() {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const Ids three{0, 1, 2};
  const std::vector<Offsets> damaged{
      {1, 3},                    // does not start at 0
      {-1, 3},                   //
      {0, 2},                    // ends before the last entry
      {0, 4},                    // ends after it
      {0, 2, 1, 3},              // falls
      {0, 2, 2'000'000, least},  // wraps when subtracted
      {0, 1'500'000'000, -1'294'967'296, 3},
      {0, most, 3},   //
      {0, least, 3},  //
      {},             // entries without rows
  };
  for (const Offsets& indptr : damaged) {
    CHECK(!is_csr(indptr, three, 3));
    CHECK_THROWS(PreconditionError, PatternView(indptr, three, 3));
  }
  const Offsets indptr{0, 3};
  for (const Ids& indices : {Ids{0, 1, 3}, Ids{-1, 0, 1}, Ids{0, 2, 1}, Ids{0, 1, 1}}) {
    CHECK(!is_csr(indptr, indices, 3));
    CHECK_THROWS(PreconditionError, PatternView(indptr, indices, 3));
  }
  const std::vector<double> two{1, 2};
  CHECK_THROWS(PreconditionError, CsrView<double>(indptr, three, two, 3));
}

const Offsets indptr{0, 2, 3};
const Ids indices{0, 1, 1};
const std::vector<double> values{1, 2, 3};

void constructors_verify_their_arguments() {
  const std::vector<double> base{0, 0};
  CHECK_THROWS(PreconditionError, ScoreRows(indptr, indices, values, base, 3, 2));
  CHECK_THROWS(PreconditionError, ScoreRows(indptr, indices, values, {}, 2, 2));
  CHECK_THROWS(PreconditionError, ScoreRows({}, indices, values, {}, 2, 2));
  CHECK_THROWS(PreconditionError, DenseRows<double>(values, 2, 2));
  CHECK_THROWS(PreconditionError,
               DenseIndex<double>(DenseRows<double>(values, 3, 1), base, Metric::dot));
  CHECK_THROWS(PreconditionError, VoteTable(PatternView(indptr, indices, 2), Ids{0, 1, 2, -1}, 2));
  CHECK_THROWS(PreconditionError, VoteTable(PatternView(indptr, indices, 2), Ids{0, 1, 1}, 2));
  CHECK_THROWS(PreconditionError, RankDual(values, PatternView(indptr, indices, 2), 1.0));
  CHECK_THROWS(PreconditionError, SplitSearch({indptr, indices, values}, 1, 2));
  const Offsets one_row{0, 1};
  const Ids one_vote{1};
  CHECK_THROWS(PreconditionError,
               DmlCounts({one_row, one_vote, one_vote, 2}, PatternView(indptr, indices, 2)));
  CHECK_THROWS(PreconditionError, FeatureTable({3, 2}, 10));
  CHECK_THROWS(PreconditionError, FeatureTable({2, 10}, 10));
}

}  // namespace

TEST(test_preconditions) {
  static_assert(assertions_enabled);
  valid_matrices_are_accepted();
  damaged_matrices_are_rejected();
  constructors_verify_their_arguments();
}

}  // namespace vicinal::test_preconditions
