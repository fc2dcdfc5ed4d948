// The whole test framework: CHECK counts, report() prints the totals and gives the exit code.
#pragma once

#include <cstdio>

namespace check {
inline int passed = 0;
inline int failed = 0;

inline void that(bool holds, const char* text, const char* file, int line) {
  if (holds) {
    ++passed;
  } else {
    ++failed;
    std::printf("%s:%d: does not hold: %s\n", file, line, text);
  }
}

inline int report() {
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
}  // namespace check

#define CHECK(...) check::that(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define CHECK_THROWS(type, ...)                                             \
  do {                                                                      \
    bool thrown = false;                                                    \
    try {                                                                   \
      __VA_ARGS__;                                                          \
    } catch (const type&) {                                                 \
      thrown = true;                                                        \
    }                                                                       \
    check::that(thrown, #__VA_ARGS__ " throws " #type, __FILE__, __LINE__); \
  } while (false)
