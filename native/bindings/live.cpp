#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "vicinal/live/feature_labels.hpp"
#include "vicinal/live/live_model.hpp"

namespace vicinal::bindings {

namespace {

IdLists lists_of(const Matrix<std::int32_t>& ids) {
  return {{ids.data(), ids.size()}, static_cast<std::int64_t>(ids.shape(1))};
}

template <class Value>
class BoundLive {
 public:
  BoundLive(Vector<std::int64_t> indptr, Vector<std::int32_t> indices, Vector<Value> values,
            std::int64_t n_columns, int metric, std::int64_t k, std::int64_t spare,
            Matrix<std::int32_t> ids, Vector<std::int64_t> label_indptr,
            Vector<std::int32_t> label_indices, std::int64_t n_labels, Vector<std::int32_t> groups,
            std::int64_t n_groups) {
    nb::gil_scoped_release unlocked;
    model_.emplace(CsrView<Value>{view(indptr), view(indices), view(values), n_columns},
                   static_cast<Metric>(metric), k, spare, lists_of(ids),
                   PatternView{view(label_indptr), view(label_indices), n_labels}, view(groups),
                   n_groups);
  }

  std::int32_t learn(Vector<std::int32_t> columns, Vector<Value> values,
                     Vector<std::int32_t> labels, std::int64_t n_labels, std::int32_t group) {
    nb::gil_scoped_release unlocked;
    return model_->learn({view(columns), view(values)}, view(labels), n_labels, group);
  }

  nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>> take_out(std::int32_t slot) {
    std::vector<std::int32_t> rows;
    {
      nb::gil_scoped_release unlocked;
      rows = model_->take_out(slot);
    }
    return to_numpy(std::move(rows));
  }

  void refill(std::int32_t forgotten, Vector<std::int32_t> rows, Matrix<std::int32_t> ids) {
    nb::gil_scoped_release unlocked;
    model_->refill(forgotten, view(rows), lists_of(ids));
  }

  nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>> compact() {
    std::vector<std::int32_t> moved;
    {
      nb::gil_scoped_release unlocked;
      moved = model_->compact();
    }
    return to_numpy(std::move(moved));
  }

  auto tables(std::int64_t width) const {
    const auto rows = static_cast<std::size_t>(model_->n_table_rows());
    std::vector<std::int64_t> with_label, without_label;
    {
      nb::gil_scoped_release unlocked;
      with_label.resize(rows * width);
      without_label.resize(rows * width);
      model_->tables(width, with_label, without_label);
    }
    return std::make_tuple(to_numpy(std::move(with_label), rows, width),
                           to_numpy(std::move(without_label), rows, width));
  }

  auto nearest(std::int64_t width) const {
    const auto n_rows = static_cast<std::size_t>(model_->n_slots());
    std::vector<std::int32_t> ids;
    std::vector<double> values;
    {
      nb::gil_scoped_release unlocked;
      ids.resize(n_rows * width);
      values.resize(n_rows * width);
      model_->nearest(width, ids, values);
    }
    return std::make_tuple(to_numpy(std::move(ids), n_rows, width),
                           to_numpy(std::move(values), n_rows, width));
  }

  std::int32_t n_slots() const { return model_->n_slots(); }
  std::int32_t n_live() const { return model_->n_live(); }
  std::size_t bytes() const { return model_->bytes(); }

