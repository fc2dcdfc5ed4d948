// Runs the test that the argument names.
#include "check.hpp"

int main(int n_arguments, char** arguments) {
  const check::Test* test = n_arguments == 2 ? check::Test::find(arguments[1]) : nullptr;
  if (test == nullptr) {
    std::printf("expected the name of a test of this program, such as test_votes\n");
    return 1;
  }
  return test->run() ? 0 : 1;
}
