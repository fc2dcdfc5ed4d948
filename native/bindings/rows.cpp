#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <string>
#include <tuple>
#include <utility>

#include "sparse_matrix.hpp"
#include "vicinal/search/column_search.hpp"
#include "vicinal/votes/row_sums.hpp"

namespace vicinal::bindings {
namespace {

auto row_sums(const Vector<std::int64_t>& begin, const Vector<std::int64_t>& end,
              const Vector<std::int32_t>& ids, const Vector<double>& weights,
              const SparseMatrix& matrix, const std::string& aggregate, const SparseMatrix& start,
              const Vector<double>& start_totals, int n_threads) {
  const Aggregate kind = aggregate == "max"         ? Aggregate::max
                         : aggregate == "kept-mean" ? Aggregate::kept_mean
                                                    : Aggregate::sum;
  RowSums sums;
  {
    nb::gil_scoped_release release;
    sums =
        vicinal::row_sums({view(begin), view(end), view(ids), view(weights)}, matrix.rows(), kind,
                          start.rows(), view(start_totals), n_threads, interrupted_by_user);
  }
  return std::make_tuple(to_numpy(std::move(sums.indptr)), to_numpy(std::move(sums.indices)),
                         to_numpy(std::move(sums.values)), to_numpy(std::move(sums.totals)));
}

auto column_search(const SparseMatrix& items, const SparseMatrix& others, std::int64_t k,
                   int n_threads) {
  const auto n_items = static_cast<std::size_t>(items.indptr.size() - 1);
  const auto width = static_cast<std::size_t>(k);
  std::vector<std::int32_t> ids(n_items * width, -1);
  std::vector<double> similarities(n_items * width, 0.0);
  {
    nb::gil_scoped_release release;
    vicinal::column_search(items.rows(), others.rows(), {ids, similarities, k}, n_threads,
                           interrupted_by_user);
  }
  return std::make_tuple(to_numpy(std::move(ids), n_items, width),
                         to_numpy(std::move(similarities), n_items, width));
}

}  // namespace

void bind_rows(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<SparseMatrix>(m, "SparseMatrix")
      .def(
          "__init__",
          [](SparseMatrix* self, Vector<std::int64_t> indptr, Vector<std::int32_t> indices,
             Vector<double> values, std::int64_t n_columns) {
            new (self)
                SparseMatrix{std::move(indptr), std::move(indices), std::move(values), n_columns};
          },
          array("indptr"), array("indices"), array("values"), nb::arg("n_columns"));
  m.def("row_sums", &row_sums, array("begin"), array("end"), array("ids"), array("weights"),
        nb::arg("matrix"), nb::arg("aggregate"), nb::arg("start"), array("start_totals"),
        nb::arg("n_threads"));
  m.def("column_search", &column_search, nb::arg("items"), nb::arg("others"), nb::arg("k"),
        nb::arg("n_threads"));
}

}  // namespace vicinal::bindings
