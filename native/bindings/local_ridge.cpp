#include "vicinal/ridge/local_ridge.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "vicinal/votes/row_sums.hpp"

namespace vicinal::bindings {
namespace {

// [ks][alphas][queries][k], without a copy.
using Weights = nb::ndarray<nb::numpy, double, nb::ndim<4>>;

template <class Rows>
Weights weights_of(const Rows& rows, const Matrix<std::int32_t>& ids, const Matrix<double>& values,
                   int metric, const Vector<std::int64_t>& ks, const Vector<double>& alphas,
                   int n_threads, const std::string& simd) {
  if (values.shape(0) != ids.shape(0) || values.shape(1) != ids.shape(1))
    throw std::invalid_argument("local_ridge_weights: expected as many values as ids");
  auto weights = std::make_unique<std::vector<double>>();
  {
    ReleaseIfLong release(ids.shape(0) > 1);
    *weights = vicinal::local_ridge_weights(rows,
                                            {{ids.data(), ids.size()},
                                             {values.data(), values.size()},
                                             static_cast<std::int64_t>(ids.shape(1))},
                                            {static_cast<Metric>(metric), view(ks), view(alphas)},
                                            simd_level(simd), n_threads, interrupted_by_user);
  }
  double* data = weights->data();
  nb::capsule keep(weights.release(),
                   [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return {data, {ks.size(), alphas.size(), ids.shape(0), ids.shape(1)}, keep};
}

template <class Value>
Weights of_sparse(const Vector<std::int64_t>& indptr, const Vector<std::int32_t>& indices,
                  const Vector<Value>& values, const Matrix<std::int32_t>& ids,
                  const Matrix<double>& near, int metric, const Vector<std::int64_t>& ks,
                  const Vector<double>& alphas, int n_threads, const std::string& simd) {
  const CsrView<Value> rows{view(indptr), view(indices), view(values),
                            PatternView::unknown_columns};
  return weights_of(rows, ids, near, metric, ks, alphas, n_threads, simd);
}

template <class Value>
Weights of_dense(const Matrix<Value>& rows, const Matrix<std::int32_t>& ids,
                 const Matrix<double>& near, int metric, const Vector<std::int64_t>& ks,
                 const Vector<double>& alphas, int n_threads, const std::string& simd) {
  const DenseView<Value> view{{rows.data(), rows.size()}, static_cast<std::int64_t>(rows.shape(1))};
  return weights_of(view, ids, near, metric, ks, alphas, n_threads, simd);
}

// For each query and label, the sum of the weights, of either sign, of its neighbours that have the
// label.
auto label_weights(const Matrix<std::int32_t>& ids, const Matrix<double>& weights,
                   const Vector<std::int64_t>& indptr, const Vector<std::int32_t>& indices,
                   std::int64_t n_labels, int n_threads) {
  if (weights.shape(0) != ids.shape(0) || weights.shape(1) != ids.shape(1))
    throw std::invalid_argument("label_weights: expected as many weights as ids");
  const std::size_t n = ids.shape(0), k = ids.shape(1);
  std::vector<std::int64_t> begin(n), end(n);
  for (std::size_t i = 0; i < n; ++i) {
    begin[i] = end[i] = static_cast<std::int64_t>(i * k);
    while (end[i] < static_cast<std::int64_t>((i + 1) * k) && ids.data()[end[i]] >= 0) ++end[i];
  }
  RowSums sums;
  {
    ReleaseIfLong release(n > 1);
    sums =
        vicinal::row_sums({begin, end, {ids.data(), ids.size()}, {weights.data(), weights.size()}},
                          PatternView{view(indptr), view(indices), n_labels}, Aggregate::signed_sum,
                          {}, {}, n_threads, interrupted_by_user);
  }
  return std::make_tuple(to_numpy(std::move(sums.indptr)), to_numpy(std::move(sums.indices)),
                         to_numpy(std::move(sums.values)));
}

template <class Value>
void bind_weights(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  m.def("local_ridge_sparse", &of_sparse<Value>, array("indptr"), array("indices"), array("values"),
        array("ids"), array("near"), nb::arg("metric"), array("ks"), array("alphas"),
        nb::arg("n_threads"), nb::arg("simd") = "auto");
  m.def("local_ridge_dense", &of_dense<Value>, array("rows"), array("ids"), array("near"),
        nb::arg("metric"), array("ks"), array("alphas"), nb::arg("n_threads"),
        nb::arg("simd") = "auto");
}

}  // namespace

void bind_local_ridge(nb::module_& m) {
  bind_weights<double>(m);
  bind_weights<float>(m);
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  m.def("label_weights", &label_weights, array("ids"), array("weights"), array("indptr"),
        array("indices"), nb::arg("n_labels"), nb::arg("n_threads"));
}

}  // namespace vicinal::bindings
