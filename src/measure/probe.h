// A program that runs on a backend again and again, and how long it took: a phase of a network, or one product. What
// calibrates this machine and what is held against a prediction are both these.
#pragma once

#include <reckon/model.h>
#include <reckon/run.h>

#include "backend/backend.h"
#include "run/weights.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace reckon {

// Ops that ran in one region, and its time.
struct RegionTime {
  std::size_t op = 0;  // the first, in the program of the probe
  std::int64_t ops = 1;
  double seconds = 0;
};

class Probe {
 public:
  virtual ~Probe() = default;
  Probe() = default;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // What runs: folded, and at the past at which it runs.
  virtual const Program& lowered() const = 0;
  // The same with every iteration written out, whose ops are timed.
  const Program& program() const;

  double time();                      // of one run, in seconds
  std::vector<RegionTime> profile();  // of another, region by region

 protected:
  virtual Backend& backend() = 0;
  virtual void prepare() {}  // before each run, and not timed
  virtual void run() = 0;

 private:
  mutable std::unique_ptr<Program> program_;
};

struct ProbeOptions {
  int threads = 0;  // 0: all
  const std::atomic<bool>* cancel = nullptr;
};

// The prefill of one sequence of `tokens`.
std::unique_ptr<Probe> probe_prefill(std::shared_ptr<const LoadedModel> model, std::int64_t tokens,
                                     const ProbeOptions& options);
// Steps of `batch` sequences, which begin with `past` tokens in the cache of each and go on for as many as
// decode_steps() says; the program is that of the one in the middle.
std::int64_t decode_steps(const Model& model, std::int64_t past);
std::unique_ptr<Probe> probe_decode(std::shared_ptr<const LoadedModel> model, std::int64_t batch, std::int64_t past,
                                    const ProbeOptions& options);
// A step of training: forward, backward and the update.
std::unique_ptr<Probe> probe_train(const Model& model, Weights weights, DType precision, std::int64_t batch,
                                   std::int64_t tokens, const ProbeOptions& options);

// x (m × k) times a matrix of this type (n × k), transposed.
struct Multiplication {
  DType type = DType::float32;
  std::int64_t m = 1, n = 1, k = 1;
};
// With one matrix after another, n × k and k × n in turns: `pairs` of them, which chain_matrices() made; 0 pairs: again
// and again with the same n × k.
std::shared_ptr<const Weights> chain_matrices(const Multiplication& shape, std::int64_t pairs);
std::unique_ptr<Probe> probe_chain(std::shared_ptr<Backend> backend, const Multiplication& shape, std::int64_t pairs,
                                   std::shared_ptr<const Weights> matrices);

}  // namespace reckon
