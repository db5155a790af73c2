// The pool on real threads. A decoded token has about a hundred parallel regions of 10 to 100 µs, so workers spin a
// little for the next region before they sleep, and a region waits only for the workers that joined it. Each worker has
// a run of tasks that follow each other, because kernels fetch ahead of where they read: what comes after a task's
// memory should be its own next task's. Who is done helps the others. With many threads a line of memory that all of
// them write costs more than the work: each writes lines of its own, and the caller the gate alone.
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

constexpr int most_threads = 65534;

// The gate holds the number of the region and whether it is open.
constexpr std::uint64_t open_bit = 1;
constexpr std::uint64_t one_region = 2;

std::uint64_t region(std::uint64_t gate) { return gate / one_region; }

// The tasks of one worker that somebody took, with the number of the region that this is about: of another region's,
// none is taken yet. So a region begins without a word to anybody.
class Run {
 public:
  // The next one of `tasks`; none: -1.
  std::int64_t take(std::uint64_t region, std::int64_t tasks) {
    std::uint64_t seen = taken_.load(std::memory_order_relaxed);
    while (true) {
      const std::int64_t taken = seen >> 32 == (region & all) ? static_cast<std::int64_t>(seen & all) : 0;
      if (taken >= tasks) return -1;
      if (taken_.compare_exchange_weak(seen, region << 32 | static_cast<std::uint64_t>(taken + 1),
                                       std::memory_order_relaxed))
        return taken;
    }
  }
  void end(std::uint64_t region) { taken_.store(region << 32 | all, std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t all = 0xffffffff;
  std::atomic<std::uint64_t> taken_{0};
};

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

struct Pool::State {  // NOLINT(clang-analyzer-optin.performance.Padding): what is written often has lines of its own
  alignas(64) std::atomic<std::uint64_t> gate{0};
  alignas(64) const Body* body = nullptr;  // of the region, as are the two below
  std::int64_t tasks = 0;
  const std::atomic<bool>* cancel = nullptr;
  template <class T>
  struct alignas(64) OnItsOwnLine {
    T value{};
  };
  // One for each worker: whether it is in the region, or about to see that it is closed; and its tasks.
  std::vector<OnItsOwnLine<std::atomic<bool>>> inside;
  std::vector<OnItsOwnLine<Run>> runs;
  bool spins = true;
  std::atomic<bool> running{false};

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

  void work(int worker, std::uint64_t region) {
    const auto count = static_cast<std::int64_t>(runs.size());
    const auto first = [&](std::int64_t owner) { return tasks / count * owner + std::min(owner, tasks % count); };
    try {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t owner = (worker + i) % count, begin = first(owner), size = first(owner + 1) - begin;
        Run& run = runs[static_cast<std::size_t>(owner)].value;
        for (std::int64_t task = run.take(region, size); task >= 0; task = run.take(region, size)) {
          check_cancelled();
          (*body)(begin + task, worker);
        }
      }
    } catch (...) {
      for (OnItsOwnLine<Run>& run : runs) run.value.end(region);
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
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
    std::atomic<bool>& here = inside[static_cast<std::size_t>(worker)].value;
    std::uint64_t last = 0;
    while (true) {
      wait_for_other_than(last);
      if (stop.load()) return;
      // A closed region lets nobody in, so its caller need not wait for a worker that is still asleep: either we see
      // that it is closed, or its caller, who looks after closing it, sees us.
      here.store(true);
      const std::uint64_t now = gate.load();
      last = region(now);
      if (now & open_bit) work(worker, last);
      here.store(false, std::memory_order_release);
    }
  }
};

Pool::Pool(int threads) {
  if (threads < 1 || threads > most_threads)
    throw UsageError("`threads` is " + std::to_string(threads) + "; expected 1 to " + std::to_string(most_threads));
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
  state_->inside = decltype(state_->inside)(static_cast<std::size_t>(threads));
  state_->runs = decltype(state_->runs)(static_cast<std::size_t>(threads));
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

  state.body = &body;
  state.tasks = tasks;
  state.error = nullptr;
  const std::uint64_t number = region(state.gate.load()) + 1;
  state.gate.store(number * one_region | open_bit);
  if (state.sleepers.load() > 0) {
    { const std::lock_guard lock(state.mutex); }
    state.wake.notify_all();
  }
  state.work(0, number);
  state.gate.store(number * one_region);
  for (const auto& inside : state.inside)
    for (int turns = 0; inside.value.load();) {
      if (++turns < 4096 && state.spins)
        relax();
      else
        std::this_thread::yield();
    }
  if (state.error) std::rethrow_exception(std::exchange(state.error, nullptr));
}

}  // namespace reckon
