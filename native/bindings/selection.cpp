#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "sparse_matrix.hpp"
#include "vicinal/tune/lcif_grid.hpp"

namespace vicinal::bindings {
namespace {

// Keeps alive the arrays to which the core refers.
class BoundLcifGrid {
 public:
  BoundLcifGrid(std::vector<SparseMatrix> training, std::vector<SparseMatrix> held_out,
                Vector<std::int64_t> truth_indptr, Vector<std::int32_t> truth_indices,
                const Vector<double>& mixings, bool two_pass, std::int64_t n_true,
                std::int32_t when_all_zero, int n_threads)
      : training_(std::move(training)),
        held_out_(std::move(held_out)),
        truth_indptr_(std::move(truth_indptr)),
        truth_indices_(std::move(truth_indices)) {
    std::vector<PartScores> parts;
    for (std::size_t j = 0; j < training_.size(); ++j)
      parts.push_back({training_[j].rows(), held_out_[j].rows()});
    GridTask task{{view(mixings).begin(), view(mixings).end()},
                  two_pass ? CardinalityRule::two_pass : CardinalityRule::exact,
                  n_true,
                  when_all_zero,
                  {view(truth_indptr_), view(truth_indices_), training_.front().n_columns}};
    nb::gil_scoped_release unlocked;
    grid_ = std::make_unique<LcifGrid>(std::move(parts), std::move(task), n_threads,
                                       interrupted_by_user);
  }

  auto counts(const SparseMatrix& training, const SparseMatrix& held_out, std::int64_t first,
              std::int64_t last, int n_threads) const {
    const auto settings = static_cast<std::size_t>(grid_->n_settings(last - first));
    const auto rows = static_cast<std::size_t>(grid_->n_held_out());
    const auto labels = static_cast<std::size_t>(grid_->n_labels());
    GridCounts all(0, 0, 0);
    {
      nb::gil_scoped_release unlocked;
      all = grid_->counts({training.rows(), held_out.rows()}, first, last, n_threads,
                          interrupted_by_user);
    }
    return std::make_tuple(to_numpy(std::move(all.row_given), settings, rows),
                           to_numpy(std::move(all.row_common), settings, rows),
                           to_numpy(std::move(all.label_given), settings, labels),
                           to_numpy(std::move(all.label_common), settings, labels));
  }

 private:
  std::vector<SparseMatrix> training_, held_out_;
  Vector<std::int64_t> truth_indptr_;
  Vector<std::int32_t> truth_indices_;
  std::unique_ptr<LcifGrid> grid_;
};

}  // namespace

void bind_selection(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<BoundLcifGrid>(m, "LcifGrid")
      .def(nb::init<std::vector<SparseMatrix>, std::vector<SparseMatrix>, Vector<std::int64_t>,
                    Vector<std::int32_t>, const Vector<double>&, bool, std::int64_t, std::int32_t,
                    int>(),
           nb::arg("training"), nb::arg("held_out"), array("truth_indptr"), array("truth_indices"),
           array("mixings"), nb::arg("two_pass"), nb::arg("n_true"), nb::arg("when_all_zero"),
           nb::arg("n_threads"))
      .def("counts", &BoundLcifGrid::counts, nb::arg("training"), nb::arg("held_out"),
           nb::arg("first"), nb::arg("last"), nb::arg("n_threads"));
}

}  // namespace vicinal::bindings
