// A parallel loop that forwards exceptions to the caller and that the caller can interrupt.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace vicinal {

// Thrown by parallel_for when `interrupted` asked it to stop.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

// Called now and then, always from the calling thread; true stops the loop.
using InterruptCheck = std::function<bool()>;

inline bool never_interrupted() { return false; }

// State shared by the threads of one loop.
struct Loop {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable finished;
  std::size_t n_finished = 0;
  std::exception_ptr failure;

  void fail(std::exception_ptr error) {
    std::lock_guard lock(mutex);
    if (!failure) failure = std::move(error);
    stop = true;
  }

  void finish() {
    std::lock_guard lock(mutex);
    ++n_finished;
    finished.notify_all();
  }
};

// Refers to the body of a loop. It is called through a pointer, which costs less than taking the
// next task does: the loop is compiled once, and not, with threads and exceptions, for every body.
class LoopBody {
 public:
  template <class Body>
  LoopBody(const Body& body)
      : body_(&body), call_([](const void* called, std::int64_t task, int worker) {
          (*static_cast<const Body*>(called))(task, worker);
        }) {}

  void operator()(std::int64_t task, int worker) const { call_(body_, task, worker); }

 private:
  const void* body_;
  void (*call_)(const void* called, std::int64_t task, int worker);
};

// Run body(task, worker) for every task in [0, n_tasks), on at most n_threads threads.
//
// `worker` in [0, n_threads) lets the body keep scratch memory per thread. Tasks are handed out one
// at a time in rising order, so their cost may vary, but a result must not depend on which worker
// ran it. The first exception that a body throws stops the loop and is rethrown here.
//
// The calling thread is worker 0, because it already occupies a core: if it only waited, the system
// would have one more thread to place and would often put two on one core for the few milliseconds
// that a loop takes. It checks for an interrupt between its tasks, so a task should take
// milliseconds, not seconds.
inline void parallel_for(std::int64_t n_tasks, int n_threads, const LoopBody& body,
                         const InterruptCheck& interrupted = never_interrupted) {
  using Clock = std::chrono::steady_clock;
  constexpr auto check_interval = std::chrono::milliseconds(50);
  if (n_tasks <= 0) return;
  Loop loop;
  const auto work = [&](int worker, auto&& between) {
    try {
      for (std::int64_t task; !loop.stop && (task = loop.next++) < n_tasks; between())
        body(task, worker);
    } catch (...) {
      loop.fail(std::current_exception());
    }
  };

  std::vector<std::thread> helpers;
  try {
    for (int worker = 1; worker < std::min<std::int64_t>(n_threads, n_tasks); ++worker)
      helpers.emplace_back([&, worker] {
        work(worker, [] {});
        loop.finish();
      });
  } catch (
      ...) {  // The system refused a thread: wait for those that started, then rethrow the error.
    loop.fail(std::current_exception());
  }
  auto last_check = Clock::now();
  work(0, [&] {
    if (Clock::now() - last_check < check_interval) return;
    last_check = Clock::now();
    if (interrupted()) throw Interrupted();
  });
  std::unique_lock lock(loop.mutex);
  while (!loop.finished.wait_for(lock, check_interval,
                                 [&] { return loop.n_finished == helpers.size(); })) {
    lock.unlock();
    if (!loop.stop && interrupted()) loop.fail(std::make_exception_ptr(Interrupted()));
    lock.lock();
  }
  lock.unlock();
  for (auto& thread : helpers) thread.join();
  if (loop.failure) std::rethrow_exception(loop.failure);
}

// Ends the tasks of a loop that take seconds: they call `check` now and then.
class StopSign {
 public:
  explicit StopSign(const InterruptCheck& interrupted) : interrupted_(interrupted) {}

  // For the loop itself.
  bool is_up() {
    if (!is_up_ && interrupted_()) is_up_ = true;
    return is_up_;
  }

  // Throws Interrupted. Worker 0 is the calling thread, the only one that may ask.
  void check(int worker) {
    if (worker == 0 && Clock::now() - last_check_ >= std::chrono::milliseconds(50)) {
      last_check_ = Clock::now();
      is_up();
    }
    if (is_up_) throw Interrupted();
  }

 private:
  using Clock = std::chrono::steady_clock;

  const InterruptCheck& interrupted_;
  std::atomic<bool> is_up_{false};
  Clock::time_point last_check_ = Clock::now();
};

}  // namespace vicinal
