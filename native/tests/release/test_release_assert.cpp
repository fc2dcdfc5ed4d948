// What a release build makes of VICINAL_ASSERT: nothing.
#undef VICINAL_ASSERTIONS
#define VICINAL_ASSERTIONS 0

#include "check.hpp"
#include "vicinal/common/assert.hpp"

namespace vicinal::test_release_assert {

TEST(test_release_assert) {
  int evaluations = 0;
  const auto fails = [&] { return ++evaluations < 0; };
  VICINAL_ASSERT(fails());
  static_assert(!vicinal::assertions_enabled);
  CHECK(evaluations == 0);
  CHECK(!fails() && evaluations == 1);
}

}  // namespace vicinal::test_release_assert
