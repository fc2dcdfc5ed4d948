#include "vicinal/learn/trees.hpp"

#include <utility>

#include "arrays.hpp"

namespace vicinal::bindings {
namespace {

auto tree_sums(const Vector<std::int32_t>& feature, const Vector<double>& threshold,
               const Vector<std::int32_t>& left, const Vector<std::int32_t>& right,
               const Vector<std::int32_t>& roots, const Matrix<float>& cells, int n_threads) {
  std::vector<double> sums;
  {
    nb::gil_scoped_release release;
    sums =
        vicinal::tree_sums({view(feature), view(threshold), view(left), view(right), view(roots)},
                           {cells.data(), cells.size()}, static_cast<std::int64_t>(cells.shape(1)),
                           n_threads, interrupted_by_user);
  }
  return to_numpy(std::move(sums));
}

}  // namespace

void bind_trees(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  m.def("tree_sums", &tree_sums, array("feature"), array("threshold"), array("left"),
        array("right"), array("roots"), array("cells"), nb::arg("n_threads"));
}

}  // namespace vicinal::bindings
