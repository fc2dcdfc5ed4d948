#include "arrays.hpp"

namespace vicinal::bindings {

void bind_parsing(nb::module_&) {}

}  // namespace vicinal::bindings
