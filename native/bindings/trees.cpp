#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "vicinal/boost/histogram_boosting.hpp"

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

// The trees of all models one after the other, in the arrays of Trees. Leaves are divided by
// the number of models, so that the sum of all trees is the mean of the models.
struct FlatTrees {
  std::vector<std::int32_t> feature, left, right, roots;
  std::vector<double> threshold;
  double base = 0;

  void add(const BoostedModel& model, double share, const float* thresholds) {
    base += share * model.base();
    for (const BinnedTree& tree : model.trees()) {
      const auto start = static_cast<std::int32_t>(feature.size());
      roots.push_back(start);
      for (const BinnedNode& node : tree) {
        const bool is_leaf = node.column < 0;
        feature.push_back(node.column);
        threshold.push_back(is_leaf ? share * node.value
                                    : thresholds[node.column * (most_bins - 1) + node.bin]);
        left.push_back(is_leaf ? 0 : start + node.left);
        right.push_back(is_leaf ? 0 : start + node.right);
      }
    }
  }
};

auto boosted_trees(const Matrix<float>& cells, const Vector<std::uint8_t>& is_true,
                   const Matrix<float>& thresholds, const Matrix<std::uint8_t>& folds, int n_folds,
                   int n_rounds, int n_leaves, int patience, double rate, double l2,
                   double least_curvature, int n_threads) {
  const std::size_t n_cells = cells.shape(0), n_columns = cells.shape(1);
  if (is_true.size() != n_cells || folds.shape(1) != n_cells || thresholds.shape(0) != n_columns ||
      thresholds.shape(1) != most_bins - 1)
    throw std::invalid_argument("boosted_trees: expected arrays of the same cells and columns");
  if (n_cells >= (std::size_t{1} << 24))
    throw std::invalid_argument("boosted_trees: expected fewer than 2^24 cells");
  FlatTrees flat;
  std::vector<double> held_out(n_cells, 0.0);
  {
    nb::gil_scoped_release release;
    const BinnedCells in_bins =
        vicinal::binned({cells.data(), cells.size()}, {thresholds.data(), thresholds.size()},
                        static_cast<std::int64_t>(n_columns), n_threads, interrupted_by_user);
    const auto models = vicinal::boosted_models(
        in_bins, view(is_true), {folds.data(), folds.size()}, n_folds,
        {n_rounds, n_leaves, patience, rate, l2, least_curvature}, n_threads, interrupted_by_user);
    const double share = models.empty() ? 0.0 : 1.0 / static_cast<double>(models.size());
    const double per_division =
        folds.shape(0) == 0 ? 0.0 : 1.0 / static_cast<double>(folds.shape(0));
    for (const BoostedModel& model : models) {
      flat.add(model, share, thresholds.data());
      for (std::size_t place = 0; place < model.held_out().size(); ++place)
        held_out[model.held_out()[place]] += per_division * model.held_out_log_odds()[place];
    }
  }
  return std::make_tuple(to_numpy(std::move(flat.feature)), to_numpy(std::move(flat.threshold)),
                         to_numpy(std::move(flat.left)), to_numpy(std::move(flat.right)),
                         to_numpy(std::move(flat.roots)), flat.base, to_numpy(std::move(held_out)));
}

}  // namespace

void bind_trees(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  m.def("tree_sums", &tree_sums, array("feature"), array("threshold"), array("left"),
        array("right"), array("roots"), array("cells"), nb::arg("n_threads"));
  m.def("boosted_trees", &boosted_trees, array("cells"), array("is_true"), array("thresholds"),
        array("folds"), nb::arg("n_folds"), nb::arg("n_rounds"), nb::arg("n_leaves"),
        nb::arg("patience"), nb::arg("rate"), nb::arg("l2"), nb::arg("least_curvature"),
        nb::arg("n_threads"));
  m.attr("MOST_BINS") = most_bins;
}

}  // namespace vicinal::bindings
