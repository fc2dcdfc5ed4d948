// The whole test framework: TEST names what a file tests, CHECK counts, run() prints the totals.
#pragma once

#include <cstdio>
#include <string_view>

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

// What one file tests. All of a program are in a list, in which the program finds them by name.
class Test {
 public:
  Test(const char* name, void (*function)()) : name_(name), function_(function), next_(first()) {
    first() = this;
  }

  static const Test* find(std::string_view name) {
    const Test* test = first();
    while (test != nullptr && test->name_ != name) test = test->next_;
    return test;
  }

  // Whether all checks held, and there was one.
  bool run() const {
    function_();
    std::printf("%s: %d passed, %d failed\n", name_.data(), passed, failed);
    return failed == 0 && passed > 0;
  }

 private:
  static const Test*& first() {
    static const Test* test = nullptr;
    return test;
  }

  std::string_view name_;
  void (*function_)();
  const Test* next_;
};
}  // namespace check

#define TEST(name)                              \
  static void name();                           \
  const check::Test name##_listed(#name, name); \
  static void name()
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
