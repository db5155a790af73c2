// The processes that train together, as mpirun started them. Alone, there is one rank and nothing is sent.
// A build without MPI has a twin that is always alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace reckon {

class Communicator {
 public:
  // Joins the others. One object at a time, of which the first is the last where there are several ranks.
  Communicator();
  // Waits for the others; while an exception is on its way it does not, and mpirun ends them.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int neighbours() const { return neighbours_; }  // ranks on this machine, this one among them
  bool leads() const { return rank_ == 0; }       // prints and writes files

  // Every rank makes the same calls in the same order, with as many values.

  // Begins to sum over all ranks, each element in the order of ranks; other work may go on meanwhile. `values` must not
  // be touched before the finish_sum() that belongs to it: the first finishes what was started first.
  void start_sum(std::span<float> values);
  void finish_sum();
  // Before the memory of sums that were never finished goes away. Then the ranks are no longer in step, and every call
  // that asks something of the others is an Error.
  void abandon_sums();

  void sum(std::span<double> values);           // in the order of ranks
  void broadcast(std::span<std::byte> values);  // those of rank 0
  void barrier();

  std::int64_t bytes_sent() const;  // to other ranks by start_sum() so far

 private:
  struct State;
  std::unique_ptr<State> state_;
  int rank_ = 0, size_ = 1, neighbours_ = 1;
};

}  // namespace reckon
