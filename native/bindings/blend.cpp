#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "vicinal/blend/blend_cells.hpp"

namespace vicinal::bindings {
namespace {

constexpr std::size_t few_rows = 4;

CsrView<double> csr(const Vector<std::int64_t>& indptr, const Vector<std::int32_t>& indices,
                    const Vector<double>& values, std::int64_t n_columns) {
  if (values.size() != indices.size())
    throw std::invalid_argument("expected as many values as indices");
  return {view(indptr), view(indices), view(values), n_columns};
}

LabelCentroids build_centroids(const Vector<std::int64_t>& indptr,
                               const Vector<std::int32_t>& indices, const Vector<double>& values,
                               std::int64_t n_features, const Vector<std::int64_t>& label_indptr,
                               const Vector<std::int32_t>& labels, std::int64_t n_labels,
                               int n_threads) {
  if (label_indptr.size() != indptr.size())
    throw std::invalid_argument("label_centroids: expected labels of as many rows");
  nb::gil_scoped_release release;
  return LabelCentroids(csr(indptr, indices, values, n_features),
                        PatternView{view(label_indptr), view(labels), n_labels}, n_threads,
                        interrupted_by_user);
}

LabelCentroids change_centroids(const LabelCentroids& before, const Vector<std::int64_t>& indptr,
                                const Vector<std::int32_t>& indices, const Vector<double>& values,
                                const Vector<std::int64_t>& label_indptr,
                                const Vector<std::int32_t>& labels, std::int64_t n_labels,
                                int sign) {
  if (label_indptr.size() != indptr.size() || n_labels < before.n_labels())
    throw std::invalid_argument("label_centroids: expected labels of as many rows");
  ReleaseIfLong release(indptr.size() > few_rows);
  return before.changed(csr(indptr, indices, values, before.n_features()),
                        PatternView{view(label_indptr), view(labels), n_labels}, sign);
}

// Keeps alive the arrays to which a view refers.
class BoundBlendView {
 public:
  BoundBlendView(int metric, Matrix<std::int32_t> ids, Matrix<double> values,
                 Vector<std::int64_t> vote_ks, Vector<double> vote_powers, Matrix<double> ridge,
                 bool centers)
      : ids_(ids), values_(values), ks_(vote_ks), powers_(vote_powers), ridge_(ridge) {
    const std::size_t n_rows = ids.shape(0);
    if (values.shape(0) != n_rows || values.shape(1) != ids.shape(1) ||
        (ridge.shape(0) > 0 && ridge.shape(1) != ids.shape(1)) ||
        (n_rows > 0 && ridge.shape(0) % n_rows != 0) || vote_ks.size() != vote_powers.size())
      throw std::invalid_argument("BlendView: expected arrays of the same neighbours");
    view_.metric = static_cast<Metric>(metric);
    view_.ids = {ids.data(), ids.size()};
    view_.values = {values.data(), values.size()};
    view_.k = static_cast<std::int64_t>(ids.shape(1));
    view_.vote_ks = vicinal::bindings::view(vote_ks);
    view_.vote_powers = vicinal::bindings::view(vote_powers);
    view_.ridge = {ridge.data(), ridge.size()};
    view_.n_ridges = n_rows > 0 ? static_cast<std::int64_t>(ridge.shape(0) / n_rows) : 0;
    view_.centers = centers;
  }

  void use_centroids(nb::object centroids, Vector<std::int64_t> indptr,
                     Vector<std::int32_t> indices, Vector<double> values) {
    const auto& found = nb::cast<const LabelCentroids&>(centroids);
    if (indptr.size() != ids_.shape(0) + 1)
      throw std::invalid_argument("BlendView: expected as many rows as neighbour lists");
    view_.centroids = &found;
    view_.rows = csr(indptr, indices, values, found.n_features());
    centroids_ = std::move(centroids);
    indptr_ = indptr;
    indices_ = indices;
    row_values_ = values;
  }

  const BlendView& view() const { return view_; }
  std::size_t n_rows() const { return ids_.shape(0); }

