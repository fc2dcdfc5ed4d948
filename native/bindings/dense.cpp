#include <nanobind/stl/string.h>

#include <limits>

#include "arrays.hpp"
#include "vicinal/dense_index.hpp"

namespace vicinal::bindings {

namespace {

template <class T>
using Output = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The queries of one batch, and what may be among their k nearest.
class DenseBatch {
 public:
  DenseBatch(std::int64_t n_queries, std::int64_t k, Vector<std::int32_t> excluded,
             Vector<std::uint8_t> removed, const std::string& simd)
      : excluded_(excluded),
        removed_(removed),
        reaching_(reaching_rows(simd_level(simd))),
        best_(n_queries, IntervalTopK(k)) {}

  void collect(Matrix<float> products, std::int32_t first, Vector<float> sizes,
               Vector<float> biases, Vector<float> errors, Vector<float> constants) {
    nb::gil_scoped_release unlocked;
    const auto n_rows = static_cast<std::int64_t>(products.shape(1));
    for (std::size_t q = 0; q < best_.size(); ++q) {
      const ProductRun run{products.data() + q * n_rows, sizes.data(), biases.data(),
                           errors.data()[q], constants.data()[q]};
      vicinal::collect(run, n_rows, first, excluded(q), view(removed_), reaching_, best_[q]);
    }
  }

  std::int32_t excluded(std::size_t query) const {
    return excluded_.size() == 0 ? -1 : excluded_.data()[query];
  }
  bool removed(std::int32_t id) const { return removed_.size() != 0 && removed_.data()[id]; }
  IntervalTopK& best(std::size_t query) { return best_[query]; }
  std::size_t size() const { return best_.size(); }

 private:
  Vector<std::int32_t> excluded_;
  Vector<std::uint8_t> removed_;
  ReachingRows reaching_;
  std::vector<IntervalTopK> best_;
};

template <class Value>
class BoundDense {
 public:
  // Refers to both arrays: a view of more rows of a growing array costs nothing.
  BoundDense(Matrix<Value> rows, Vector<double> norms, int metric)
      : rows_(rows), norms_(norms), metric_(static_cast<Metric>(metric)) {
    if (norms.size() != rows.shape(0)) throw nb::value_error("one norm a row");
  }

  // Write the answers of queries whose k nearest are certain; return the others.
  nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>> finish(DenseBatch& batch,
                                                           Matrix<double> queries,
                                                           Output<std::int32_t> ids,
                                                           Output<double> values) const {
    std::vector<std::int64_t> unfinished;
    {
      nb::gil_scoped_release unlocked;
      for (std::size_t q = 0; q < batch.size(); ++q) {
        const auto& kept = batch.best(q).tighten();
        // A row that shares no feature has score 0, and must not have counted among the k best.
        if (metric_ != Metric::euclidean &&
            (kept.size() < capacity(ids) || !(batch.best(q).threshold() > 0.0f))) {
          unfinished.push_back(static_cast<std::int64_t>(q));
          continue;
        }
        TopK best(capacity(ids));
        for (const Interval& interval : kept) offer(queries, q, interval.id, best);
        write(q, best, ids, values);
      }
    }
    return to_numpy(std::move(unfinished));
  }

  void compare_with_all(DenseBatch& batch, Matrix<double> queries, Vector<std::int64_t> chosen,
                        Output<std::int32_t> ids, Output<double> values, int n_threads) const {
    nb::gil_scoped_release unlocked;
    parallel_for(
        static_cast<std::int64_t>(chosen.size()), n_threads,
        [&](std::int64_t task, int) {
          const auto q = static_cast<std::size_t>(chosen.data()[task]);
          TopK best(capacity(ids));
          for (std::int32_t id = 0; id < static_cast<std::int32_t>(rows_.shape(0)); ++id)
            if (id != batch.excluded(q) && !batch.removed(id)) offer(queries, q, id, best);
          write(q, best, ids, values);
        },
        interrupted_by_user);
  }

 private:
  std::size_t capacity(const Output<std::int32_t>& ids) const {
    return std::min(ids.shape(1), rows_.shape(0));
  }

  void offer(const Matrix<double>& queries, std::size_t q, std::int32_t id, TopK& best) const {
    const double* query = queries.data() + q * queries.shape(1);
    const DenseDefinition<Value> definition{{{rows_.data(), rows_.size()},
                                             static_cast<std::int64_t>(rows_.shape(0)),
                                             static_cast<std::int64_t>(rows_.shape(1))},
                                            metric_,
                                            view(norms_)};
    const double norm =
        metric_ == Metric::cosine
            ? std::sqrt(squared_norm(std::span<const double>(query, queries.shape(1))))
            : 0.0;
    definition.offer(query, norm, id, best);
  }

  void write(std::size_t q, TopK& best, const Output<std::int32_t>& ids,
             const Output<double>& values) const {
    std::size_t at = q * ids.shape(1);
    for (const Candidate& candidate : best.sort()) {
      ids.data()[at] = candidate.id;
      values.data()[at++] =
          metric_ == Metric::euclidean ? std::sqrt(candidate.key) : -candidate.key;
    }
  }

  Matrix<Value> rows_;
  Vector<double> norms_;
  Metric metric_;
};

template <class Value>
nb::ndarray<nb::numpy, double, nb::ndim<1>> norms_of(Matrix<Value> rows) {
  std::vector<double> norms(rows.shape(0));
  {
    nb::gil_scoped_release unlocked;
    for (std::size_t i = 0; i < norms.size(); ++i)
      norms[i] = std::sqrt(
          squared_norm(std::span<const Value>(rows.data() + i * rows.shape(1), rows.shape(1))));
  }
  return to_numpy(std::move(norms));
}

template <class Value>
void bind_dense(nb::module_& m, const char* name) {
  using Index = BoundDense<Value>;
  nb::class_<Index>(m, name)
      .def(nb::init<Matrix<Value>, Vector<double>, int>(), nb::arg("rows").noconvert(),
           nb::arg("norms").noconvert(), nb::arg("metric"))
      .def("finish", &Index::finish, nb::arg("batch"), nb::arg("queries").noconvert(),
           nb::arg("ids").noconvert(), nb::arg("values").noconvert())
      .def("compare_with_all", &Index::compare_with_all, nb::arg("batch"),
           nb::arg("queries").noconvert(), nb::arg("chosen").noconvert(),
           nb::arg("ids").noconvert(), nb::arg("values").noconvert(), nb::arg("n_threads"));
}

}  // namespace

void bind_dense_search(nb::module_& m) {
  nb::class_<DenseBatch>(m, "DenseBatch")
      .def(nb::init<std::int64_t, std::int64_t, Vector<std::int32_t>, Vector<std::uint8_t>,
                    const std::string&>(),
           nb::arg("n_queries"), nb::arg("k"), nb::arg("excluded").noconvert(),
           nb::arg("removed").noconvert(), nb::arg("simd"))
      .def("collect", &DenseBatch::collect, nb::arg("products").noconvert(), nb::arg("first"),
           nb::arg("sizes").noconvert(), nb::arg("biases").noconvert(),
           nb::arg("errors").noconvert(), nb::arg("constants").noconvert());
  m.def("dense_norms", &norms_of<float>, nb::arg("rows").noconvert());
  m.def("dense_norms", &norms_of<double>, nb::arg("rows").noconvert());
  bind_dense<float>(m, "DenseIndexFloat32");
  bind_dense<double>(m, "DenseIndexFloat64");
}

}  // namespace vicinal::bindings
