#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <tuple>
#include <utility>

#include "arrays.hpp"
#include "vicinal/blend/blend_cells.hpp"
#include "vicinal/blend/feature_rows.hpp"
#include "vicinal/blend/label_divergence.hpp"

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
                               std::int64_t n_features, const Vector<double>& lengths,
                               const Vector<std::int64_t>& label_indptr,
                               const Vector<std::int32_t>& labels, std::int64_t n_labels,
                               int n_threads) {
  if (label_indptr.size() != indptr.size() || lengths.size() + 1 != indptr.size())
    throw std::invalid_argument("label_centroids: expected labels and lengths of as many rows");
  nb::gil_scoped_release release;
  return LabelCentroids(csr(indptr, indices, values, n_features), view(lengths),
                        PatternView{view(label_indptr), view(labels), n_labels}, n_threads,
                        FeatureRows::usual_at_once, interrupted_by_user);
}

// The arrays of a block that Python owns: they are let go of with it.
struct BoundBlock {
  Vector<std::int64_t> starts, wide_starts;
  Vector<std::int32_t> labels;
  Vector<std::uint32_t> sums;
  Vector<std::int64_t> wide;
  Vector<std::uint32_t> wide_places;
};

// Centroids whose lists were written to arrays before, such as those of mapped files.
LabelCentroids stored_centroids(std::int64_t n_labels, Vector<std::int64_t> starts,
                                Vector<std::int64_t> wide_starts, Vector<std::int32_t> labels,
                                Vector<std::uint32_t> sums, Vector<std::int64_t> wide,
                                Vector<std::uint32_t> wide_places) {
  const auto owner = std::make_shared<const BoundBlock>(
      BoundBlock{starts, wide_starts, labels, sums, wide, wide_places});
  const CentroidBlock block{0,          view(starts), view(wide_starts), view(labels),
                            view(sums), view(wide),   view(wide_places), owner};
  nb::gil_scoped_release release;
  if (!block.is_sound(n_labels))
    throw std::invalid_argument("label_centroids: expected rising labels and a sum for each");
  return LabelCentroids(block.n_features(), n_labels, {block});
}

// The lists of the features from `first` on, as many as `at_once` entries of the rows have: the
// first feature behind them, and for each of them the numbers of labels and of wide sums; then all
// labels, sums and wide sums.
auto centroid_lists(const Vector<std::int64_t>& indptr, const Vector<std::int32_t>& indices,
                    const Vector<double>& values, const Vector<std::int64_t>& counts,
                    const Vector<double>& lengths, const Vector<std::int64_t>& label_indptr,
                    const Vector<std::int32_t>& labels, std::int64_t n_labels, std::int64_t first,
                    std::int64_t at_once, int n_threads) {
  const auto n_features = static_cast<std::int64_t>(counts.size());
  if (label_indptr.size() != indptr.size() || lengths.size() + 1 != indptr.size() || first < 0 ||
      first >= n_features)
    throw std::invalid_argument("centroid_lists: expected labels and lengths of as many rows");
  GrowingBlock all;
  std::int64_t last = 0;
  {
    nb::gil_scoped_release release;
    last = FeatureRows::range_end(view(counts), first, at_once);
    std::vector<CentroidBlock> blocks =
        LabelCentroids::blocks_of(csr(indptr, indices, values, n_features), view(lengths),
                                  PatternView{view(label_indptr), view(labels), n_labels},
                                  view(counts), first, last, n_threads, interrupted_by_user);
    all.reserve(blocks);
    for (CentroidBlock& block : blocks) {
      all.append(block);
      block = {};  // so that the lists are not in memory twice
    }
  }
  return std::make_tuple(last, to_numpy(std::move(all.starts)),
                         to_numpy(std::move(all.wide_starts)), to_numpy(std::move(all.labels)),
                         to_numpy(std::move(all.sums)), to_numpy(std::move(all.wide)),
                         to_numpy(std::move(all.wide_places)));
}

auto divergence(const Vector<std::int64_t>& indptr, const Vector<std::int32_t>& indices,
                std::int64_t n_features, const Vector<std::int64_t>& label_indptr,
                const Vector<std::int32_t>& labels, const Vector<double>& share, double prior,
                std::int64_t at_once, int n_threads) {
  if (label_indptr.size() != indptr.size())
    throw std::invalid_argument("label_divergence: expected labels of as many rows");
  std::vector<double> found;
  {
    nb::gil_scoped_release release;
    found = label_divergence(
        {view(indptr), view(indices), n_features},
        {view(label_indptr), view(labels), static_cast<std::int64_t>(share.size())}, view(share),
        prior, n_threads, at_once, interrupted_by_user);
  }
  return to_numpy(std::move(found));
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
                bool every_label, std::int64_t most_at_once, int n_threads) {
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
    found = vicinal::blend_cells(input, wanted, most_at_once, n_threads, interrupted_by_user);
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
                  nb::arg("n_features"), array("lengths"), array("label_indptr"), array("labels"),
                  nb::arg("n_labels"), nb::arg("n_threads"))
      .def("changed", &change_centroids, array("indptr"), array("indices"), array("values"),
           array("label_indptr"), array("labels"), nb::arg("n_labels"), nb::arg("sign"))
      .def_static("stored", &stored_centroids, nb::arg("n_labels"), array("starts"),
                  array("wide_starts"), array("labels"), array("sums"), array("wide"),
                  array("wide_places"))
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
  m.def("centroid_lists", &centroid_lists, array("indptr"), array("indices"), array("values"),
        array("counts"), array("lengths"), array("label_indptr"), array("labels"),
        nb::arg("n_labels"), nb::arg("first"), nb::arg("at_once"), nb::arg("n_threads"));
  m.def("label_divergence", &divergence, array("indptr"), array("indices"), nb::arg("n_features"),
        array("label_indptr"), array("labels"), array("share"), nb::arg("prior"),
        nb::arg("at_once"), nb::arg("n_threads"));
  m.def("blend_cells", &make_cells, nb::arg("views"), nb::arg("tables"), array("label_indptr"),
        array("labels"), nb::arg("n_labels"), array("prior"), array("own_indptr"),
        array("own_labels"), array("counts"), nb::arg("every_label"), nb::arg("most_at_once"),
        nb::arg("n_threads"));
}

}  // namespace vicinal::bindings
