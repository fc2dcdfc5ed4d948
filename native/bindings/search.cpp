#include "arrays.hpp"

namespace vicinal::bindings {

void bind_search(nb::module_&) {}

}  // namespace vicinal::bindings
