#include "measure/calibrate.h"

#include <fmt/format.h>

#include "files/machine_memory.h"
#include "files/processor.h"
#include "lowering/regions.h"
#include "measure/samples.h"
#include "model/load.h"
#include "model/modify.h"
#include "threads/thread_count.h"
#include "time/rates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace reckon {
namespace {

// A network of one layer that is like those of a family, but for its sizes.
Model small_network(const char* preset, std::int64_t width, std::int64_t d_head, std::int64_t vocabulary,
                    std::int64_t context) {
  Changes changes;
  changes.layers = 1;
  changes.d_model = width;
  changes.d_head = d_head;
  changes.heads = changes.kv_heads = width / d_head;
  changes.vocab = vocabulary;
  changes.context = context;
  return modify(find_preset(preset), changes);
}

// GPT-2 has LayerNorm, biases and GELU; LLaMA has RMSNorm, rotated positions and a gated SiLU.
constexpr std::int64_t room = 16;  // for tokens that are decoded

constexpr const char* families[] = {"gpt2", "llama-7b"};

// What of a network is run: from what a core's first cache holds to more than its second.
struct NetworkSizes {
  std::int64_t width, d_head, vocabulary;
  std::int64_t short_prompt, long_prompt;  // tokens
  std::int64_t short_past, long_past;
  std::int64_t batch, tokens;  // of a step of training
};
constexpr NetworkSizes network_sizes[] = {
    {64, 16, 512, 16, 128, 15, 255, 8, 32},
    {256, 64, 2048, 32, 256, 63, 511, 2, 128},
    {1024, 64, 4096, 128, 256, 127, 1023, 4, 64},
};
// A narrow network whose logits and embedding are as large as those of real ones.
constexpr NetworkSizes wide_vocabulary{64, 16, 50'000, 0, 0, 0, 0, 4, 64};
constexpr std::int64_t several = 8;  // sequences that decode together
// One whose ops do next to nothing.
constexpr std::int64_t nothing = 8;

// Products by how many rows they have; the others by powers of 4.
constexpr std::int64_t product_rows[] = {1, 2, 4, 8, 16, 32, 128, 512}, product_extents[] = {64, 256, 1024, 4096};
constexpr DType product_types[] = {DType::float32, DType::bfloat16, DType::float16};
constexpr std::int64_t most_product_flops = 5'000'000'000, most_narrow_flops = 300'000'000;

// The encodings of GGUF's blocks that files mostly have; the others are taken for the nearest.
constexpr DType block_types[] = {DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k, DType::mxfp4};
constexpr std::int64_t block_rows[] = {1, 4, 16, 64, 512}, block_extents[] = {256, 1024, 4096};
constexpr std::int64_t most_block_flops = 1'200'000'000;

// Matrices that come from memory: as many as a processor's last cache does not hold.
constexpr std::int64_t cold_rows[] = {1, 4, 16, 128};
constexpr std::pair<std::int64_t, std::int64_t> cold_extents[] = {{1024, 256}, {4096, 1024}};
constexpr std::int64_t cold_bytes = std::int64_t{256} << 20;
// In blocks, one encoding of kernels that wait for memory and one of those that wait for arithmetic.
constexpr DType cold_block_types[] = {DType::q8_0, DType::q4_k};
constexpr std::int64_t cold_block_rows[] = {1, 16};

constexpr std::int64_t least_transfer = std::int64_t{1} << 15, most_transfer = std::int64_t{1} << 29;

constexpr std::int64_t quick_width = 64, quick_product = 32 * 256 * 256, quick_transfer = std::int64_t{1} << 23;

std::vector<Multiplication> product_shapes() {
  std::vector<Multiplication> shapes;
  for (const DType type : product_types) {
    for (const std::int64_t m : product_rows) {
      for (const std::int64_t n : product_extents) {
        for (const std::int64_t k : product_extents) {
          const std::int64_t flops = 2 * m * n * k;
          if (flops <= (type == DType::float32 ? most_product_flops : most_narrow_flops))
            shapes.push_back({type, m, n, k});
        }
      }
    }
  }
  for (const DType type : block_types) {
    for (const std::int64_t n : block_extents) {
      for (const std::int64_t k : block_extents) {
        for (const std::int64_t m : block_rows)
          if (2 * m * n * k <= most_block_flops) shapes.push_back({type, m, n, k});
      }
    }
  }
  return shapes;
}

// What efficiency.matmul has of a product: integers are multiplied where a matrix lies in blocks.
ComputeType type_of(const Multiplication& shape) {
  return is_quantised(shape.type) ? ComputeType::int8 : compute_type_of(shape.type);
}
std::optional<DType> blocks_of(const Multiplication& shape) {
  return is_quantised(shape.type) ? std::optional(shape.type) : std::nullopt;
}

// The region with the product, behind that which rounds what blocks are multiplied with.
std::size_t product_region(const ProbeSamples& samples) { return samples.regions().size() - 1; }

std::int64_t whole_rate(double rate) { return std::max<std::int64_t>(1, std::llround(rate)); }

}  // namespace

struct Calibration::Parts {
  // The sizes of a product that were asked for, and how long it took in each round.
  struct MeasuredProduct {
    Multiplication shape;
    ProbeSamples samples;
  };
  ProbeOptions options;
  std::shared_ptr<Backend> backend;
  std::vector<ProbeSamples> networks;
  std::vector<MeasuredProduct> products, chains;
  std::optional<ProbeSamples> idle;  // the network that does nothing
  Backend::MeasureTransfer transfer;
  std::map<std::int64_t, std::vector<double>> read, write;  // bytes/s by bytes

