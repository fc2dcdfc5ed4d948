#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "vicinal/dense/dense_index.hpp"

namespace vicinal::bindings {

namespace {

template <class Value>
DenseRows<Value> rows_of(const Matrix<Value>& matrix) {
  return {{matrix.data(), matrix.size()},
          static_cast<std::int64_t>(matrix.shape(0)),
          static_cast<std::int64_t>(matrix.shape(1))};
}

DenseAnswers answers_of(const Output<std::int32_t>& ids, const Output<double>& values) {
  return {{ids.data(), ids.size()},
          {values.data(), values.size()},
          static_cast<std::int64_t>(ids.shape(1))};
}

// Keeps alive the arrays to which the batch refers.
class BoundDenseBatch {
 public:
  BoundDenseBatch(std::int64_t n_queries, std::int64_t k, Vector<std::int32_t> excluded,
                  Vector<std::uint8_t> removed, const std::string& simd)
      : excluded_(excluded),
        removed_(removed),
        batch_(n_queries, k, view(excluded_), view(removed_), simd_level(simd)) {}

  DenseBatch& batch() { return batch_; }
  const DenseBatch& batch() const { return batch_; }

  void collect(const Matrix<float>& products, std::int32_t first, const Vector<float>& sizes,
               const Vector<float>& biases, const Vector<float>& errors,
               const Vector<float>& constants) {
    nb::gil_scoped_release unlocked;
    batch_.collect({{products.data(), products.size()},
                    view(sizes),
                    view(biases),
                    view(errors),
                    view(constants)},
                   first);
  }

 private:
  Vector<std::int32_t> excluded_;
  Vector<std::uint8_t> removed_;
  DenseBatch batch_;
};

template <class Value>
class BoundDense {
 public:
  BoundDense(Matrix<Value> rows, Vector<double> norms, int metric)
      : rows_(rows), norms_(norms), metric_(static_cast<Metric>(metric)) {
    if (norms.size() != rows.shape(0)) throw nb::value_error("norms must have one value per row");
  }

  auto finish(BoundDenseBatch& bound, const Matrix<double>& queries,
              const Output<std::int32_t>& ids, const Output<double>& values) const {
    std::vector<std::int64_t> uncertain;
    {
      nb::gil_scoped_release unlocked;
      uncertain = index().finish(bound.batch(), rows_of(queries), answers_of(ids, values));
    }
    return to_numpy(std::move(uncertain));
  }

  void compare_with_all(const BoundDenseBatch& bound, const Matrix<double>& queries,
                        const Vector<std::int64_t>& chosen, const Output<std::int32_t>& ids,
                        const Output<double>& values, int n_threads) const {
    nb::gil_scoped_release unlocked;
    index().compare_with_all(bound.batch(), rows_of(queries), view(chosen), answers_of(ids, values),
                             n_threads, interrupted_by_user);
  }

 private:
  DenseIndex<Value> index() const { return {rows_of(rows_), view(norms_), metric_}; }

  Matrix<Value> rows_;
  Vector<double> norms_;
  Metric metric_;
};

template <class Value>
auto norms_of(const Matrix<Value>& rows) {
  std::vector<double> norms;
  {
    nb::gil_scoped_release unlocked;
    norms = dense_norms(rows_of(rows));
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
  nb::class_<BoundDenseBatch>(m, "DenseBatch")
      .def(nb::init<std::int64_t, std::int64_t, Vector<std::int32_t>, Vector<std::uint8_t>,
                    const std::string&>(),
           nb::arg("n_queries"), nb::arg("k"), nb::arg("excluded").noconvert(),
           nb::arg("removed").noconvert(), nb::arg("simd"))
      .def("collect", &BoundDenseBatch::collect, nb::arg("products").noconvert(), nb::arg("first"),
           nb::arg("sizes").noconvert(), nb::arg("biases").noconvert(),
           nb::arg("errors").noconvert(), nb::arg("constants").noconvert());
  m.def("dense_norms", &norms_of<float>, nb::arg("rows").noconvert());
  m.def("dense_norms", &norms_of<double>, nb::arg("rows").noconvert());
  bind_dense<float>(m, "DenseIndexFloat32");
  bind_dense<double>(m, "DenseIndexFloat64");
}

}  // namespace vicinal::bindings
