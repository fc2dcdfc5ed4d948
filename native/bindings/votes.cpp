#include "arrays.hpp"

namespace vicinal::bindings {

void bind_votes(nb::module_&) {}

}  // namespace vicinal::bindings
