#include "vicinal/learn/quadratic_forms.hpp"

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

}  // namespace

void bind_quadratic_forms(nb::module_& m) {
  const auto matrix = nb::arg("matrix").noconvert();
  m.def("quadratic_forms", &quadratic_forms<double>, nb::arg("rows"), matrix, nb::arg("n_threads"));
  m.def("quadratic_forms", &quadratic_forms<float>, nb::arg("rows"), matrix, nb::arg("n_threads"));
}

}  // namespace vicinal::bindings
