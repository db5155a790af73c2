// Running a model: load it once, and let texts, each a session, take steps through it, alone or together.
// Drawing tokens from what comes out: reckon/generate.h. Link reckon::reckon.
#pragma once

#include <reckon/dtype.h>
#include <reckon/error.h>
#include <reckon/model.h>
#include <reckon/workload.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reckon {

class EngineCore;  // these three are the library's own
class Inspection;
class Weights;

// A model and the values of its parameters, which nothing changes: engines in any threads share it.
class LoadedModel {
 public:
  // A folder with config.json and safetensors, the folder of a training run, or a .safetensors file beside a
  // config.json. Weights are mapped and read where they lie.
  static std::shared_ptr<const LoadedModel> open(const std::string& path);
  // The same seed gives the same values.
  static std::shared_ptr<const LoadedModel> random(Model model, std::uint64_t seed, DType dtype = DType::float32);

  LoadedModel(Model model, Weights weights);
  ~LoadedModel();

  const Model& model() const { return model_; }
  const Weights& weights() const { return *weights_; }

 private:
  Model model_;
  std::unique_ptr<const Weights> weights_;
};

// What runs a program: the kernels of this processor, or the plain loops of the reference, slow and unfused, on one
// thread, every result rounded to float32 or none.
enum class Device : std::uint8_t { cpu, reference, reference64 };

struct EngineOptions {
  Device device = Device::cpu;
  int threads = 0;               // 0: as many as the process may use
  std::int64_t sessions = 1;     // that the cache has room for at once
  std::int64_t capacity = 0;     // tokens of the longest session; 0: the model's context
  std::int64_t chunk = 512;      // a longer input runs in pieces, cut at multiples of this
  DType cache = DType::float32;  // of keys and values; or q8_0, on the cpu, for heads whose width 32 divides
  // Set by another thread or a signal handler: a step throws Cancelled within milliseconds. nullptr: nobody cancels.
  const std::atomic<bool>* cancel = nullptr;
  Inspection* inspection = nullptr;  // the library's own: watches
};

// One text: how much of it has been run, and its pages of the cache, which go back when it ends. Its engine must
// outlive it.
class Session {
 public:
  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept;
  ~Session() { reset(); }

  // Runs `ids` behind what has been run before. Returns the logits asked for, ids × V or V, which stay until the
  // engine's next step. Of a run that is cancelled the chunks that were done stay, as length() says.
  std::span<const float> run(std::span<const std::int32_t> ids, Logits logits);

  // Another text that begins as this one. Full pages are shared; no token is run again.
  Session fork() const;

  // Begins anew. `length`: how long the text to come will be, where that is known before all of it is run; some kinds
  // of rotary positions depend on it.
  void reset(std::int64_t length = 0);

  // Whether a text that grows to `length` rotates its beginning otherwise than is cached, and has to be run anew:
  // LongRoPE beyond its original context. (Under dynamic NTK, where every further token changes the base, what is
  // cached stays. transformers does both in the same way.)
  bool outgrown(std::int64_t length) const;

  std::int64_t length() const { return length_; }

 private:
  friend class EngineCore;
  explicit Session(EngineCore& engine) : engine_(&engine) {}

  EngineCore* engine_;
  std::vector<std::vector<std::int32_t>> pages_;  // of each kind of cache
  std::int64_t length_ = 0;
  std::int64_t told_ = 0;  // the length of the whole text, as far as it was told
};

// A cache in pages, and programs for the sizes that it meets. One thread at a time uses an engine and its sessions;
// several engines run side by side. `OPENBLAS_NUM_THREADS=1` in the environment lets OpenBLAS make large products.
class Engine {
 public:
  explicit Engine(std::shared_ptr<const LoadedModel> model, const EngineOptions& options = {});
  Engine(Model model, Weights weights, const EngineOptions& options);  // of a model that is loaded for it alone
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  Session session();

  // Runs some tokens of each of several sessions; returns the logits of each one's last, parts × V, which stay until
  // the next step. Single tokens run together. Where it throws, a session is as long as it was, or by whole chunks
  // longer.
  struct Part {
    Session& session;
    std::span<const std::int32_t> ids;
  };
  std::span<const float> step(std::span<const Part> parts);

  const Model& model() const;
  const EngineOptions& options() const;  // with what was left open filled in
  std::int64_t cache_bytes() const;      // of the most pages that were ever taken
  std::int64_t arena_bytes() const;      // of the memory that programs run in
  EngineCore& core() { return *core_; }  // the library's own

 private:
  std::unique_ptr<EngineCore> core_;
};

}  // namespace reckon
