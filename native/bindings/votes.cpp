#include "vicinal/votes/votes.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "arrays.hpp"

namespace vicinal::bindings {

namespace {

// Keeps alive the arrays to which the table refers.
class BoundVotes {
 public:
  BoundVotes(Vector<std::int64_t> indptr, Vector<std::int32_t> indices, Matrix<std::int32_t> ids)
      : indptr_(indptr),
        indices_(indices),
        ids_(ids),
        table_({view(indptr), view(indices), PatternView::unknown_columns},
               {ids.data(), ids.size()}, ids.shape(1)) {}

  void extend(std::int64_t from, std::int64_t to, int n_threads) {
    const ReleaseIfLong unlocked(ids_.shape(0) > few_queries);
    table_.extend(from, to, n_threads, interrupted_by_user);
  }

  // The counts so far, in compressed rows.
  auto counts() const {
    std::vector<std::int64_t> indptr{0};
    for (const auto& row : table_.rows())
      indptr.push_back(indptr.back() + static_cast<std::int64_t>(row.size()));
    std::vector<std::int32_t> labels, counts;
    labels.reserve(indptr.back());
    counts.reserve(indptr.back());
    for (const auto& row : table_.rows())
      for (const auto& [label, count] : row) {
        labels.push_back(label);
        counts.push_back(count);
      }
    return std::make_tuple(to_numpy(std::move(indptr)), to_numpy(std::move(labels)),
                           to_numpy(std::move(counts)));
  }

 private:
  static constexpr std::size_t few_queries = 16;

  Vector<std::int64_t> indptr_;
  Vector<std::int32_t> indices_;
  Matrix<std::int32_t> ids_;
  VoteTable table_;
};

}  // namespace

void bind_votes(nb::module_& m) {
  nb::class_<BoundVotes>(m, "VoteTable")
      .def(nb::init<Vector<std::int64_t>, Vector<std::int32_t>, Matrix<std::int32_t>>(),
           nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("ids").noconvert())
      .def("extend", &BoundVotes::extend, nb::arg("start"), nb::arg("stop"), nb::arg("n_threads"))
      .def("counts", &BoundVotes::counts);
}

}  // namespace vicinal::bindings
