#include <limits>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "vicinal/live/live_model.hpp"

namespace vicinal::test_live_model {
namespace {

// Three rows on a line, at 0, 1 and 3, with labels {0}, {0, 1} and {}, each with its two nearest.
struct Line {
  std::vector<std::int64_t> indptr{0, 0, 1, 2};
  std::vector<std::int32_t> indices{0, 0};
  std::vector<double> values{1.0, 3.0};
  std::vector<std::int32_t> ids{1, 2, 0, 2, 1, 0};
  std::vector<std::int64_t> label_indptr{0, 1, 3, 3};
  std::vector<std::int32_t> label_indices{0, 0, 1};
  std::vector<std::int32_t> groups{0, 0, 0};

  LiveModel<double> model(std::int64_t k, std::int64_t n_groups = 1) const {
    return {{indptr, indices, values, 1},
            Metric::euclidean,
            k,
            2 - k,
            {ids, 2},
            {label_indptr, label_indices, 2},
            groups,
            n_groups};
  }
};

const double infinity = std::numeric_limits<double>::infinity();

struct Nearest {
  std::vector<std::int32_t> ids;
  std::vector<double> values;

  Nearest(const LiveModel<double>& model, std::int64_t width)
      : ids(model.n_slots() * width), values(ids.size()) {
    model.nearest(width, ids, values);
  }
};

void nearest_rows_and_distances() {
  auto model = Line{}.model(1);
  CHECK(Nearest(model, 1).ids == std::vector<std::int32_t>{1, 0, 1});
  CHECK(Nearest(model, 1).values == std::vector<double>{1.0, 1.0, 2.0});
  // Only k neighbours are known for certain: what is wider is padding.
  CHECK(Nearest(model, 2).ids == std::vector<std::int32_t>{1, -1, 0, -1, 1, -1});
  CHECK(Nearest(model, 2).values ==
        std::vector<double>{1.0, infinity, 1.0, infinity, 2.0, infinity});
}

void a_forgotten_row_leaves_an_empty_place() {
  auto model = Line{}.model(1);
  const auto missing = model.take_out(1);
  CHECK(missing.empty());
  CHECK(model.n_slots() == 3 && model.n_live() == 2);
  CHECK(Nearest(model, 1).ids == std::vector<std::int32_t>{2, -1, 0});
  CHECK(model.compact() == std::vector<std::int32_t>{0, -1, 1});
  CHECK(Nearest(model, 1).ids == std::vector<std::int32_t>{1, 0});
  CHECK(Nearest(model, 1).values == std::vector<double>{3.0, 3.0});
}

// With k = 1, rows 0 and 2 vote by row 1 {0, 1}, and row 1 by row 0 {0}.
void tables_count_rows_by_votes() {
  auto model = Line{}.model(1);
  std::vector<std::int64_t> with_label(4), without_label(4);
  model.tables(2, with_label, without_label);
  CHECK(model.n_table_rows() == 2);
  CHECK(with_label == std::vector<std::int64_t>{0, 2, 1, 0});
  CHECK(without_label == std::vector<std::int64_t>{0, 1, 0, 2});
}

// A new row at 3 with a new label; it becomes the nearest row of slot 2.
void a_learned_row_may_have_a_new_label() {
  auto model = Line{}.model(1);
  const std::vector<std::int32_t> column{0}, label{2};
  const std::vector<double> value{3.0};
  CHECK(model.learn({column, value}, label, 3, 0) == 3);
  CHECK(Nearest(model, 1).ids == std::vector<std::int32_t>{1, 0, 3, 2});
  std::vector<std::int64_t> with_label(6), without_label(6);
  model.tables(2, with_label, without_label);
  CHECK(with_label == std::vector<std::int64_t>{0, 2, 1, 0, 1, 0});
  CHECK(without_label == std::vector<std::int64_t>{2, 0, 2, 1, 2, 1});
}

void what_does_not_exist_is_an_error() {
  auto model = Line{}.model(1);
  CHECK_THROWS(std::out_of_range, model.take_out(3));
  CHECK_THROWS(std::out_of_range, model.take_out(-1));
  const std::vector<std::int32_t> none, row{0}, far{7, -1};
  CHECK_THROWS(std::out_of_range, model.learn({none, {}}, none, 2, 1));
  CHECK_THROWS(std::invalid_argument, model.refill(1, row, {none, 2}));
  CHECK_THROWS(std::out_of_range, model.refill(1, row, {far, 2}));
  CHECK(model.n_slots() == 3 && Nearest(model, 1).ids == std::vector<std::int32_t>{1, 0, 1});
  model.take_out(1);
  CHECK_THROWS(std::out_of_range, model.take_out(1));
  Line line;
  line.groups = {0, 0, 1};
  CHECK_THROWS(std::out_of_range, line.model(1));
  CHECK(line.model(1, 2).n_table_rows() == 4);
  line.groups.pop_back();
  CHECK_THROWS(std::invalid_argument, line.model(1, 2));
}

}  // namespace

TEST(test_live_model) {
  nearest_rows_and_distances();
  a_forgotten_row_leaves_an_empty_place();
  tables_count_rows_by_votes();
  a_learned_row_may_have_a_new_label();
  what_does_not_exist_is_an_error();
}

}  // namespace vicinal::test_live_model