  Parts(const ProbeOptions& asked, bool quick) : options(asked) {
    options.threads = thread_count(asked.threads);
    backend = make_backend(Device::cpu, options.threads);
    for (const char* family : families) {
      for (const NetworkSizes& sizes : network_sizes) {
        if (!quick || sizes.width <= quick_width) add_network(family, sizes);
      }
    }
    if (!quick)
      add_training(small_network(families[0], wide_vocabulary.width, wide_vocabulary.d_head, wide_vocabulary.vocabulary,
                                 wide_vocabulary.tokens),
                   wide_vocabulary);
    idle.emplace(probe_decode(LoadedModel::random(small_network(families[0], nothing, nothing, nothing, nothing), 1), 1,
                              1, options));
    // One matrix for all numbers of rows.
    std::map<std::tuple<DType, std::int64_t, std::int64_t>, std::shared_ptr<const Weights>> matrices;
    for (const Multiplication& shape : product_shapes()) {
      if (quick && shape.m * shape.n * shape.k > quick_product) continue;
      std::shared_ptr<const Weights>& matrix = matrices[{shape.type, shape.n, shape.k}];
      if (matrix == nullptr) matrix = chain_matrices(shape, 0);
      products.push_back({shape, ProbeSamples(probe_chain(backend, shape, 0, matrix))});
    }
    if (!quick) {
      for (const auto& [n, k] : cold_extents) add_chains({DType::float32, 1, n, k}, cold_rows);
      const auto [n, k] = cold_extents[1];
      for (const DType type : cold_block_types) add_chains({type, 1, n, k}, cold_block_rows);
    }
    const std::int64_t most = quick ? quick_transfer : most_transfer;
    transfer = backend->transfer_limit(most);
    for (std::int64_t bytes = least_transfer; bytes <= most; bytes *= 2) read[bytes], write[bytes];
  }

