// A pool of threads whose results never depend on how many there are: the caller cuts the work by its shape alone,
// and the pool only shares out the pieces.
#pragma once

#include <reckon/error.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace reckon {

// A callable that is borrowed for the length of a call: nothing is copied or allocated.
template <class Signature>
class FunctionRef;

template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& body)  // NOLINT: implicit, so that a lambda can be passed
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(body)))),
        call_([](void* object, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(arguments...);
        }) {}
  Result operator()(Arguments... arguments) const { return call_(object_, arguments...); }

 private:
  void* object_;
  Result (*call_)(void*, Arguments...);
};

class Pool {
 public:
  using Body = FunctionRef<void(std::int64_t task, int worker)>;

  // `threads` work together, the one that calls run() among them; at least 1.
  // A build without threads (WebAssembly) has a twin that always works alone.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const;

  // Calls body(task, worker) once for each task of [0, tasks), with worker in [0, threads()), and returns when all are
  // done. A worker's tasks follow each other, until it helps others with theirs. The first exception ends the run and
  // is thrown here. A pool does one run at a time: a run inside a body, or from a second thread, is an Error.
  void run(std::int64_t tasks, Body body);

  // While `flag` is set, by another thread or a signal handler, run() throws Cancelled; a run that is going on ends
  // with the tasks in hand. nullptr: nobody cancels. Not during a run.
  void cancel_on(const std::atomic<bool>* flag);
  // Throws Cancelled while it is set, for what the caller does between runs.
  void check_cancelled() const {
    if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) throw Cancelled();
  }

 private:
  struct State;
  std::shared_ptr<State> state_;  // this pool's alone, but in a browser (pool.cpp)
  const std::atomic<bool>* cancel_ = nullptr;
};

}  // namespace reckon