 private:
  std::optional<LiveModel<Value>> model_;
};

template <class Value>
void bind_graph(nb::module_& m, const char* name) {
  using Live = BoundLive<Value>;
  nb::class_<Live>(m, name)
      .def(nb::init<Vector<std::int64_t>, Vector<std::int32_t>, Vector<Value>, std::int64_t, int,
                    std::int64_t, std::int64_t, Matrix<std::int32_t>, Vector<std::int64_t>,
                    Vector<std::int32_t>, std::int64_t, Vector<std::int32_t>, std::int64_t>(),
           nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("n_columns"), nb::arg("metric"), nb::arg("k"),
           nb::arg("spare"), nb::arg("ids").noconvert(), nb::arg("label_indptr").noconvert(),
           nb::arg("label_indices").noconvert(), nb::arg("n_labels"), nb::arg("groups").noconvert(),
           nb::arg("n_groups"))
      .def("learn", &Live::learn, nb::arg("columns").noconvert(), nb::arg("values").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("n_labels"), nb::arg("group"))
      .def("take_out", &Live::take_out, nb::arg("slot"))
      .def("refill", &Live::refill, nb::arg("forgotten"), nb::arg("rows").noconvert(),
           nb::arg("ids").noconvert())
      .def("compact", &Live::compact)
      .def("tables", &Live::tables, nb::arg("width"))
      .def("nearest", &Live::nearest, nb::arg("width"))
      .def("n_slots", &Live::n_slots)
      .def("n_live", &Live::n_live)
      .def("bytes", &Live::bytes);
}

// Keeps alive the arrays to which the first rows refer.
class BoundFeatureLabels {
 public:
  BoundFeatureLabels(Vector<std::int64_t> indptr, Vector<std::int32_t> rows, Vector<double> values,
                     Vector<std::int64_t> label_indptr, Vector<std::int32_t> label_indices,
                     std::int64_t n_labels, Vector<std::uint8_t> gone)
      : indptr_(std::move(indptr)), rows_(std::move(rows)), values_(std::move(values)) {
    nb::gil_scoped_release unlocked;
    const PatternView labels{view(label_indptr), view(label_indices), n_labels};
    table_.emplace(CsrView<double>{view(indptr_), view(rows_), view(values_), labels.n_rows()},
                   labels, view(gone));
  }

  bool learn(std::int32_t n_rows, std::int32_t n_gone, Vector<std::int32_t> columns,
             Vector<double> values, Vector<std::int32_t> labels, std::int64_t n_labels) {
    nb::gil_scoped_release unlocked;
    return table_->learn({n_rows, n_gone}, {view(columns), view(values)}, view(labels), n_labels);
  }

  bool forget(std::int32_t n_rows, std::int32_t n_gone, std::int32_t row,
              Vector<std::int32_t> features) {
    nb::gil_scoped_release unlocked;
    return table_->forget({n_rows, n_gone}, row, view(features));
  }

  auto nearest(Vector<std::int32_t> features, std::int32_t n_rows, std::int32_t n_gone,
               Vector<std::uint8_t> gone, Vector<double> norms, std::int64_t k) {
    const auto width = static_cast<std::size_t>(k);
    std::vector<std::int32_t> ids(features.size() * width, -1);
    std::vector<double> similarities(ids.size(), 0.0);
    {
      nb::gil_scoped_release unlocked;
      table_->nearest(view(features), {n_rows, n_gone}, view(gone), view(norms),
                      {ids, similarities, k});
    }
    return std::make_tuple(to_numpy(std::move(ids), features.size(), width),
                           to_numpy(std::move(similarities), features.size(), width));
  }

 private:
  Vector<std::int64_t> indptr_;
  Vector<std::int32_t> rows_;
  Vector<double> values_;
  std::optional<FeatureLabels> table_;
};

void bind_feature_labels(nb::module_& m) {
  using Bound = BoundFeatureLabels;
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<Bound>(m, "FeatureLabels")
      .def(
          nb::init<Vector<std::int64_t>, Vector<std::int32_t>, Vector<double>, Vector<std::int64_t>,
                   Vector<std::int32_t>, std::int64_t, Vector<std::uint8_t>>(),
          array("indptr"), array("rows"), array("values"), array("label_indptr"),
          array("label_indices"), nb::arg("n_labels"), array("gone"))
      .def("learn", &Bound::learn, nb::arg("n_rows"), nb::arg("n_gone"), array("columns"),
           array("values"), array("labels"), nb::arg("n_labels"))
      .def("forget", &Bound::forget, nb::arg("n_rows"), nb::arg("n_gone"), nb::arg("row"),
           array("features"))
      .def("nearest", &Bound::nearest, array("features"), nb::arg("n_rows"), nb::arg("n_gone"),
           array("gone"), array("norms"), nb::arg("k"));
}

}  // namespace

void bind_live(nb::module_& m) {
  bind_feature_labels(m);
  bind_graph<float>(m, "LiveGraphFloat32");
  bind_graph<double>(m, "LiveGraphFloat64");
}

}  // namespace vicinal::bindings
