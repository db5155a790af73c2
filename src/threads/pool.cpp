// The pool on real threads. A decoded token has about a hundred parallel regions of some 100 µs, so workers spin a
// little for the next region before they sleep, and a region waits only for the workers that joined it. Each worker has
// a run of tasks that follow each other, because kernels fetch ahead of where they read: what comes after a task's
// memory should be its own next task's. Who is done helps the others.
#include "threads/pool.h"

#include <reckon/error.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "threads/thread_count.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace reckon {

namespace {

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

constexpr auto spin_time = std::chrono::microseconds(200);

// The gate holds the number of the region, whether it is open, and how many workers are inside it.
constexpr std::uint64_t one_inside = 1;
constexpr std::uint64_t inside_mask = 0xffff;
constexpr std::uint64_t open_bit = 1 << 16;
constexpr std::uint64_t one_region = 1 << 17;

std::uint64_t region(std::uint64_t gate) { return gate / one_region; }

}  // namespace

int thread_count(int asked, int processes) {
  if (asked > 0) return asked;
  const int all = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
#ifdef __linux__
  cpu_set_t bound;
  if (::sched_getaffinity(0, sizeof bound, &bound) == 0 && CPU_COUNT(&bound) < all) return CPU_COUNT(&bound);
#endif
  return std::max(1, all / processes);
}

struct Pool::State {
  alignas(64) std::atomic<std::uint64_t> gate{0};
  alignas(64) std::atomic<bool> running{false};
  struct alignas(64) Run {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  std::vector<Run> runs;  // one for each worker
  const Body* body = nullptr;
  const std::atomic<bool>* cancel = nullptr;
  bool spins = true;

  std::atomic<bool> stop{false};
  std::atomic<int> sleepers{0};
  std::mutex mutex;  // guards sleeping and `error`
  std::condition_variable wake;
  std::exception_ptr error;
  std::vector<std::thread> workers;

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  void check_cancelled() const {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) throw Cancelled();
  }

  void work(int worker) {
    const std::size_t count = runs.size(), own = static_cast<std::size_t>(worker);
    try {
      for (std::size_t i = 0; i < count; ++i) {
        Run& run = runs[(own + i) % count];
        for (std::int64_t task = run.next.fetch_add(1, std::memory_order_relaxed); task < run.end;
             task = run.next.fetch_add(1, std::memory_order_relaxed)) {
          check_cancelled();
          (*body)(task, worker);
        }
      }
    } catch (...) {
      for (Run& run : runs) run.next.store(run.end, std::memory_order_relaxed);
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  }

  // A closed region lets nobody in, so its caller need not wait for a worker that is still asleep.
  bool join() {
    std::uint64_t seen = gate.load(std::memory_order_acquire);
    while (seen & open_bit)
      if (gate.compare_exchange_weak(seen, seen + one_inside, std::memory_order_acquire)) return true;
    return false;
  }

  void wait_for_other_than(std::uint64_t last) {
    const auto changed = [&] { return region(gate.load()) != last || stop.load(); };
    if (spins) {
      const auto end = std::chrono::steady_clock::now() + spin_time;
      do {
        for (int i = 0; i < 32; ++i) {
          if (changed()) return;
          relax();
        }
      } while (std::chrono::steady_clock::now() < end);
    }
    std::unique_lock lock(mutex);
    sleepers.fetch_add(1);  // before the last look at the gate: either we see the region or its caller sees us
    wake.wait(lock, changed);
    sleepers.fetch_sub(1);
  }

  void live(int worker) {
    std::uint64_t last = 0;
    while (true) {
      wait_for_other_than(last);
      if (stop.load()) return;
      last = region(gate.load());
      if (!join()) continue;
      work(worker);
      gate.fetch_sub(one_inside, std::memory_order_release);
    }
  }
};

Pool::Pool(int threads) {
  if (threads < 1 || threads >= static_cast<int>(inside_mask))
    throw UsageError("`threads` is " + std::to_string(threads) + "; expected 1 to 65534");
#ifdef __EMSCRIPTEN__
  // A browser starts and ends threads between two calls of a module, not within one: those of a size that was there
  // before are taken again, and never end. Pools run one after the other, for one thread calls the module.
  static std::map<int, std::shared_ptr<State>> started;
  if ((state_ = started[threads])) return;
  started[threads] = state_ = std::make_shared<State>();
#else
  state_ = std::make_shared<State>();
#endif
  // Where threads outnumber processors, one that spins keeps another from its work.
  state_->spins = threads <= thread_count(0);
  state_->runs = std::vector<State::Run>(static_cast<std::size_t>(threads));
  try {
    for (int worker = 1; worker < threads; ++worker)
      state_->workers.emplace_back([state = state_.get(), worker] { state->live(worker); });
  } catch (const std::system_error& error) {
    throw Error("of " + std::to_string(threads) + " threads only " + std::to_string(state_->workers.size() + 1) +
                " can be started: " + error.code().message());
  }
}

Pool::~Pool() = default;

int Pool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void Pool::cancel_on(const std::atomic<bool>* flag) { cancel_ = flag; }

void Pool::run(std::int64_t tasks, Body body) {
  State& state = *state_;
  if (tasks <= 0) return;
  if (state.running.exchange(true)) throw Error("the pool: a run began inside another, expected one at a time");
  struct Done {
    std::atomic<bool>& running;
    ~Done() { running = false; }
  } done{state.running};
  state.cancel = cancel_;

  if (tasks == 1 || state.workers.empty()) {
    for (std::int64_t task = 0; task < tasks; ++task) {
      state.check_cancelled();
      body(task, 0);
    }
    return;
  }

  const auto count = static_cast<std::int64_t>(state.runs.size());
  for (std::int64_t i = 0; i < count; ++i) {
    State::Run& run = state.runs[static_cast<std::size_t>(i)];
    run.next.store(tasks / count * i + std::min(i, tasks % count), std::memory_order_relaxed);
    run.end = tasks / count * (i + 1) + std::min(i + 1, tasks % count);
  }
  state.body = &body;
  state.error = nullptr;
  state.gate.store((region(state.gate.load()) + 1) * one_region | open_bit);
  if (state.sleepers.load() > 0) {
    { const std::lock_guard lock(state.mutex); }
    state.wake.notify_all();
  }
  state.work(0);
  std::uint64_t gate = state.gate.fetch_and(~open_bit);
  for (int turns = 0; gate & inside_mask; gate = state.gate.load(std::memory_order_acquire)) {
    if (++turns < 4096 && state.spins)
      relax();
    else
      std::this_thread::yield();
  }
  if (state.error) std::rethrow_exception(std::exchange(state.error, nullptr));
}

}  // namespace reckon