  void add_network(const char* family, const NetworkSizes& sizes) {
    const Model model = small_network(family, sizes.width, sizes.d_head, sizes.vocabulary, sizes.long_past + room);
    const auto loaded = LoadedModel::random(model, 1);
    for (const std::int64_t tokens : {sizes.short_prompt, sizes.long_prompt})
      networks.emplace_back(probe_prefill(loaded, tokens, options));
    for (const std::int64_t past : {sizes.short_past, sizes.long_past})
      networks.emplace_back(probe_decode(loaded, 1, past, options));
    networks.emplace_back(probe_decode(loaded, several, sizes.short_past, options));
    add_training(model, sizes);
  }

  void add_chains(Multiplication shape, std::span<const std::int64_t> rows) {
    const std::int64_t pairs = cold_bytes / (2 * row_bytes(shape.type, shape.n * shape.k));
    const std::shared_ptr<const Weights> matrices = chain_matrices(shape, pairs);
    for (const std::int64_t m : rows) {
      shape.m = m;
      chains.push_back({shape, ProbeSamples(probe_chain(backend, shape, pairs, matrices))});
    }
  }

  void add_training(const Model& model, const NetworkSizes& sizes) {
    networks.emplace_back(probe_train(model, Weights::random(model, 1, DType::float32), DType::float32, sizes.batch,
                                      sizes.tokens, options));
  }

  std::int64_t steps() const {
    return static_cast<std::int64_t>(networks.size() + products.size() + chains.size() + 1 + read.size() +
                                     write.size());
  }

  void round(const std::function<void()>& step) {
    const auto done = [&] {
      if (options.cancel != nullptr && options.cancel->load()) throw Cancelled();
      if (step) step();
    };
    for (ProbeSamples& network : networks) network.take(), done();
    for (MeasuredProduct& product : products) product.samples.take(), done();
    for (MeasuredProduct& chain : chains) chain.samples.take(), done();
    idle->take_whole();
    idle->take(), done();
    if (!transfer) return;
    for (auto& [bytes, rates] : read) rates.push_back(transfer_rate(Backend::Transfer::read, bytes)), done();
    for (auto& [bytes, rates] : write) rates.push_back(transfer_rate(Backend::Transfer::write, bytes)), done();
  }

