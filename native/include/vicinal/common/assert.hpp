// Preconditions that debug and sanitizer builds verify; a release build contains no trace of them.
#pragma once

#include <stdexcept>
#include <string>

#if !defined(VICINAL_ASSERTIONS)
#if defined(NDEBUG)
#define VICINAL_ASSERTIONS 0
#else
#define VICINAL_ASSERTIONS 1
#endif
#endif

namespace vicinal {

inline constexpr bool assertions_enabled = VICINAL_ASSERTIONS != 0;

// A caller broke the contract of a function. This is a bug in the caller, not bad user input: the
// Python layer validates user input before it reaches the core.
struct PreconditionError : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] inline void precondition_failed(const char* condition, const char* file, int line) {
  throw PreconditionError(std::string(file) + ":" + std::to_string(line) +
                          ": precondition violated: " + condition);
}

}  // namespace vicinal

// The condition must compile in every build, but a release build never evaluates it.
#define VICINAL_ASSERT(...)                                                                 \
  do {                                                                                      \
    if constexpr (::vicinal::assertions_enabled) {                                          \
      if (!(__VA_ARGS__)) ::vicinal::precondition_failed(#__VA_ARGS__, __FILE__, __LINE__); \
    }                                                                                       \
  } while (false)
