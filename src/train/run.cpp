#include "train/run.h"

#include <fmt/format.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

#include "count/ledger.h"
#include "train/file_hash.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Recompute recompute_of(const std::string& word) {
  if (word == "block") return Recompute::block;
  return recompute_word(word) == "selective" ? Recompute::selective : Recompute::none;
}

TrainerOptions trainer_options(const Settings& settings, const RunRequest& request) {
  TrainerOptions options;
  options.device = request.device;
  options.threads = request.threads;
  options.batch = settings.batch;
  options.tokens = settings.context;
  options.recompute = recompute_of(settings.recompute);
  options.precision = settings.precision == "bfloat16" ? DType::bfloat16 : DType::float32;
  options.dropout = settings.dropout;
  options.seed = settings.seed;
  options.memory = request.memory;
  options.cancel = request.cancel;
  return options;
}

RunFacts facts_of(const Trainer& trainer, const Settings& settings) {
  RunFacts facts;
  facts.name = settings.model == "-" ? "stdin" : settings.model;
  for (const TrainedTensor& tensor : trainer.tensors()) facts.parameters += tensor.elements;
  facts.batch = settings.batch;
  facts.context = settings.context;
  facts.accumulate = settings.accumulate;
  const Ledger ledger = read_ledger(trainer.executable().program());
  const TrainingState& state = ledger.state;
  facts.weight_bytes = static_cast<std::int64_t>(state.weights);
  facts.gradient_bytes = static_cast<std::int64_t>(state.gradients);
  facts.moment_bytes = static_cast<std::int64_t>(state.moments);
  facts.sent_bytes = static_cast<std::int64_t>(ledger.total().sent);
  facts.arena_bytes = trainer.executable().plan().arena;
  return facts;
}

// Over all that is held out, if the run's own evaluations were over less.
std::optional<double> whole_validation(Trainer& trainer, const Dataset& data, const Settings& settings,
                                       const Progress& progress) {
  const std::int64_t all = data.validation_windows();
  if (all == 0 || settings.eval_windows == 0 || settings.eval_windows >= all) return progress.validation;
  return validation_loss(trainer, data);
}

// The path that rank 0 has.
fs::path shared_path(Communicator& ranks, const fs::path& path) {
  std::string text = path.string();
  std::uint64_t length = text.size();
  ranks.broadcast(std::as_writable_bytes(std::span(&length, 1)));
  text.resize(length);
  ranks.broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

// The promise of the same bytes holds where the arithmetic is the same.
void note_other_arithmetic(const RunRequest& request, const Checkpoint& checkpoint, const Arithmetic& here) {
  if (!request.note || !checkpoint.arithmetic || *checkpoint.arithmetic == here) return;
  request.note(
      fmt::format("the checkpoint was made with {}, and this machine has {}: the run goes on, but to other last bits "
                  "than it would have come to there",
                  to_string(*checkpoint.arithmetic), to_string(here)));
}

}  // namespace

Run::Run(const RunRequest& request, RunFolder* folder, Communicator* ranks) : folder_(folder), ranks_(ranks) {
  path_ = folder_ != nullptr ? folder_->path() : shared_path(*ranks_, {});
  Prepared prepared;
  set_up(request, prepared);
  if (folder_ != nullptr && ranks_ != nullptr)
    shared_path(*ranks_, path_);  // now the others find all that was prepared
  config_ = prepared.identity.config;
  trainer_.emplace(prepared.model, std::move(*prepared.weights), trainer_options(prepared.identity.settings, request),
                   ranks_);
  if (checkpoint_) {
    if (folder_ != nullptr) note_other_arithmetic(request, *checkpoint_, trainer_->backend().arithmetic());
    restore(*trainer_, *checkpoint_);
  }
  begin(request, std::move(prepared.identity));
}

void Run::set_up(const RunRequest& request, Prepared& prepared) {
  checkpoint_ = find_checkpoint(request, path_);
  prepared = prepare(request, checkpoint_, path_, folder_ != nullptr);
  DataOptions options = prepared.data;
  options.threads = request.threads;
  options.rank = ranks_ != nullptr ? ranks_->rank() : 0;
  options.ranks = ranks_ != nullptr ? ranks_->size() : 1;
  data_.emplace(options);
  std::string& data = prepared.identity.data;
  data = hash_of_file(data_->token_file());
  if (checkpoint_ && checkpoint_->identity.data != data) {
    throw Error(
        fmt::format("{}: the data are not those that the run began with: {}", path_.string(), data_->description()));
  }
  const Tokenizer* tokenizer = data_->tokenizer();
  if (tokenizer != nullptr && tokenizer->encode(prepared.identity.settings.sample).empty()) {
    throw UsageError("`sample` is empty, and the tokenizer begins a text with no token of its own; expected some text");
  }
}

