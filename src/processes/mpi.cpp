// One thread makes all calls of MPI, in the order in which they were queued, while the others compute. It polls each
// collective until it is complete, since most transports only progress inside of calls.
#include <mpi.h>
#include <reckon/error.h>

#include "processes/communicator.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace reckon {
namespace {

constexpr std::int64_t bucket = std::int64_t{1} << 20;  // elements of one all-reduce: 4 MiB

struct Abandoned {};  // thrown out of a collective that will never be complete

// Programs that were not started by mpirun (or by a batch system through PMIx) never touch MPI.
bool started_by_mpi() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr; }

}  // namespace

struct Communicator::State {
  State(int own, int all) : rank(own), size(all), thread([this] { work(); }) {}

  ~State() { end(); }

  void end() {
    {
      const std::lock_guard lock(mutex);
      ending = true;
    }
    changed.notify_all();
    if (thread.joinable()) thread.join();
  }

  [[noreturn]] static void refuse() {
    throw Error("sums over the ranks were abandoned; nothing more can be asked of the other ranks");
  }

  // Returns the job's number.
  std::int64_t add(std::function<void()> job) {
    const std::lock_guard lock(mutex);
    if (ending) refuse();
    jobs.push_back(std::move(job));
    changed.notify_all();
    return ++asked;
  }

  void wait_for(std::int64_t job) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return done >= job || left; });
    if (done < job) refuse();
  }

  void work() {
    try {
      for (;;) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return ending || !jobs.empty(); });
        if (jobs.empty()) return;
        const std::function<void()> job = std::move(jobs.front());
        jobs.pop_front();
        lock.unlock();
        job();
        lock.lock();
        ++done;
        changed.notify_all();
      }
    } catch (const Abandoned&) {
      const std::lock_guard lock(mutex);
      left = true;
      changed.notify_all();
    }
  }

  void wait_until_complete(MPI_Request request) const {
    for (int polls = 0;; ++polls) {
      int complete = 0;
      MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
      if (complete != 0) return;
      if (leaving) throw Abandoned{};
      if (polls < 100) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
  }

  // Waits for a collective that `start` begins, on the thread that calls MPI.
  template <class Start>
  void run(Start start) {
    wait_for(add([&] {
      MPI_Request request = MPI_REQUEST_NULL;
      start(&request);
      wait_until_complete(request);
    }));
  }

  // A reduce-scatter by hand, so that each slice is summed in the order of ranks, and an all-gather of the sums.
  void all_reduce(float* values, std::int64_t count) {
    std::vector<int> counts, places, own_counts, own_places;
    const auto begin = [&](int r) { return count * r / size; };
    const std::int64_t slice = begin(rank + 1) - begin(rank);
    for (int r = 0; r < size; ++r) {
      places.push_back(static_cast<int>(begin(r)));
      counts.push_back(static_cast<int>(begin(r + 1) - begin(r)));
      own_places.push_back(static_cast<int>(slice * r));
      own_counts.push_back(static_cast<int>(slice));
    }
    received.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, slice * size)));
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoallv(values, counts.data(), places.data(), MPI_FLOAT, received.data(), own_counts.data(),
                   own_places.data(), MPI_FLOAT, MPI_COMM_WORLD, &request);
    wait_until_complete(request);
    float* sum = values + begin(rank);
    std::copy_n(received.data(), slice, sum);
    for (int r = 1; r < size; ++r) {
      const float* other = received.data() + slice * r;
      for (std::int64_t i = 0; i < slice; ++i) sum[i] += other[i];
    }
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_FLOAT, values, counts.data(), places.data(), MPI_FLOAT, MPI_COMM_WORLD,
                    &request);
    wait_until_complete(request);
    sent += 4 * (count - slice + (size - 1) * slice);
  }

  const int rank, size;
  std::vector<float> received;
  std::atomic<std::int64_t> sent = 0;
  std::atomic<bool> leaving = false;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> jobs;
  std::int64_t asked = 0, done = 0;
  bool ending = false;            // no further jobs
  bool left = false;              // those that are left are not done
  std::deque<std::int64_t> sums;  // begun and not finished
  std::thread thread;             // the last, for it uses the others
};

Communicator::Communicator() {
  if (!started_by_mpi()) return;
  int threads = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads);
  if (threads < MPI_THREAD_SERIALIZED) throw Error("this MPI lets only one thread call it, and reckon needs two");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &here);
  MPI_Comm_size(here, &neighbours_);
  MPI_Comm_free(&here);
  state_ = std::make_unique<State>(rank_, size_);
}

Communicator::~Communicator() {
  if (state_ == nullptr) return;
  const bool failed = state_->leaving || std::uncaught_exceptions() > 0;
  state_->leaving = failed;
  state_.reset();
  if (!failed) MPI_Finalize();
}

void Communicator::start_sum(std::span<float> values) {
  if (size_ == 1) return;
  state_->sums.push_back(state_->add([state = state_.get(), values] {
    const auto all = static_cast<std::int64_t>(values.size());
    for (std::int64_t at = 0; at < all; at += bucket) state->all_reduce(values.data() + at, std::min(bucket, all - at));
  }));
}

void Communicator::finish_sum() {
  if (size_ == 1) return;
  if (state_->sums.empty()) throw Error("there is no sum over the ranks to finish");
  state_->wait_for(state_->sums.front());
  state_->sums.pop_front();
}

void Communicator::abandon_sums() {
  if (size_ == 1 || state_->sums.empty()) return;
  state_->leaving = true;
  state_->end();
  state_->sums.clear();
}

void Communicator::sum(std::span<double> values) {
  if (size_ == 1) return;
  const std::size_t n = values.size();
  std::vector<double> all(n * static_cast<std::size_t>(size_));
  const int count = static_cast<int>(n);
  state_->run([&](MPI_Request* request) {
    MPI_Iallgather(values.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, MPI_COMM_WORLD, request);
  });
  std::fill(values.begin(), values.end(), 0.0);
  for (std::size_t i = 0; i < all.size(); ++i) values[i % n] += all[i];
}

void Communicator::broadcast(std::span<std::byte> values) {
  if (size_ == 1) return;
  state_->run([&](MPI_Request* request) {
    MPI_Ibcast(values.data(), static_cast<int>(values.size()), MPI_BYTE, 0, MPI_COMM_WORLD, request);
  });
}

void Communicator::barrier() {
  if (size_ == 1) return;
  state_->run([](MPI_Request* request) { MPI_Ibarrier(MPI_COMM_WORLD, request); });
}

std::int64_t Communicator::bytes_sent() const { return state_ == nullptr ? 0 : state_->sent.load(); }

}  // namespace reckon
