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
// ran it. The first exception a body throws stops the loop and is thrown again here.
//
// The calling thread is worker 0: it has a core already, and a system that has to place one thread
// less places the others better, which tells in loops of a few milliseconds. Between its tasks it
// looks for an interrupt, so tasks should take milliseconds, not seconds.
template <class Body>
void parallel_for(std::int64_t n_tasks, int n_threads, Body&& body,
                  const InterruptCheck& interrupted = never_interrupted) {
  using Clock = std::chrono::steady_clock;
  constexpr auto patience = std::chrono::milliseconds(50);
  if (n_tasks <= 0) return;
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr failure;
  const int n_workers = static_cast<int>(std::min<std::int64_t>(std::max(n_threads, 1), n_tasks));
  int running = 0;

  const auto fail = [&] {
    std::lock_guard lock(mutex);
    if (!failure) failure = std::current_exception();
    stop = true;
  };
  const auto work = [&](int worker, const auto& between) {
    try {
      for (std::int64_t task; !stop && (task = next++) < n_tasks; between()) body(task, worker);
    } catch (...) {
      fail();
    }
  };
  const auto help = [&](int worker) {
    work(worker, [] {});
    std::lock_guard lock(mutex);
    --running;
    finished.notify_all();
  };

  std::vector<std::thread> helpers;
  try {
    for (int worker = 1; worker < n_workers; ++worker) {
      {
        std::lock_guard lock(mutex);
        ++running;
      }
      helpers.emplace_back(help, worker);
    }
  } catch (...) {  // The system refused a thread: the others finish, then the error goes on.
    std::lock_guard lock(mutex);
    --running;
    failure = std::current_exception();
    stop = true;
  }
  auto last_look = Clock::now();
  work(0, [&] {
    if (Clock::now() - last_look < patience) return;
    if (interrupted()) throw Interrupted();
    last_look = Clock::now();
  });
  {
    std::unique_lock lock(mutex);
    while (!finished.wait_for(lock, patience, [&] { return running == 0; })) {
      lock.unlock();
      if (!stop && interrupted()) {
        try { throw Interrupted(); } catch (...) { fail(); }
      }
      lock.lock();
    }
  }
  for (auto& thread : helpers) thread.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace vicinal
