#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "vicinal/search/inverted_index.hpp"

namespace vicinal::bindings {

namespace {

// Keeps alive the arrays to which the index refers.
template <class Value>
class BoundIndex {
 public:
  BoundIndex(Vector<std::int64_t> indptr, Vector<std::int32_t> indices, Vector<Value> values,
             std::int64_t n_columns, int metric, std::int64_t block_rows, const std::string& simd,
             bool patterns, std::optional<Vector<std::uint8_t>> stored)
      : indptr_(indptr), indices_(indices), values_(values), stored_(stored) {
    nb::gil_scoped_release unlocked;
    const CsrView<Value> rows{view(indptr_), view(indices_), view(values_), n_columns};
    const IndexOptions options{static_cast<Metric>(metric), block_rows, simd_level(simd), patterns};
    index_ = stored_ ? std::make_unique<InvertedIndex<Value>>(rows, options,
                                                              std::as_bytes(view(*stored_)))
                     : std::make_unique<InvertedIndex<Value>>(rows, options);
  }

  // Pass the postings to a function that writes them, piece by piece, for `stored` to read again.
  using Piece = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>;
  void store(nb::typed<nb::callable, nb::object(Piece)> write) const {
    index_->store([&](std::span<const std::byte> piece) {
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(piece.data());
      // Without an owner, NumPy would get a copy.
      const nb::capsule owner(this, [](void*) noexcept {});
      write(Piece(bytes, {piece.size()}, owner));
    });
  }

  // `ids` and `keys` hold what was found in other rows, and receive the results.
  void search(Vector<std::int64_t> indptr, Vector<std::int32_t> indices, Vector<double> values,
              Vector<std::int32_t> excluded, Vector<std::uint8_t> removed, std::int32_t first_id,
              std::int64_t n_rows, Output<std::int32_t> ids, Output<double> keys, int n_threads,
              std::int64_t batch) const {
    const ReleaseIfLong unlocked((indptr.size() - 1) * (indptr_.size() - 1) > few_pairs);
    const Answers answers{{ids.data(), ids.size()},
                          {keys.data(), keys.size()},
                          static_cast<std::int64_t>(ids.shape(1)),
                          n_rows};
    index_->search({view(indptr), view(indices), view(values), index_->n_features()},
                   view(excluded), view(removed), first_id, answers,
                   {n_threads, batch, interrupted_by_user});
  }

  std::size_t bytes() const { return index_->bytes(); }

 private:
  // Of a query and a row. An index that grows has segments of few rows.
  static constexpr std::size_t few_pairs = 1 << 12;

  Vector<std::int64_t> indptr_;
  Vector<std::int32_t> indices_;
  Vector<Value> values_;
  std::optional<Vector<std::uint8_t>> stored_;
  std::unique_ptr<InvertedIndex<Value>> index_;
};

template <class Value>
void bind_index(nb::module_& m, const char* name) {
  using Index = BoundIndex<Value>;
  nb::class_<Index>(m, name)
      .def(nb::init<Vector<std::int64_t>, Vector<std::int32_t>, Vector<Value>, std::int64_t, int,
                    std::int64_t, const std::string&, bool, std::optional<Vector<std::uint8_t>>>(),
           nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("n_columns"), nb::arg("metric"),
           nb::arg("block_rows"), nb::arg("simd"), nb::arg("patterns"),
           nb::arg("stored").noconvert() = nb::none())
      .def("search", &Index::search, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("values").noconvert(), nb::arg("excluded").noconvert(),
           nb::arg("removed").noconvert(), nb::arg("first_id"), nb::arg("n_rows"),
           nb::arg("ids").noconvert(), nb::arg("keys").noconvert(), nb::arg("n_threads"),
           nb::arg("batch"))
      .def("store", &Index::store, nb::arg("write"))
      .def("bytes", &Index::bytes);
}

}  // namespace

void bind_search(nb::module_& m) {
  m.def("simd_levels", &simd_levels);
  bind_index<float>(m, "InvertedIndexFloat32");
  bind_index<double>(m, "InvertedIndexFloat64");
}

}  // namespace vicinal::bindings
