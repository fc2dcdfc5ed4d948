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
#include <vector>

namespace vicinal {

// Thrown by parallel_for when `interrupted` asked it to stop.
struct Interrupted : std::runtime_error {
  Interrupted() : std::runtime_error("interrupted") {}
};

// Asked now and then, always from the calling thread; true stops the loop.
using InterruptCheck = std::function<bool()>;

inline bool never_interrupted() { return false; }

// Run body(task, worker) for every task in [0, n_tasks), on at most n_threads threads.
//
// `worker` in [0, n_threads) lets the body keep scratch memory per thread. Tasks are handed out one
// at a time in rising order, so their cost may vary, but a result must not depend on which worker
// ran it. The first exception a body throws stops the loop and is thrown again here. The calling
// thread does not work itself: it watches for an interrupt, so that Ctrl-C never waits for a long
// task.
template <class Body>
void parallel_for(std::int64_t n_tasks, int n_threads, Body&& body,
                  const InterruptCheck& interrupted = never_interrupted) {
  if (n_tasks <= 0) return;
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr failure;
  int running = static_cast<int>(std::min<std::int64_t>(std::max(n_threads, 1), n_tasks));

  auto work = [&](int worker) {
    try {
      for (std::int64_t task; !stop && (task = next++) < n_tasks;) body(task, worker);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
    std::lock_guard lock(mutex);
    --running;
    finished.notify_all();
  };

  std::vector<std::thread> workers;
  const int n_workers = running;
  try {
    for (int worker = 0; worker < n_workers; ++worker) workers.emplace_back(work, worker);
  } catch (
      ...) {  // The system refused a thread: those that started finish, then the error goes on.
    stop = true;
    for (auto& thread : workers) thread.join();
    throw;
  }
  bool was_interrupted = false;
  {
    std::unique_lock lock(mutex);
    while (running > 0) {
      if (finished.wait_for(lock, std::chrono::milliseconds(50), [&] { return running == 0; }))
        break;
      lock.unlock();
      if (!was_interrupted && interrupted()) stop = was_interrupted = true;
      lock.lock();
    }
  }
  for (auto& thread : workers) thread.join();
  if (failure) std::rethrow_exception(failure);
  if (was_interrupted) throw Interrupted();
}

}  // namespace vicinal
