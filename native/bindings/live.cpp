#include "arrays.hpp"
#include "vicinal/learn/live_graph.hpp"
#include "vicinal/learn/vote_tallies.hpp"

namespace vicinal::bindings {

namespace {

// A graph that learns and forgets rows, with their labels and, where they are counted, the tallies.
template <class Value>
class BoundLive {
 public:
  BoundLive(Vector<std::int64_t> indptr, Vector<std::int32_t> indices, Vector<Value> values,
            std::int64_t n_columns, int metric, std::int64_t k, std::int64_t spare,
            Matrix<std::int32_t> ids, Vector<std::int64_t> label_indptr,
            Vector<std::int32_t> label_indices, std::int64_t n_labels, Vector<std::int32_t> groups,
            std::int64_t n_groups)
      : metric_(static_cast<Metric>(metric)),
        tallies_(k, n_labels, std::max<std::int64_t>(n_groups, 1)) {
    nb::gil_scoped_release unlocked;
    if (groups.size() != indptr.size() - 1) throw std::invalid_argument("one group per row");
    for (const std::int32_t group : view(groups)) add_group(group);
    graph_ = std::make_unique<LiveGraph<Value>>(
        CsrView<Value>{view(indptr), view(indices), view(values), n_columns}, metric_, k, spare,
        std::span<const std::int32_t>(ids.data(), ids.size()),
        static_cast<std::int64_t>(ids.shape(1)));
    labels_ = std::make_unique<LiveLabels>(
        PatternView{view(label_indptr), view(label_indices), n_labels});
    for (std::int32_t row = 0; row < graph_->rows().n_slots(); ++row)
      tallies_.count(*labels_, row, graph_->lists().nearest(row), 1);
  }

  // Learn a row with its labels, the larger of which may be new; return its slot.
  std::int32_t learn(Vector<std::int32_t> columns, Vector<Value> values,
                     Vector<std::int32_t> labels, std::int64_t n_labels, std::int32_t group) {
    nb::gil_scoped_release unlocked;
    add_group(group);
    tallies_.grow(n_labels);
    const std::int32_t slot = graph_->learn({view(columns), view(values)});
    labels_->add(view(labels));
    tallies_.count(*labels_, slot, graph_->lists().nearest(slot), 1);
    follow_changes();
    return slot;
  }

  void forget(std::int32_t slot) {
    nb::gil_scoped_release unlocked;
    count_out(slot);
    graph_->forget(slot);
    follow_changes();
  }

  // The first half of forget: the answer holds the rows that refill() must then get.
  nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>> take_out(std::int32_t slot) {
    std::vector<std::int32_t> rows;
    {
      nb::gil_scoped_release unlocked;
      count_out(slot);
      const auto missing = graph_->take_out(slot);
      rows.assign(missing.begin(), missing.end());
      if (rows.empty()) follow_changes();
    }
    return to_numpy(std::move(rows));
  }

  // The second half: the nearest rows of each of `rows`, in order, padded with -1.
  void refill(std::int32_t forgotten, Vector<std::int32_t> rows, Matrix<std::int32_t> ids) {
    nb::gil_scoped_release unlocked;
    const std::size_t width = ids.shape(1);
    if (ids.shape(0) != rows.size()) throw std::invalid_argument("one list per row");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      check_slot(view(rows)[i]);
      for (std::size_t place = 0; place < width; ++place)
        if (ids.data()[i * width + place] >= 0) check_slot(ids.data()[i * width + place]);
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      graph_->refill(view(rows)[i], {ids.data() + i * width, width}, forgotten);
    follow_changes();
  }

  nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>> compact() {
    std::vector<std::int32_t> moved;
    {
      nb::gil_scoped_release unlocked;
      moved = graph_->compact();
      labels_->renumber(moved);
      tallies_.renumber(moved);
    }
    return to_numpy(std::move(moved));
  }

  // The tables c_l[j] and c'_l[j] of ML-kNN, each (groups x labels) x width.
  nb::tuple tables(std::int64_t width) const {
    std::vector<std::int64_t> with_label, without_label;
    {
      nb::gil_scoped_release unlocked;
      with_label.resize(tallies_.n_groups() * tallies_.n_labels() * width);
      without_label.resize(with_label.size());
      tallies_.tables(width, with_label, without_label);
    }
    const auto rows = static_cast<std::size_t>(tallies_.n_groups() * tallies_.n_labels());
    return nb::make_tuple(to_numpy(std::move(with_label), rows, width),
                          to_numpy(std::move(without_label), rows, width));
  }

  // The k nearest of every slot, and their distances or similarities; empty for a forgotten row.
  nb::tuple nearest(std::int64_t width) const {
    const auto n_rows = static_cast<std::size_t>(graph_->rows().n_slots());
    std::vector<std::int32_t> ids;
    std::vector<double> values;
    {
      nb::gil_scoped_release unlocked;
      const bool is_distance = metric_ == Metric::euclidean;
      ids.assign(n_rows * width, -1);
      values.assign(ids.size(), is_distance ? std::numeric_limits<double>::infinity() : 0.0);
      for (std::size_t row = 0; row < n_rows; ++row) {
        const auto list = graph_->lists().nearest(static_cast<std::int32_t>(row));
        for (std::size_t place = 0; place < std::min<std::size_t>(list.size(), width); ++place) {
          ids[row * width + place] = list[place].id;
          values[row * width + place] = is_distance ? std::sqrt(list[place].key) : -list[place].key;
        }
      }
    }
    return nb::make_tuple(to_numpy(std::move(ids), n_rows, width),
                          to_numpy(std::move(values), n_rows, width));
  }

  std::int32_t n_slots() const { return graph_->rows().n_slots(); }
  std::int32_t n_live() const { return graph_->rows().n_live(); }
  std::size_t bytes() const { return graph_->bytes() + labels_->bytes() + tallies_.bytes(); }

 private:
  void check_slot(std::int32_t slot) const {
    if (slot < 0 || slot >= graph_->rows().n_slots() || !graph_->rows().is_live(slot))
      throw std::out_of_range("a slot in use");
  }

  void add_group(std::int32_t group) {
    if (group < 0 || group >= tallies_.n_groups()) throw std::out_of_range("a group there is");
    tallies_.add_row(group);
  }

  void count_out(std::int32_t slot) {
    check_slot(slot);
    tallies_.count(*labels_, slot, graph_->lists().nearest(slot), -1);
  }

  void follow_changes() {
    for (const ListChange& change : graph_->changes())
      tallies_.change(*labels_, change, graph_->lists().nearest(change.row));
  }

  Metric metric_;
  GroupedTallies tallies_;
  std::unique_ptr<LiveGraph<Value>> graph_;
  std::unique_ptr<LiveLabels> labels_;
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
      .def("forget", &Live::forget, nb::arg("slot"))
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

}  // namespace

void bind_live(nb::module_& m) {
  bind_graph<float>(m, "LiveGraphFloat32");
  bind_graph<double>(m, "LiveGraphFloat64");
}

}  // namespace vicinal::bindings
