#include "measure/encoding_table.h"

#include <fmt/format.h>
#include <reckon/error.h>
#include <unistd.h>

#include "files/machine_memory.h"
#include "measure/samples.h"
#include "model/load.h"
#include "run/engine.h"
#include "run/score.h"
#include "run/weights.h"
#include "threads/thread_count.h"
#include "time/fit.h"
#include "time/roofline.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

namespace reckon {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t longest_context = 512;
constexpr int rounds = 5;

// A folder for one file, which goes with it.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(fs::temp_directory_path() / fmt::format("reckon-quantize-{}", ::getpid())) {
    fs::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  fs::path file() const { return path_ / "model.gguf"; }

 private:
  fs::path path_;
};

// Of matrices, that of most elements first.
std::vector<DType> encodings_of(const ModelExport& model, const std::vector<DType>& types) {
  std::map<DType, std::int64_t> elements;
  for (std::size_t i = 0; i < types.size(); ++i)
    if (model.tensors()[i].quantisable) elements[types[i]] += model.tensors()[i].elements();
  std::vector<DType> found;
  found.reserve(elements.size());
  for (const auto& [dtype, count] : elements) found.push_back(dtype);
  std::stable_sort(found.begin(), found.end(), [&](DType a, DType b) { return elements[a] > elements[b]; });
  return found;
}

// "float32", or of several the first three.
std::string names_of(const std::vector<DType>& types) {
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, types.size()); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", encoding_of(types[i]).name);
  return names;
}

// What every tensor becomes: what no encoding is for stays as it is, where a GGUF file has it already.
std::vector<DType> types_in(const ModelExport& model, DType dtype) {
  std::vector<DType> types;
  for (std::size_t i = 0; i < model.tensors().size(); ++i) {
    const ExportedTensor& tensor = model.tensors()[i];
    const bool kept = !tensor.quantisable && !model.as_stored(i, tensor.stored).empty();
    types.push_back(kept ? tensor.stored : exported_type(tensor, dtype));
  }
  return types;
}

std::string why_unpredicted(const EncodingTableOptions& options) {
  if (!options.profile) return options.no_profile;
  const std::int64_t calibrated = options.profile->efficiency ? options.profile->efficiency->threads : 0;
  const int threads = thread_count(options.engine.threads);
  if (calibrated != threads)
    return fmt::format("the stored profile of this machine was measured with {} {}, and this run has {}", calibrated,
                       calibrated == 1 ? "thread" : "threads", threads);
  return "";
}

}  // namespace

EncodingTable encoding_table(const std::shared_ptr<const LoadedModel>& original, const ModelExport& model,
                             std::span<const GgufPair> pairs, const Importance& importance,
                             const EncodingTableOptions& options, Pool& pool, const OnTable& progress) {
  EncodingTable table;
  table.memory = options.memory > 0 ? options.memory : available_memory();
  table.context = std::min(longest_context, original->model().context);
  table.scored = options.ids.empty() ? 0 : std::ssize(options.ids) - 1;
  table.unpredicted = why_unpredicted(options);
  table.calibrated = !importance.empty();
  EngineOptions scoring = options.engine;
  scoring.capacity = std::min<std::int64_t>(table.context, std::max<std::int64_t>(2, std::ssize(options.ids)));

  const auto measure = [&](EncodingRow row, const std::shared_ptr<const LoadedModel>& loaded) {
    const std::string which =
        fmt::format("{}, {} of {}", row.encoding, table.rows.size() + 1, options.encodings.size() + 1);
    row.bytes = loaded->weights().bytes();
    row.elements = loaded->weights().elements();
    row.needed = bytes_to_run(loaded->model(), {loaded->weights().types(), table.context});
    row.fits = row.needed <= table.memory;
    {
      ProbeSamples samples(
          probe_decode(loaded, 1, table.context / 2, ProbeOptions{options.engine.threads, options.engine.cancel}));
      for (int round = 0; round < rounds; ++round) {
        progress(which + ": decoding", round, rounds);
        samples.take_whole();
      }
      row.measured = 1 / samples.whole_median();
      if (table.unpredicted.empty())
        row.predicted = 1 / time_program(samples.probe().lowered(), {*options.profile, 1}).total();
    }
    if (table.scored > 0) {
      Engine engine(loaded, scoring);
      const auto show = [&](const Score& so_far) { progress(which + ": scoring", so_far.tokens, so_far.all); };
      if (row.original) {
        const Score score = reckon::score(engine, options.ids, {}, show);
        if (!score.whole()) throw Cancelled();
        row.loss = {score.perplexity(), 0, 1};
      } else {
        Engine other(original, scoring);
        const Divergence divergence = diverge(engine, other, options.ids, {}, 0, show);
        if (!divergence.score.whole()) throw Cancelled();
        row.loss = {divergence.score.perplexity(), divergence.mean(),
                    static_cast<double>(divergence.equal_best) / static_cast<double>(divergence.score.tokens)};
      }
    }
    table.rows.push_back(std::move(row));
  };

  EncodingRow as_it_is;
  std::vector<DType> stored;
  for (const ExportedTensor& tensor : model.tensors()) stored.push_back(tensor.stored);
  as_it_is.matrices = encodings_of(model, stored);
  as_it_is.encoding = names_of(as_it_is.matrices);
  as_it_is.original = true;
  measure(std::move(as_it_is), original);
  const TemporaryFolder folder;
  for (const DType dtype : options.encodings) {
    EncodingRow row;
    row.encoding = encoding_of(dtype).name;
    const std::string what =
        fmt::format("{}, {} of {}: quantizing", row.encoding, table.rows.size() + 1, options.encodings.size() + 1);
    const std::vector<DType> types = types_in(model, dtype);
    row.matrices = encodings_of(model, types);
    write_gguf_model(folder.file(), model, pairs, types, importance, pool,
                     [&](std::int64_t done, std::int64_t all) { progress(what, done, all); });
    Model smaller = load_model(folder.file().string());
    Weights weights = Weights::load(smaller, folder.file());
    if (table.scored > 0) check_fits(smaller, {weights.types(), table.context}, available_memory(), options.beside);
    measure(std::move(row), std::make_shared<const LoadedModel>(std::move(smaller), std::move(weights)));
  }
  return table;
}

}  // namespace reckon
