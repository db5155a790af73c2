// The pool: every task once, on a worker that exists, with exceptions that reach the caller.
#include "threads/pool.h"
#include "threads/thread_count.h"

#include <gtest/gtest.h>
#include <reckon/error.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using reckon::Pool;

TEST(Pool, RunsEveryTaskOnceOnAWorkerThatExists) {
  for (const int threads : {1, 2, 3, 8}) {
    Pool pool(threads);
    EXPECT_LE(pool.threads(), threads);
    for (const std::int64_t tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
      std::atomic<bool> known = true;
      pool.run(tasks, [&](std::int64_t task, int worker) {
        ++runs[static_cast<std::size_t>(task)];
        if (worker < 0 || worker >= pool.threads()) known = false;
      });
      for (const auto& count : runs) EXPECT_EQ(count, 1);
      EXPECT_TRUE(known);
    }
  }
}

TEST(Pool, NeverGivesOneWorkerToTwoThreadsAtOnce) {
  Pool pool(4);
  std::vector<std::atomic<bool>> busy(4);
  std::atomic<bool> shared = false;
  for (int repeat = 0; repeat < 200; ++repeat)
    pool.run(64, [&](std::int64_t, int worker) {
      if (busy[static_cast<std::size_t>(worker)].exchange(true)) shared = true;
      busy[static_cast<std::size_t>(worker)] = false;
    });
  EXPECT_FALSE(shared);
}

TEST(Pool, SeesWhatWasWrittenBeforeTheRunAndShowsWhatWasWrittenInIt) {
  Pool pool(3);
  std::vector<std::int64_t> values(100, 0);  // plain memory: the pool must order it
  for (int repeat = 0; repeat < 2000; ++repeat) {
    pool.run(100, [&](std::int64_t task, int) { values[static_cast<std::size_t>(task)] += task; });
    for (auto& value : values) ++value;
  }
  for (std::int64_t task = 0; task < 100; ++task) EXPECT_EQ(values[static_cast<std::size_t>(task)], 2000 * (task + 1));
}

TEST(Pool, WakesWorkersThatHaveFallenAsleep) {
  Pool pool(2);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> done = 0;
    pool.run(50, [&](std::int64_t, int) { ++done; });
    EXPECT_EQ(done, 50);
  }
}

TEST(Pool, StopsWhenItIsCancelledAndWorksOnAfterwards) {
  for (const int threads : {1, 4}) {
    Pool pool(threads);
    std::atomic<bool> cancel = false;
    pool.cancel_on(&cancel);
    std::atomic<int> done = 0;
    const auto body = [&](std::int64_t, int) {
      if (++done == 10) cancel = true;
    };
    EXPECT_THROW(pool.run(100000, body), reckon::Cancelled);
    EXPECT_GE(done, 10);
    EXPECT_LT(done, 10 + threads);  // those that had a task in hand
    EXPECT_THROW(pool.run(1, body), reckon::Cancelled);
    cancel = false;
    done = 100;
    pool.run(50, body);
    EXPECT_EQ(done, 150);
    cancel = true;
    pool.cancel_on(nullptr);
    pool.run(50, body);
    EXPECT_EQ(done, 200);
  }
}

TEST(Pool, ThrowsWhatATaskThrewAndWorksOn) {
  for (const int threads : {1, 4}) {
    Pool pool(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      EXPECT_THROW(pool.run(100,
                            [](std::int64_t task, int) {
                              if (task % 10 == 3) throw std::invalid_argument("no");
                            }),
                   std::invalid_argument);
      std::atomic<int> done = 0;
      pool.run(10, [&](std::int64_t, int) { ++done; });
      EXPECT_EQ(done, 10);
    }
  }
}

TEST(Pool, RefusesARunInsideAnother) {
  Pool pool(2);
  EXPECT_THROW(pool.run(4, [&](std::int64_t, int) { pool.run(2, [](std::int64_t, int) {}); }), reckon::Error);
}

TEST(Pool, RefusesNoThreads) {
  EXPECT_THROW(Pool(0), reckon::UsageError);
  EXPECT_THROW(Pool(-3), reckon::UsageError);
}

TEST(Pool, UnlessAskedForThereAreAsManyThreadsAsProcessorsThatMayBeUsed) {
  using reckon::thread_count;
  EXPECT_EQ(thread_count(3), 3);
  EXPECT_EQ(thread_count(3, 2), 3);
  EXPECT_GE(thread_count(0), 1);
  EXPECT_EQ(thread_count(0, 100'000), 1);  // a share is never nothing
#ifdef __linux__
  std::thread([] {
    cpu_set_t mine, one;
    ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
    int processor = 0;
    while (!CPU_ISSET(processor, &mine)) ++processor;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(thread_count(0), 1);
    EXPECT_EQ(thread_count(2), 2);
  }).join();
#endif
}

}  // namespace
