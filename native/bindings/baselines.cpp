#include <nanobind/stl/tuple.h>

#include <tuple>

#include "arrays.hpp"
#include "vicinal/boost/boosting.hpp"
#include "vicinal/rank/rank_dual.hpp"

namespace vicinal::bindings {
namespace {

// These keep alive the arrays to which the core refers.
class BoundSplitSearch {
 public:
  BoundSplitSearch(Vector<std::int64_t> indptr, Vector<std::int32_t> rows, Vector<double> values,
                   std::int64_t n_rows, std::int64_t n_labels)
      : indptr_(indptr),
        rows_(rows),
        values_(values),
        search_({view(indptr), view(rows), view(values)}, n_rows, n_labels) {}

  auto best(const Matrix<double>& weights, const Vector<std::uint8_t>& members,
            int n_threads) const {
    Split split;
    {
      nb::gil_scoped_release unlocked;
      split = search_.best({weights.data(), weights.size()}, view(members), n_threads,
                           interrupted_by_user);
    }
    return std::make_tuple(split.z, split.feature, split.below, split.above);
  }

 private:
  Vector<std::int64_t> indptr_;
  Vector<std::int32_t> rows_;
  Vector<double> values_;
  SplitSearch search_;
};

class BoundRankDual {
 public:
  BoundRankDual(Matrix<double> kernel, Vector<std::int64_t> indptr, Vector<std::int32_t> indices,
                std::int64_t n_labels, double cost)
      : kernel_(kernel),
        indptr_(indptr),
        indices_(indices),
        n_labels_(static_cast<std::size_t>(n_labels)),
        dual_({kernel.data(), kernel.size()}, {view(indptr), view(indices), n_labels}, cost) {}

  void sweep(const Vector<std::int64_t>& order) {
    nb::gil_scoped_release unlocked;
    dual_.sweep(view(order));
  }

  auto weights() const {
    auto copy = dual_.weights();
    return to_numpy(std::move(copy), kernel_.shape(0), n_labels_);
  }

  double total() const { return dual_.total(); }

 private:
  Matrix<double> kernel_;
  Vector<std::int64_t> indptr_;
  Vector<std::int32_t> indices_;
  std::size_t n_labels_;
  RankDual dual_;
};

}  // namespace

void bind_baselines(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<BoundSplitSearch>(m, "SplitSearch")
      .def(nb::init<Vector<std::int64_t>, Vector<std::int32_t>, Vector<double>, std::int64_t,
                    std::int64_t>(),
           array("indptr"), array("rows"), array("values"), nb::arg("n_rows"), nb::arg("n_labels"))
      .def("best", &BoundSplitSearch::best, array("weights"), array("members"),
           nb::arg("n_threads"));
  nb::class_<BoundRankDual>(m, "RankDual")
      .def(nb::init<Matrix<double>, Vector<std::int64_t>, Vector<std::int32_t>, std::int64_t,
                    double>(),
           array("kernel"), array("indptr"), array("indices"), nb::arg("n_labels"), nb::arg("cost"))
      .def("sweep", &BoundRankDual::sweep, array("order"))
      .def("weights", &BoundRankDual::weights)
      .def("total", &BoundRankDual::total);
}

}  // namespace vicinal::bindings
