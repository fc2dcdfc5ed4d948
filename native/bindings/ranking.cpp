#include "vicinal/rank/ranking.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "vicinal/rank/score_counts.hpp"
#include "vicinal/rank/top_labels.hpp"

namespace vicinal::bindings {
namespace {

// Scores as NumPy holds them; keeps the arrays alive as long as the core may look at them.
struct ScoreArrays {
  Vector<std::int64_t> indptr;
  Vector<std::int32_t> indices;
  Vector<double> values;
  Vector<double> base;
  std::int64_t n_rows;
  std::int64_t n_labels;

  ScoreRows rows() const {
    return {view(indptr), view(indices), view(values), view(base), n_rows, n_labels};
  }
};

PatternView pattern(const Vector<std::int64_t>& indptr, const Vector<std::int32_t>& indices,
                    const ScoreArrays& scores) {
  return {view(indptr), view(indices), scores.n_labels};
}

auto place_true_labels(const ScoreArrays& scores, const Vector<std::int64_t>& indptr,
                       const Vector<std::int32_t>& indices, double tolerance, int n_threads) {
  TruePlaces places;
  {
    nb::gil_scoped_release release;
    places = vicinal::place_true_labels(scores.rows(), pattern(indptr, indices, scores), tolerance,
                                        n_threads, interrupted_by_user);
  }
  return std::make_tuple(to_numpy(std::move(places.best)), to_numpy(std::move(places.rank)),
                         to_numpy(std::move(places.worst)));
}

auto top_labels(const ScoreArrays& scores, std::int64_t width, int n_threads) {
  TopLabels top;
  {
    nb::gil_scoped_release release;
    top = vicinal::top_labels(scores.rows(), width, n_threads, interrupted_by_user);
  }
  const auto rows = static_cast<std::size_t>(scores.n_rows);
  const auto columns = static_cast<std::size_t>(width);
  return std::make_tuple(to_numpy(std::move(top.labels), rows, columns),
                         to_numpy(std::move(top.scores), rows, columns));
}

auto true_scores(const ScoreArrays& scores, const Vector<std::int64_t>& indptr,
                 const Vector<std::int32_t>& indices) {
  std::vector<double> found;
  {
    nb::gil_scoped_release release;
    found = vicinal::true_scores(scores.rows(), pattern(indptr, indices, scores));
  }
  return to_numpy(std::move(found));
}

auto merged_counts(const Vector<std::int32_t>& labels, const Vector<double>& values,
                   const Vector<std::int64_t>& n_true, const Vector<std::int64_t>& n_all,
                   std::int64_t n_labels, int n_threads) {
  ScoreCounts merged;
  {
    nb::gil_scoped_release release;
    merged = vicinal::merged_counts({view(labels), view(values), view(n_true), view(n_all)},
                                    n_labels, n_threads, interrupted_by_user);
  }
  return std::make_tuple(to_numpy(std::move(merged.labels)), to_numpy(std::move(merged.values)),
                         to_numpy(std::move(merged.n_true)), to_numpy(std::move(merged.n_all)));
}

}  // namespace

void bind_ranking(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<ScoreArrays>(m, "ScoreRows")
      .def(
          "__init__",
          [](ScoreArrays* self, Vector<std::int64_t> indptr, Vector<std::int32_t> indices,
             Vector<double> values, Vector<double> base, std::int64_t n_rows,
             std::int64_t n_labels) {
            new (self) ScoreArrays{
                std::move(indptr), std::move(indices), std::move(values), std::move(base), n_rows,
                n_labels};
          },
          array("indptr"), array("indices"), array("values"), array("base"), nb::arg("n_rows"),
          nb::arg("n_labels"));
  m.def("place_true_labels", &place_true_labels, nb::arg("scores"), array("indptr"),
        array("indices"), nb::arg("tolerance"), nb::arg("n_threads"));
  m.def("top_labels", &top_labels, nb::arg("scores"), nb::arg("width"), nb::arg("n_threads"));
  m.def("true_scores", &true_scores, nb::arg("scores"), array("indptr"), array("indices"));
  m.def("merged_counts", &merged_counts, array("labels"), array("values"), array("n_true"),
        array("n_all"), nb::arg("n_labels"), nb::arg("n_threads"));
}

}  // namespace vicinal::bindings
