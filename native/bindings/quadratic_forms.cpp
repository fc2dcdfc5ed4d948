#include "vicinal/ridge/quadratic_forms.hpp"

#include <stdexcept>
#include <utility>

#include "sparse_matrix.hpp"

namespace vicinal::bindings {
namespace {

template <class Number>
auto quadratic_forms(const SparseMatrix& rows, const Matrix<Number>& matrix, int n_threads) {
  std::vector<double> forms;
  {
    nb::gil_scoped_release release;
    forms = vicinal::quadratic_forms<Number>(rows.rows(), {matrix.data(), matrix.size()}, n_threads,
                                             interrupted_by_user);
  }
  return to_numpy(std::move(forms));
}

template <class Number>
void column_products(const SparseMatrix& rows, const Output<Number>& products, int n_threads) {
  const auto size = static_cast<std::size_t>(rows.rows().n_columns);
  if (products.shape(0) != size || products.shape(1) != size)
    throw std::invalid_argument("column_products: expected room for all pairs of columns");
  nb::gil_scoped_release release;
  vicinal::column_products<Number>(rows.rows(), {products.data(), products.size()}, n_threads,
                                   interrupted_by_user);
}

}  // namespace

void bind_quadratic_forms(nb::module_& m) {
  const auto matrix = nb::arg("matrix").noconvert();
  m.def("quadratic_forms", &quadratic_forms<double>, nb::arg("rows"), matrix, nb::arg("n_threads"));
  m.def("quadratic_forms", &quadratic_forms<float>, nb::arg("rows"), matrix, nb::arg("n_threads"));
  const auto products = nb::arg("products").noconvert();
  m.def("column_products", &column_products<double>, nb::arg("rows"), products,
        nb::arg("n_threads"));
  m.def("column_products", &column_products<float>, nb::arg("rows"), products,
        nb::arg("n_threads"));
}

}  // namespace vicinal::bindings
