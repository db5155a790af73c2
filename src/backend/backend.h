// What runs programs. A backend has memory, loads weights into it, and binds compiled programs to it. Pointers,
// threads, tiles and counters are its own business: nothing outside backend/ knows which one it is.
#pragma once

#include <reckon/run.h>

#include "backend/run_profile.h"
#include "backend/step.h"
#include "compile/compile.h"
#include "files/parameter_data.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace reckon {

// Memory of a backend. Sizes and offsets are bytes of the program's types, however the backend keeps its elements.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::int64_t bytes() const = 0;
  virtual std::int64_t high_water() const = 0;  // the furthest byte that a tensor was ever bound to
  // Where it was filled with a pattern: how far a range was written to, and whether the zones around all of it are as
  // they were.
  virtual std::int64_t touched(std::int64_t offset, std::int64_t bytes) const = 0;
  virtual bool fences_hold() const = 0;
};

// What is in a new buffer. `pattern`: where an inspection watches, what no kernel writes, otherwise zeros.
enum class Fill : std::uint8_t { nothing, zeros, pattern };

struct Address {
  std::shared_ptr<Buffer> buffer;
  std::int64_t offset = 0;                // bytes
  std::int64_t page_bytes = 0;            // of a cache: from page to page, or of one without pages, its room
  const ParameterData* stored = nullptr;  // of a parameter that is read where the host has it
};

// Where a tensor lies that outlives a run: parameters, caches, constants, gradients of parameters, moments.
using Resident = std::function<Address(const Program&, TensorId)>;

// A program bound to memory.
class Executable {
 public:
  virtual ~Executable() = default;
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  // Runs every op; of a training program, those of some stages.
  using Stages = std::initializer_list<Stage>;
  virtual void run(const TrainingStep* training = nullptr, Stages stages = {}) = 0;

  virtual Address place(TensorId id) const = 0;
  virtual std::vector<double> values(TensorId id) const = 0;  // row-major, however they lie
  // Whether this op rounds the numbers that it multiplies to bfloat16, where the program has them in more bits.
  virtual bool rounds(const Op&) const { return false; }

  const Program& program() const { return expanded_.program; }  // every iteration written out
  const Plan& plan() const { return plan_; }
  const Buffer& arena() const { return *arena_; }
  const std::map<TensorKey, Squares>& squares() const { return squares_; }  // of the last update

 protected:
  Executable(const Compiled& compiled, std::shared_ptr<Buffer> arena)
      : expanded_(expand_planned(compiled.lowered, compiled.plan)), plan_(compiled.plan), arena_(std::move(arena)) {}

  Expanded expanded_;
  Plan plan_;
  std::shared_ptr<Buffer> arena_;
  std::map<TensorKey, Squares> squares_;
};

// What decides the last bits of a result, besides the program that is run.
struct Arithmetic {
  std::string instruction_set;  // as Highway names it: "AVX2"; of another backend, its name
  std::string openblas;         // where products use it, as it describes itself; empty: they do not
  bool operator==(const Arithmetic&) const = default;
};

// "AVX2 and OpenBLAS 0.3.21 …", "AVX3 without OpenBLAS"
std::string to_string(const Arithmetic& arithmetic);

class Backend {
 public:
  virtual ~Backend() = default;

  virtual const Target& target() const = 0;
  virtual Arithmetic arithmetic() const = 0;

  // What so many bytes of tensors take of its memory.
  virtual std::int64_t memory_bytes(std::int64_t bytes) const { return bytes; }
  virtual std::shared_ptr<Buffer> allocate(std::int64_t bytes, Fill fill = Fill::zeros) = 0;
  // Elements of a type, row-major. `copy` holds what is read where the memory is not the host's.
  virtual void write(const Address& to, DType dtype, std::span<const std::byte> elements) = 0;
  virtual std::span<const std::byte> read(const Address& from, DType dtype, std::int64_t count,
                                          std::vector<std::byte>& copy) const = 0;
  virtual void copy(const Address& from, const Address& to, std::int64_t bytes) = 0;
  // Of a model that stays as it is; `parameters` must outlive what is bound to the places.
  virtual std::map<TensorKey, Address> load(const Parameters& parameters) = 0;

  // `arena`, which other programs may use in between, is at least as large as the plan's.
  virtual std::unique_ptr<Executable> bind(const Compiled& compiled, const Resident& resident,
                                           std::shared_ptr<Buffer> arena) = 0;

  // While `flag` is set, runs throw Cancelled. nullptr: nobody cancels.
  virtual void cancel_on(const std::atomic<bool>* flag) = 0;
  void set_profile(RunProfile* profile) { profile_ = profile; }

  virtual Measured measured() const = 0;  // by all runs so far
  virtual std::int64_t scratch_bytes() const { return 0; }
  // What the machine does at best, a piece of it: FLOP/s of a product of 1024 × 3072 × 768, and bytes per second that
  // are read of weights. Each must not outlive the backend. Empty: nothing to hold a run against.
  using Measure = std::function<double()>;
  virtual Measure product_limit() { return {}; }
  virtual Measure read_limit(const Parameters&) { return {}; }
  // Bytes per second that all threads together read, or write, where they go through so many bytes again and again.
  enum class Transfer : std::uint8_t { read, write };
  using MeasureTransfer = std::function<double(Transfer, std::int64_t bytes)>;
  virtual MeasureTransfer transfer_limit([[maybe_unused]] std::int64_t most_bytes) { return {}; }

 protected:
  RunProfile* profile_ = nullptr;  // nullptr: nobody watches the time
};

// What users call a device, and whether this build and this machine have its backend.
struct DeviceName {
  Device device;
  const char* word;                    // of --device
  std::string (*missing)() = nullptr;  // says in one sentence why it is not there, empty: it is; nullptr: it always is
};
std::span<const DeviceName> device_names();  // of every Device, the default first
void check_present(const DeviceName& name);  // an Error with the sentence where its backend is missing

// `inspection` watches every run; nullptr: nobody does. An Error says why where the backend is missing.
std::unique_ptr<Backend> make_backend(Device device, int threads, Inspection* inspection = nullptr);

// float32 and int32 elements.
template <class T>
void write(Backend& backend, const Address& to, std::span<const T> elements) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, std::int32_t>);
  backend.write(to, std::is_same_v<T, float> ? DType::float32 : DType::int32, std::as_bytes(elements));
}
inline std::span<const float> read_floats(const Backend& backend, const Address& from, std::int64_t count,
                                          std::vector<std::byte>& copy) {
  const std::span<const std::byte> bytes = backend.read(from, DType::float32, count, copy);
  return {reinterpret_cast<const float*>(bytes.data()), static_cast<std::size_t>(count)};
}
inline std::vector<float> read_floats(const Backend& backend, const Address& from, std::int64_t count) {
  std::vector<std::byte> copy;
  const std::span<const float> read = read_floats(backend, from, count, copy);
  return {read.begin(), read.end()};
}

}  // namespace reckon