  // The first turn brings it into the caches that it fits; what fits none takes long enough to be measured once.
  double transfer_rate(Backend::Transfer kind, std::int64_t bytes) {
    constexpr std::int64_t large = std::int64_t{64} << 20;
    if (bytes >= large) return transfer(kind, bytes);
    transfer(kind, bytes);
    return median_of({transfer(kind, bytes), transfer(kind, bytes), transfer(kind, bytes)});
  }
};

Calibration::Calibration(const ProbeOptions& options, bool quick) : parts_(std::make_unique<Parts>(options, quick)) {}
Calibration::~Calibration() = default;

int Calibration::threads() const { return parts_->options.threads; }
std::int64_t Calibration::steps() const { return parts_->steps(); }
void Calibration::round(const std::function<void()>& step) { parts_->round(step); }

Profile Calibration::profile() const {
  const ProcessorDescription processor = describe_processor();
  Profile profile;
  profile.name = this_machine;
  profile.title = processor.name;
  profile.vendor = processor.vendor;
  profile.kind = DeviceKind::cpu;
  profile.memory_bytes = machine_memory();
  for (const ProcessorDescription::Cache& cache : processor.caches)
    profile.caches.push_back({cache.level, cache.bytes, cache.cores});

  Efficiency efficiency;
  efficiency.threads = threads();
  // Of a region in its run, beside what all of a run takes for each of its regions, with what is done between them.
  const double within = median_of(parts_->idle->all_medians());
  efficiency.overhead = parts_->idle->whole_median() / static_cast<double>(parts_->idle->regions().size());
  const auto rate_of = [&](double work, double seconds) {
    constexpr double least = 0.05;  // of the time: what is as quick as doing nothing costs next to nothing
    return whole_rate(work / std::max(seconds - within, least * seconds));
  };
  for (const Parts::MeasuredProduct& product : parts_->products) {
    const Multiplication& shape = product.shape;
    const double work =
        2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
    const std::int64_t rate = rate_of(work, product.samples.median(product_region(product.samples)));
    const std::optional<DType> blocks = blocks_of(shape);
    efficiency.matmul.push_back({type_of(shape), shape.m, shape.n, shape.k, rate, 0, blocks});
    // Without blocks: a peak of int8 would be one of matrices that are int8.
    if (!blocks) profile.peak[type_of(shape)] = std::max(profile.peak[type_of(shape)], rate);
  }
  for (const Parts::MeasuredProduct& chain : parts_->chains) {
    const Multiplication& shape = chain.shape;
    // Matrices of n × k and k × n in turns; the rate of each where it comes from memory stands beside that of the same
    // one over and over.
    std::vector<double> all;
    for (std::size_t i = 0; i < chain.samples.regions().size(); ++i)
      if (is_product(chain.samples.program().ops[chain.samples.regions()[i].op]))
        all.push_back(chain.samples.median(i));
    for (const std::size_t turn : {0, 1}) {
      std::vector<double> some;
      for (std::size_t i = turn; i < all.size(); i += 2) some.push_back(all[i]);
      const std::int64_t n = turn == 0 ? shape.n : shape.k, k = turn == 0 ? shape.k : shape.n;
      for (Efficiency::Matmul& point : efficiency.matmul) {
        if (point.type == type_of(shape) && point.blocks == blocks_of(shape) && point.m == shape.m && point.n == n &&
            point.k == k)
          point.cold_rate = rate_of(2.0 * static_cast<double>(shape.m) * static_cast<double>(n * k), median_of(some));
      }
    }
  }

  // Ops of the same work are one entry.
  // (libc++ 13 cannot compare a struct with a string in it by itself.)
  using Key = std::tuple<std::string_view, ComputeType, std::int64_t, std::int64_t, std::int64_t>;
  LeastWaiting<Key> times;
  const auto add_times = [&](const ProbeSamples& samples) {
    const Program& program = samples.program();
    std::map<Key, std::vector<double>> own;
    for (std::size_t i = 0; i < samples.regions().size(); ++i) {
      const Op& op = program.ops[samples.regions()[i].op];
      if (is_product(op)) continue;
      const Cost cost = op.operation->cost(program, op);
      const auto work = static_cast<std::int64_t>(cost.matmul.value() + cost.elementwise.value());
      if (work == 0) continue;
      const OpSize size = size_of(program, op, static_cast<double>(work));
      own[{op.operation->name, compute_type_of(precision_of(program, op)), std::llround(size.rows),
           std::llround(size.sequences), work}]
          .push_back(samples.median(i));
    }
    times.add_network(own);
  };
  for (const ProbeSamples& network : parts_->networks) add_times(network);
  for (const Parts::MeasuredProduct& product : parts_->products) add_times(product.samples);  // what rounds activations
  for (const auto& [key, seconds] : times.seconds()) {
    const auto& [name, type, rows, sequences, work] = key;
    efficiency.operations.push_back(
        {std::string(name), type, work, rate_of(static_cast<double>(work), seconds), rows, sequences});
  }

  for (const auto& [bytes, rates] : parts_->read) efficiency.read.push_back({bytes, whole_rate(median_of(rates))});
  for (const auto& [bytes, rates] : parts_->write) efficiency.write.push_back({bytes, whole_rate(median_of(rates))});
  profile.memory_bandwidth = efficiency.read.back().rate;
  profile.note = fmt::format(
      "Measured by reckon calibrate with {} {} ({}), medians of {} rounds. A peak is the best product of its type that "
      "was measured, the bandwidth that of reading {} MiB.",
      threads(), threads() == 1 ? "thread" : "threads", to_string(parts_->backend->arithmetic()),
      parts_->read.begin()->second.size(), parts_->read.rbegin()->first >> 20);
  profile.efficiency = std::move(efficiency);
  return profile;
}

}  // namespace reckon
