#include <vector>

#include "check.hpp"
#include "vicinal/ridge/quadratic_forms.hpp"

namespace vicinal::test_quadratic_forms {

// Rows (1, ·, 2), (·, ·, ·), (·, 3, ·); only the lower triangle of the matrix is to be read.
template <class Number>
static void forms_of_sparse_rows() {
  const std::vector<std::int64_t> indptr{0, 2, 2, 3};
  const std::vector<std::int32_t> indices{0, 2, 1};
  const std::vector<double> values{1, 2, 3};
  const std::vector<Number> matrix{5, 99, 99, 1, 7, 99, 3, 2, 4};
  for (const int n_threads : {1, 2})
    CHECK(quadratic_forms<Number>({indptr, indices, values, 3}, matrix, n_threads) ==
          std::vector<double>({5 + 2 * 2 * 3 + 4 * 4, 0, 63}));
}

// The same rows: X'X has 1, 2 and 4 of the first row and 9 of the last, the rest is 0.
template <class Number>
static void products_of_sparse_columns() {
  const std::vector<std::int64_t> indptr{0, 2, 2, 3};
  const std::vector<std::int32_t> indices{0, 2, 1};
  const std::vector<double> values{1, 2, 3};
  for (const int n_threads : {1, 2}) {
    std::vector<Number> products(9, -1);
    column_products<Number>({indptr, indices, values, 3}, products, n_threads);
    CHECK(products == std::vector<Number>({1, -1, -1, 0, 9, -1, 2, 0, 4}));
  }
}

TEST(test_quadratic_forms) {
  forms_of_sparse_rows<double>();
  forms_of_sparse_rows<float>();
  products_of_sparse_columns<double>();
  products_of_sparse_columns<float>();
}

}  // namespace vicinal::test_quadratic_forms