 private:
  Matrix<std::int32_t> ids_;
  Matrix<double> values_;
  Vector<std::int64_t> ks_;
  Vector<double> powers_;
  Matrix<double> ridge_;
  nb::object centroids_;
  Vector<std::int64_t> indptr_;
  Vector<std::int32_t> indices_;
  Vector<double> row_values_;
  BlendView view_;
};

auto make_cells(const std::vector<const BoundBlendView*>& views,
                const std::vector<Matrix<double>>& tables, const Vector<std::int64_t>& label_indptr,
                const Vector<std::int32_t>& labels, std::int64_t n_labels,
                const Vector<float>& prior, const Vector<std::int64_t>& own_indptr,
                const Vector<std::int32_t>& own_labels, const Vector<std::int64_t>& counts,
                bool every_label, int n_threads) {
  if (views.empty() || counts.size() != 5 || static_cast<std::int64_t>(prior.size()) != n_labels)
    throw std::invalid_argument("blend_cells: expected views, five counts and a prior per label");
  BlendInput input;
  input.n_rows = static_cast<std::int64_t>(views[0]->n_rows());
  for (const BoundBlendView* each : views) {
    if (static_cast<std::int64_t>(each->n_rows()) != input.n_rows ||
        (each->view().centroids && each->view().centroids->n_labels() > n_labels))
      throw std::invalid_argument("blend_cells: expected views of the same rows and labels");
    input.views.push_back(each->view());
  }
  for (const auto& table : tables) {
    if (static_cast<std::int64_t>(table.shape(0)) != input.n_rows ||
        static_cast<std::int64_t>(table.shape(1)) != n_labels)
      throw std::invalid_argument("blend_cells: expected a score for every row and label");
    input.tables.push_back({table.data(), table.size()});
  }
  input.labels = {view(label_indptr), view(labels), n_labels};
  input.prior = view(prior);
  if (own_indptr.size() > 1) input.own = {view(own_indptr), view(own_labels), n_labels};
  if (own_indptr.size() > 1 && static_cast<std::int64_t>(own_indptr.size()) != input.n_rows + 1)
    throw std::invalid_argument("blend_cells: expected the labels of as many rows");
  const std::int64_t* count = counts.data();
  const CandidateCounts wanted{count[0], count[1], count[2], count[3], count[4], every_label};
  const auto n_columns = static_cast<std::size_t>(input.n_columns());
  BlendCells found;
  {
    ReleaseIfLong release(input.n_rows > static_cast<std::int64_t>(few_rows));
    found = vicinal::blend_cells(input, wanted, n_threads, interrupted_by_user);
  }
  const std::size_t n_cells = found.cells.size() / n_columns;
  return std::make_tuple(to_numpy(std::move(found.indptr)), to_numpy(std::move(found.labels)),
                         to_numpy(std::move(found.cell)), to_numpy(std::move(found.similarity)),
                         to_numpy(std::move(found.cells), n_cells, n_columns));
}

}  // namespace

void bind_blend(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<LabelCentroids>(m, "LabelCentroids")
      .def_static("build", &build_centroids, array("indptr"), array("indices"), array("values"),
                  nb::arg("n_features"), array("label_indptr"), array("labels"),
                  nb::arg("n_labels"), nb::arg("n_threads"))
      .def("changed", &change_centroids, array("indptr"), array("indices"), array("values"),
           array("label_indptr"), array("labels"), nb::arg("n_labels"), nb::arg("sign"))
      .def("n_labels", &LabelCentroids::n_labels)
      .def("bytes", &LabelCentroids::bytes)
      .def("sum", &LabelCentroids::sum, nb::arg("feature"), nb::arg("label"))
      .def("norm", &LabelCentroids::norm, nb::arg("label"));
  nb::class_<BoundBlendView>(m, "BlendView")
      .def(nb::init<int, Matrix<std::int32_t>, Matrix<double>, Vector<std::int64_t>, Vector<double>,
                    Matrix<double>, bool>(),
           nb::arg("metric"), array("ids"), array("values"), array("vote_ks"), array("vote_powers"),
           array("ridge"), nb::arg("centers"))
      .def("use_centroids", &BoundBlendView::use_centroids, nb::arg("centroids"), array("indptr"),
           array("indices"), array("values"));
  m.def("blend_cells", &make_cells, nb::arg("views"), nb::arg("tables"), array("label_indptr"),
        array("labels"), nb::arg("n_labels"), array("prior"), array("own_indptr"),
        array("own_labels"), array("counts"), nb::arg("every_label"), nb::arg("n_threads"));
}

}  // namespace vicinal::bindings