void Run::begin(const RunRequest& request, Identity identity) {
  const Progress from = checkpoint_ ? checkpoint_->progress : Progress{};
  began_at_ = from.step;
  if (folder_ == nullptr) {
    loop_.emplace(*trainer_, *data_, std::move(identity), from, nullptr, nullptr, LoopEvents{});
    return;
  }
  if (checkpoint_) saved_ = checkpoint_->folder;
  facts_ = facts_of(*trainer_, identity.settings);
  metrics_.emplace(folder_->metrics(), checkpoint_ ? from.step : -1, request.line);
  if (checkpoint_) earlier_ = read_metrics(folder_->metrics());
  // What one large product reaches on the same threads, in turns with the steps. Of several ranks, one alone would
  // measure itself against those that wait for it.
  const Backend::Measure product = trainer_->backend().product_limit();
  if ((ranks_ == nullptr || ranks_->size() == 1) && product) limit_.emplace(product);
  loop_.emplace(*trainer_, *data_, std::move(identity), from, folder_, &*metrics_, loop_events());

  // What was chosen, and what is predicted.
  const std::optional<double> rate = limit_ ? limit_->turn() : std::nullopt;
  first_line_ = {{"kind", "run"},
                 {"step", from.step},
                 {"model", facts_.name},
                 {"parameters", facts_.parameters},
                 {"data", data_->description()},
                 {"training_tokens", data_->training_tokens()},
                 {"validation_tokens", data_->validation_tokens()},
                 {"step_matmul_flops", loop_->step_flops()},
                 {"limit_gflops_per_second", rate ? Json(*rate / 1e9) : Json(nullptr)},
                 {"bytes",
                  {{"weights", facts_.weight_bytes},
                   {"gradients", facts_.gradient_bytes},
                   {"moments", facts_.moment_bytes},
                   {"arena", facts_.arena_bytes},
                   {"sent", facts_.sent_bytes}}},
                 {"settings", to_json(settings())}};
  metrics_->add(first_line_);
  folder_->keep();
}

LoopEvents Run::loop_events() {
  LoopEvents all;
  all.step = [this](const StepReport& report) {
    if (events.step) events.step(report);
    const std::optional<double> rate = limit_ ? limit_->turn() : std::nullopt;
    if (!rate) return;
    metrics_->add({{"kind", "limit"}, {"step", report.step}, {"gflops_per_second", *rate / 1e9}});
    if (events.limit) events.limit(limit_->spread());
  };
  all.evaluation = [this](const EvaluationReport& report) {
    if (events.evaluation) events.evaluation(report);
  };
  all.saved = [this](std::int64_t, const fs::path& folder) { saved_ = folder; };
  if (data_->tokenizer() == nullptr) return all;
  all.sample = [this](std::int64_t) {
    Generation generation;
    generation.tokens = 200;
    generation.sampling.temperature = 0.8;
    generation.sampling.seed = settings().seed;
    return sample(settings().sample, generation).text;
  };
  all.sampled = [this](std::int64_t, const std::string& text) { last_sample_ = text; };
  return all;
}

Run::Sampled Run::sample(const std::string& prompt, const Generation& asked) const {
  const Tokenizer* const tokenizer = data_->tokenizer();
  if (tokenizer == nullptr) throw UsageError("the run trains on a file of ids and has no tokenizer to write text with");
  const auto begin = std::chrono::steady_clock::now();
  Sampled sampled;
  sampled.ids = tokenizer->encode(prompt);
  sampled.prompt_tokens = std::ssize(sampled.ids);
  Generation generation = asked;
  generation.window = true;
  EngineOptions options;
  options.device = trainer_->options().device;
  options.threads = trainer_->options().threads;
  options.capacity = std::min<std::int64_t>(settings().context, sampled.prompt_tokens + generation.tokens);
  Engine engine(trainer_->model(), trainer_->weights(), options);
  const Generated generated = generate(engine, sampled.ids, generation);
  const std::vector<std::int32_t>& more = generated.continuations[0].ids;
  sampled.ids.insert(sampled.ids.end(), more.begin(), more.end());
  // The vocabulary of a model may be the larger one: such ids have no text.
  std::vector<std::int32_t> with_text = sampled.ids;
  std::erase_if(with_text, [&](std::int32_t id) { return id >= static_cast<std::int64_t>(tokenizer->size()); });
  sampled.text = tokenizer->decode(with_text, true);
  sampled.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return sampled;
}

std::optional<double> Run::finish() {
  const std::optional<double> validation = whole_validation(*trainer_, *data_, settings(), loop_->progress());
  if (!metrics_) return validation;
  metrics_->add({{"kind", "end"},
                 {"step", loop_->progress().step},
                 {"validation", validation ? Json(*validation) : Json(nullptr)},
                 {"seconds", loop_->progress().seconds},
                 {"arena_high_water_bytes", trainer_->executable().arena().high_water()},
                 {"sent_bytes", ranks_ != nullptr ? ranks_->bytes_sent() : 0}});
  metrics_->flush();
  return validation;
}

}  // namespace reckon
