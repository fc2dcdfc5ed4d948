// A parallel loop whose exceptions reach the caller and which the caller can stop.
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

// Asked now and then, always from the calling thread; true stops the loop.
using InterruptCheck = std::function<bool()>;

inline bool never_interrupted() { return false; }

// What the threads of one loop share.
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

// Run body(task, worker) for every task in [0, n_tasks), on at most n_threads threads.
//
// `worker` in [0, n_threads) lets the body keep scratch memory per thread. Tasks are handed out one
// at a time in rising order, so their cost may vary, but a result must not depend on which worker
// ran it. The first exception a body throws stops the loop and is thrown again here.
//
// The calling thread is worker 0. It sits on a core already; were it to wait, the system would have
// one thread more to place, and often puts two on one core for the few milliseconds a loop takes.
// Between its tasks it looks for an interrupt, so a task should take milliseconds, not seconds.
template <class Body>
void parallel_for(std::int64_t n_tasks, int n_threads, Body&& body,
                  const InterruptCheck& interrupted = never_interrupted) {
  using Clock = std::chrono::steady_clock;
  constexpr auto patience = std::chrono::milliseconds(50);
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
  } catch (...) {  // The system refused a thread: those that started end, then the error goes on.
    loop.fail(std::current_exception());
  }
  auto last_look = Clock::now();
  work(0, [&] {
    if (Clock::now() - last_look < patience) return;
    last_look = Clock::now();
    if (interrupted()) throw Interrupted();
  });
  std::unique_lock lock(loop.mutex);
  while (
      !loop.finished.wait_for(lock, patience, [&] { return loop.n_finished == helpers.size(); })) {
    lock.unlock();
    if (!loop.stop && interrupted()) loop.fail(std::make_exception_ptr(Interrupted()));
    lock.lock();
  }
  lock.unlock();
  for (auto& thread : helpers) thread.join();
  if (loop.failure) std::rethrow_exception(loop.failure);
}

}  // namespace vicinal
