#include <nanobind/stl/tuple.h>

#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "vicinal/votes/dml_counts.hpp"

namespace vicinal::bindings {
namespace {

// Keeps alive the arrays to which the core refers.
class BoundDmlCounts {
 public:
  BoundDmlCounts(Vector<std::int64_t> indptr, Vector<std::int32_t> indices,
                 Vector<std::int32_t> votes, Vector<std::int64_t> label_indptr,
                 Vector<std::int32_t> label_indices, std::int64_t n_labels)
      : indptr_(indptr),
        indices_(indices),
        votes_(votes),
        label_indptr_(label_indptr),
        label_indices_(label_indices),
        n_labels_(n_labels),
        counts_({view(indptr), view(indices), view(votes), n_labels},
                {view(label_indptr), view(label_indices), n_labels}) {}

  auto count(const Vector<std::int64_t>& indptr, const Vector<std::int32_t>& indices,
             const Vector<std::int32_t>& votes, std::int32_t tolerance, int n_threads) const {
    const CsrView<std::int32_t> queries{view(indptr), view(indices), view(votes), n_labels_};
    const auto rows = static_cast<std::size_t>(queries.n_rows());
    const auto columns = static_cast<std::size_t>(n_labels_);
    std::vector<std::int32_t> with(rows * columns), without(rows * columns);
    {
      nb::gil_scoped_release unlocked;
      vicinal::dml_counts(counts_, queries, tolerance, with, without, n_threads,
                          interrupted_by_user);
    }
    return std::make_tuple(to_numpy(std::move(with), rows, columns),
                           to_numpy(std::move(without), rows, columns));
  }

 private:
  Vector<std::int64_t> indptr_;
  Vector<std::int32_t> indices_;
  Vector<std::int32_t> votes_;
  Vector<std::int64_t> label_indptr_;
  Vector<std::int32_t> label_indices_;
  std::int64_t n_labels_;
  DmlCounts counts_;
};

}  // namespace

void bind_dml(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<BoundDmlCounts>(m, "DmlCounts")
      .def(nb::init<Vector<std::int64_t>, Vector<std::int32_t>, Vector<std::int32_t>,
                    Vector<std::int64_t>, Vector<std::int32_t>, std::int64_t>(),
           array("indptr"), array("indices"), array("votes"), array("label_indptr"),
           array("label_indices"), nb::arg("n_labels"))
      .def("count", &BoundDmlCounts::count, array("indptr"), array("indices"), array("votes"),
           nb::arg("tolerance"), nb::arg("n_threads"));
}

}  // namespace vicinal::bindings
