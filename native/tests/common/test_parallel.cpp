#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "vicinal/common/parallel.hpp"

namespace vicinal::test_parallel {

static void every_task_runs_once() {
  for (int n_threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> runs(1000);
    std::atomic<bool> workers_in_range{true};
    parallel_for(1000, n_threads, [&](std::int64_t task, int worker) {
      if (worker < 0 || worker >= n_threads) workers_in_range = false;
      ++runs[task];
    });
    CHECK(workers_in_range);
    bool once = true;
    for (auto& count : runs) once = once && count == 1;
    CHECK(once);
  }
}

static void no_tasks_is_no_work() {
  parallel_for(0, 4, [](std::int64_t, int) { CHECK(false); });
  CHECK(true);
}

// Both kinds of worker: the calling thread (0) and a thread of its own. The other one has a task
// until the error is thrown, so that it cannot take them all.
static void a_worker_exception_reaches_the_caller() {
  for (const int culprit : {0, 1}) {
    std::atomic<bool> has_failed{false};
    CHECK_THROWS(std::out_of_range, parallel_for(1000, 2, [&](std::int64_t, int worker) {
                   if (worker == culprit) {
                     has_failed = true;
                     throw std::out_of_range("a task");
                   }
                   while (!has_failed) std::this_thread::yield();
                 }));
  }
}

// The task of the other thread outlasts that of the calling one, which still listens.
static void an_interrupt_is_seen_while_waiting() {
  std::atomic<bool> both_at_work{false}, asked{false};
  CHECK_THROWS(vicinal::Interrupted, parallel_for(
                                         2, 2,
                                         [&](std::int64_t, int worker) {
                                           if (worker != 0) both_at_work = true;
                                           while (!(worker == 0 ? both_at_work : asked))
                                             std::this_thread::yield();
                                         },
                                         [&] {
                                           asked = true;
                                           return true;
                                         }));
}

static void an_interrupt_stops_the_loop() {
  std::atomic<int> done{0};
  CHECK_THROWS(vicinal::Interrupted,
               parallel_for(
                   10'000, 2,
                   [&](std::int64_t, int) {
                     ++done;
                     std::this_thread::sleep_for(std::chrono::milliseconds(1));
                   },
                   [] { return true; }));
  CHECK(done < 10'000);
}

// Both threads are in the midst of a task that ends only by the sign.
static void long_tasks_end_early() {
  std::atomic<bool> both_at_work{false};
  std::atomic<int> ended{0};
  const vicinal::InterruptCheck asked = [&] { return both_at_work.load(); };
  vicinal::StopSign sign(asked);
  CHECK_THROWS(vicinal::Interrupted, parallel_for(
                                         2, 2,
                                         [&](std::int64_t, int worker) {
                                           if (worker != 0) both_at_work = true;
                                           try {
                                             for (;;) {
                                               sign.check(worker);
                                               std::this_thread::yield();
                                             }
                                           } catch (const vicinal::Interrupted&) {
                                             ++ended;
                                             throw;
                                           }
                                         },
                                         [&] { return sign.is_up(); }));
  CHECK(ended == 2);
}

TEST(test_parallel) {
  every_task_runs_once();
  no_tasks_is_no_work();
  a_worker_exception_reaches_the_caller();
  an_interrupt_stops_the_loop();
  an_interrupt_is_seen_while_waiting();
  long_tasks_end_early();
}

}  // namespace vicinal::test_parallel
