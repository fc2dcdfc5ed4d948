#include "arrays.hpp"

namespace vicinal::bindings {

void bind_baselines(nb::module_& m);
void bind_blend(nb::module_& m);
void bind_dense_search(nb::module_& m);
void bind_dml(nb::module_& m);
void bind_live(nb::module_& m);
void bind_local_ridge(nb::module_& m);
void bind_parsing(nb::module_& m);
void bind_quadratic_forms(nb::module_& m);
void bind_ranking(nb::module_& m);
void bind_rows(nb::module_& m);
void bind_search(nb::module_& m);
void bind_selection(nb::module_& m);
void bind_trees(nb::module_& m);
void bind_votes(nb::module_& m);

}  // namespace vicinal::bindings

NB_MODULE(_native, m) {
  namespace nb = nanobind;
  m.doc() =
      "Performance-critical loops. The Python layer validates all arguments before it calls them.";
  // An index may outlive the interpreter, for instance in a daemon thread: no fault to report.
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const vicinal::Interrupted&) {
      if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
    }
  });
  vicinal::bindings::bind_baselines(m);
  vicinal::bindings::bind_blend(m);
  vicinal::bindings::bind_dense_search(m);
  vicinal::bindings::bind_dml(m);
  vicinal::bindings::bind_live(m);
  vicinal::bindings::bind_local_ridge(m);
  vicinal::bindings::bind_parsing(m);
  vicinal::bindings::bind_quadratic_forms(m);
  vicinal::bindings::bind_ranking(m);
  vicinal::bindings::bind_rows(m);
  vicinal::bindings::bind_search(m);
  vicinal::bindings::bind_selection(m);
  vicinal::bindings::bind_trees(m);
  vicinal::bindings::bind_votes(m);
}
