// The pool of a build without threads (WebAssembly): the same work, done by the caller alone.
#include <reckon/error.h>

#include <string>

#include "threads/pool.h"
#include "threads/thread_count.h"

namespace reckon {

int thread_count(int asked, int) { return asked > 0 ? asked : 1; }

struct Pool::State {
  bool running = false;
};

Pool::Pool(int threads) : state_(std::make_shared<State>()) {
  if (threads < 1) throw UsageError("`threads` is " + std::to_string(threads) + "; expected 1 or more");
}

Pool::~Pool() = default;

int Pool::threads() const { return 1; }

void Pool::cancel_on(const std::atomic<bool>* flag) { cancel_ = flag; }

void Pool::run(std::int64_t tasks, Body body) {
  if (state_->running) throw Error("the pool: a run began inside another, expected one at a time");
  struct Done {
    bool& running;
    ~Done() { running = false; }
  } done{state_->running};
  state_->running = true;
  for (std::int64_t task = 0; task < tasks; ++task) {
    if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) throw Cancelled();
    body(task, 0);
  }
}

}  // namespace reckon
