#include "backend/reference/backend.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include "backend/host_executable.h"
#include "backend/inspection.h"
#include "backend/reference/evaluate.h"
#include "files/checked.h"
#include "files/machine_memory.h"
#include "files/numbers.h"

#include <algorithm>
#include <utility>

namespace reckon {
namespace {

static_assert(reference_target.page_tokens == 0 && !reference_target.views,
              "the plain loops read a cache in one piece, from position 0, and every tensor in memory of its own: they "
              "know neither pages and starts nor views");

constexpr std::int64_t element = 4;  // bytes of the program that a double stands for
constexpr std::int64_t scale = sizeof(double) / element;

double* memory(const Address& place, std::int64_t elements) {
  return reinterpret_cast<double*>(host_memory(place, elements * element));
}

template <class T>
std::span<const T> elements_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <class T>
void convert(std::span<const double> from, std::vector<std::byte>& to) {
  to.resize(from.size() * sizeof(T));
  std::transform(from.begin(), from.end(), reinterpret_cast<T*>(to.data()),
                 [](double value) { return static_cast<T>(value); });
}

}  // namespace

class ReferenceExecutable : public HostExecutable {
 public:
  ReferenceExecutable(const Compiled& compiled, const Resident& resident, std::shared_ptr<Buffer> arena,
                      ReferenceBackend& backend)
      : HostExecutable(compiled, resident, std::move(arena), backend.inspection_),
        backend_(backend),
        gradients_(parameter_gradients(program())),
        values_(program().tensors.size()) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Tensor& tensor = program().tensors[i];
      if (places_[i].buffer == nullptr) continue;
      const std::int64_t count =
          tensor.kind == TensorKind::cache ? places_[i].page_bytes / element : tensor.shape.elements();
      values_[i] = {memory(places_[i], count), static_cast<std::size_t>(count)};
    }
  }

  void run(const TrainingStep* training, Stages stages) override {
    ReferenceOptions options;
    options.float32 = backend_.float32_;
    if (training != nullptr) options.step = *training;
    options.stages = stages;
    options.squares = &squares_;
    options.measured = &backend_.measured_;
    RunProfile::Time begin;
    const std::int64_t past = program().workload.past;
    std::span<double> replaced;
    if (inspection_ != nullptr) inspection_->begin_run();
    options.before = [&](std::size_t op) {
      if (backend_.cancel_ != nullptr && *backend_.cancel_) throw Cancelled();
      if (inspection_ != nullptr) inspection_->before(*this, op, op + 1, backend_.measured_);
      replaced = replace_first_input(program().ops[op]);
      begin = RunProfile::now();
    };
    options.after = [&](std::size_t op) {
      if (backend_.profile_ != nullptr) backend_.profile_->add(program(), program().ops[op], 1, past, begin);
      if (!replaced.empty()) first_input(program().ops[op]) = replaced;
      if (inspection_ != nullptr)
        inspection_->after(*this, op, op + 1, past, backend_.measured_, reference_target.tiles);
    };
    std::map<std::size_t, std::vector<double>> before;  // gradients of earlier micro-steps
    for (std::size_t i = 0; options.step.add && i < values_.size(); ++i) {
      if (gradients_[i]) before[i] = {values_[i].begin(), values_[i].end()};
    }
    evaluate(program(), values_, options);
    for (const auto& [i, earlier] : before) {
      std::transform(earlier.begin(), earlier.end(), values_[i].begin(), values_[i].begin(), [&](double a, double b) {
        return backend_.float32_ ? static_cast<double>(static_cast<float>(a + b)) : a + b;
      });
    }
  }

  std::vector<double> values(TensorId id) const override {
    const std::span<double> all = values_[static_cast<std::size_t>(id)];
    return {all.begin(), all.end()};
  }

 private:
  std::span<double>& first_input(const Op& op) { return values_[static_cast<std::size_t>(op.inputs[0])]; }

  // For as long as the op runs, where the inspection has other values; returns those of the program, else nothing.
  std::span<double> replace_first_input(const Op& op) {
    if (inspection_ == nullptr || !inspection_->first_input) return {};
    std::vector<double>* const other = inspection_->first_input(op);
    if (other == nullptr) return {};
    return std::exchange(first_input(op), std::span<double>(*other));
  }

  ReferenceBackend& backend_;
  std::vector<bool> gradients_;  // of parameters: micro-steps add to them
  ReferenceValues values_;
};

std::int64_t ReferenceBackend::memory_bytes(std::int64_t bytes) const {
  return checked_multiply(bytes, scale, "the memory of the reference");
}

std::shared_ptr<Buffer> ReferenceBackend::allocate(std::int64_t bytes, Fill fill) {
  return std::make_shared<HostBuffer>(bytes, fill, inspection_ != nullptr, scale);
}

void ReferenceBackend::write(const Address& to, DType dtype, std::span<const std::byte> elements) {
  const std::span<const std::int32_t> numbers = elements_of<std::int32_t>(elements);
  double* first = memory(to, std::ssize(numbers));
  if (dtype == DType::int32) {
    std::copy(numbers.begin(), numbers.end(), first);
  } else {
    const std::span<const float> floats = elements_of<float>(elements);
    std::copy(floats.begin(), floats.end(), first);
  }
}

std::span<const std::byte> ReferenceBackend::read(const Address& from, DType dtype, std::int64_t count,
                                                  std::vector<std::byte>& copy) const {
  const std::span<const double> all(memory(from, count), static_cast<std::size_t>(count));
  dtype == DType::int32 ? convert<std::int32_t>(all, copy) : convert<float>(all, copy);
  return copy;
}

void ReferenceBackend::copy(const Address& from, const Address& to, std::int64_t bytes) {
  std::copy_n(memory(from, bytes / element), bytes / element, memory(to, bytes / element));
}

std::map<TensorKey, Address> ReferenceBackend::load(const Parameters& parameters) {
  Count elements;
  for (const auto& [key, data] : parameters) elements += Elements(data).count();
  if (const Count bytes = elements * 8, room = machine_memory(); bytes > room) {
    throw Error(fmt::format("the weights take {} on the reference, 8 bytes each, but this machine has {} of memory",
                            binary_bytes(bytes), binary_bytes(room)));
  }
  std::map<TensorKey, Address> places;
  for (const auto& [key, data] : parameters) {
    Elements from(data);
    Address& place = places[key] = {allocate(from.count() * element, Fill::nothing)};
    std::generate_n(memory(place, from.count()), from.count(), [&] { return static_cast<double>(from.next()); });
  }
  return places;
}

std::unique_ptr<Executable> ReferenceBackend::bind(const Compiled& compiled, const Resident& resident,
                                                   std::shared_ptr<Buffer> arena) {
  return std::make_unique<ReferenceExecutable>(compiled, resident, std::move(arena), *this);
}

std::unique_ptr<Backend> make_reference(bool float32, Inspection* inspection) {
  return std::make_unique<ReferenceBackend>(float32, inspection);
}

}  // namespace reckon
