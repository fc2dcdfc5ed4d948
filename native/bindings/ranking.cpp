#include "arrays.hpp"

namespace vicinal::bindings {

void bind_ranking(nb::module_&) {}

}  // namespace vicinal::bindings
