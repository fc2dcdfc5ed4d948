#include <nanobind/stl/tuple.h>

#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "vicinal/parse/arff_parser.hpp"
#include "vicinal/parse/xc_parser.hpp"

namespace vicinal::bindings {

namespace {

std::string_view text_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// The bytes are immutable and held by the caller's frame, so that they may be read without the GIL.
auto read_xc(const nb::bytes& text) {
  XcData data;
  {
    nb::gil_scoped_release nogil;
    data = parse_xc(text_of(text), interrupted_by_user);
  }
  return std::make_tuple(
      data.n_rows, data.n_features, data.n_labels, to_numpy(std::move(data.features.indptr)),
      to_numpy(std::move(data.features.indices)), to_numpy(std::move(data.features.values)),
      to_numpy(std::move(data.labels.indptr)), to_numpy(std::move(data.labels.indices)));
}

std::vector<std::string_view> pieces(const nb::bytes& joined, const Vector<std::int64_t>& ends) {
  std::vector<std::string_view> values;
  values.reserve(ends.size());
  std::int64_t start = 0;
  for (const std::int64_t end : view(ends)) {
    values.push_back(text_of(joined).substr(start, end - start));
    start = end;
  }
  return values;
}

auto read_arff_rows(const nb::bytes& text, std::int64_t start, std::int64_t first_line,
                    const Vector<std::uint8_t>& kind, const Vector<std::int32_t>& column,
                    const Vector<std::int64_t>& value_start, const nb::bytes& values,
                    const Vector<std::int64_t>& value_ends,
                    const Vector<std::int32_t>& value_column,
                    const Vector<std::int32_t>& default_column) {
  const ArffPlan plan{view(kind),         view(column),         view(value_start),
                      view(value_column), view(default_column), pieces(values, value_ends)};
  ArffData data;
  {
    nb::gil_scoped_release nogil;
    data = parse_arff_rows(text_of(text).substr(start), first_line, plan, interrupted_by_user);
  }
  return std::make_tuple(
      to_numpy(std::move(data.features.indptr)), to_numpy(std::move(data.features.indices)),
      to_numpy(std::move(data.features.values)), to_numpy(std::move(data.labels.indptr)),
      to_numpy(std::move(data.labels.indices)));
}

// A ParseError reaches Python as _native.ParseError(line, expected, got), the last two as bytes:
// what came may be in any encoding.
void translate_parse_error(const std::exception_ptr& thrown, void* type) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ParseError& error) {
    const nb::tuple parts =
        nb::make_tuple(error.line, nb::bytes(error.expected.data(), error.expected.size()),
                       nb::bytes(error.got.data(), error.got.size()));
    PyErr_SetObject(static_cast<PyObject*>(type), parts.ptr());
  }
}

}  // namespace

void bind_parsing(nb::module_& m) {
  PyObject* type = PyErr_NewException("vicinal._native.ParseError", PyExc_ValueError, nullptr);
  if (type == nullptr) throw nb::python_error();
  m.attr("ParseError") = nb::steal(type);
  nb::register_exception_translator(translate_parse_error, type);
  m.def("read_xc", &read_xc, nb::arg("text").noconvert());
  m.def("read_arff_rows", &read_arff_rows, nb::arg("text").noconvert(), nb::arg("start"),
        nb::arg("first_line"), nb::arg("kind").noconvert(), nb::arg("column").noconvert(),
        nb::arg("value_start").noconvert(), nb::arg("values").noconvert(),
        nb::arg("value_ends").noconvert(), nb::arg("value_column").noconvert(),
        nb::arg("default_column").noconvert());
}

}  // namespace vicinal::bindings
