// Generating, step by step: a text, the distribution of what may follow it, and the search for the likeliest text.
#include "page/generation.h"

#include <fmt/format.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <span>

#include "compile/compile.h"
#include "count/cache.h"
#include "files/machine_memory.h"
#include "files/random.h"
#include "files/numbers.h"
#include "files/tensor_file.h"
#include "lowering/target.h"
#include "model/boundary_ids.h"
#include "model/load.h"
#include "model/location.h"
#include "page/answers.h"
#include "page/memory.h"
#include "page/pieces.h"
#include "page/sampling.h"
#include "page/training.h"
#include "run/engine.h"
#include "run/generate.h"
#include "run/inputs.h"
#include "run/next_tokens.h"
#include "text/load.h"

namespace reckon::page {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t longest_text = 2048;  // room in the cache, unless the memory or the context is smaller

// Beside the weights: caches of so many texts and the memory that programs run in.
std::int64_t engine_bytes(const LoadedModel& loaded, std::int64_t capacity, std::int64_t sessions) {
  Workload workload = workload_of(Phase::prefill);
  workload.chunk = workload.tokens = std::min(EngineOptions().chunk, capacity);
  workload.past = capacity - workload.tokens;
  workload.capacity = capacity;
  workload.parameter_types = loaded.weights().types();
  const Plan plan = compile(loaded.model(), workload, cpu_target, Places::none).plan;
  return plan.cache * sessions + plan.arena + plan.constants;
}

std::unique_ptr<Engine> engine_for(const std::shared_ptr<const LoadedModel>& loaded, std::int64_t capacity,
                                   std::int64_t sessions) {
  check_memory(fmt::format("the caches and activations of {}", loaded->model().name),
               engine_bytes(*loaded, capacity, sessions), memory_left());
  EngineOptions options;
  options.capacity = capacity;
  options.sessions = sessions;
  return std::make_unique<Engine>(loaded, options);
}

std::unique_ptr<Engine> largest_engine(const std::shared_ptr<const LoadedModel>& loaded) {
  constexpr std::int64_t least = 64;
  std::int64_t capacity = std::min(loaded->model().context, longest_text);
  while (capacity / 2 >= least && engine_bytes(*loaded, capacity, 1) > memory_left()) capacity /= 2;
  return engine_for(loaded, capacity, 1);
}

void open(Generating& to, const std::string& path) {
  const ModelLocation location = locate_model(path);
  Count bytes;
  for (const TensorInfo& tensor : read_tensor_file(locate_weights(path)).tensors) bytes += tensor.end - tensor.begin;
  check_memory(fmt::format("the weights of {}", path), bytes, memory_left());
  to.loaded = LoadedModel::open(path);
  to.config = load_described(path).config.dump();
  std::error_code none;
  if (location.gguf) to.tokenizer = std::make_shared<const Tokenizer>(load_tokenizer(location.tokenizer()));
  for (const char* file : {"tokenizer.json", "vocab.json"}) {
    if (to.tokenizer != nullptr || location.folder.empty() || !fs::exists(location.folder / file, none)) continue;
    to.tokenizer = std::make_shared<const Tokenizer>(load_tokenizer(location.folder.string()));
  }
  to.begin_of_text = begin_of_text_id(path);
  to.end_of_text = end_of_text_ids(path);
}

void copy(Generating& to, const Run& run) {
  const Trainer& trainer = run.trainer();
  check_memory("the weights of the run", Count(run.facts().parameters) * 4, memory_left());
  to.loaded = std::make_shared<const LoadedModel>(trainer.model(), Weights::copy(trainer.model(), trainer.masters()));
  to.config = run.config();
  if (const Tokenizer* tokenizer = run.data().tokenizer()) to.tokenizer = std::make_shared<const Tokenizer>(*tokenizer);
}

// Runs `ids` behind what is cached.
Reply step(Generating& model, std::span<const std::int32_t> ids) {
  Session& session = *model.session;
  const std::int64_t past = session.length();
  double seconds = 0;
  const std::span<const float> logits = timed(seconds, [&] { return session.run(ids, Logits::last); });
  model.logits.assign(logits.begin(), logits.end());

  Workload work = workload_of(ids.size() == 1 ? Phase::decode : Phase::prefill);
  work.tokens = std::ssize(ids);
  work.past = past;
  work.causal = Causal::exact;
  const Model& network = model.loaded->model();
  return {{{"length", session.length()},
           {"capacity", model.engine->options().capacity},
           {"pieces", pieces_of(model.tokenizer.get(), ids)},
           {"seconds", seconds},
           {"flops", static_cast<std::int64_t>(count(network, work).total().matmul)},
           {"cache_bytes", static_cast<std::int64_t>(cache_cost(network, work).total)}}};
}

// All of `ids` from an empty cache.
Reply begin(Generating& model, std::vector<std::int32_t> ids) {
  const std::int64_t capacity = model.engine->options().capacity;
  if (ids.empty()) throw UsageError("the text is empty; expected at least one token");
  if (std::ssize(ids) > capacity) {
    throw UsageError(
        fmt::format("the text has {} tokens; there is room for {} here", grouped(ids.size()), grouped(capacity)));
  }
  check_ids(ids, model.loaded->model().vocab_size);
  model.ids.clear();
  model.logits.clear();
  model.session->reset();
  Reply reply = step(model, ids);
  model.ids = std::move(ids);
  return reply;
}

void expect_text(const Generating& model) {
  if (model.logits.empty()) throw UsageError("the model has no text yet; ask for `prefill` first");
}

const char* name_of(Ending ending) {
  switch (ending) {
    case Ending::length:
      return "length";
    case Ending::end_of_text:
      return "end_of_text";
    case Ending::context:
      return "context";
    case Ending::stopped:
      break;
  }
  return "stopped";
}

Json text_of(const Tokenizer* tokenizer, std::vector<std::int32_t> ids) {
  if (tokenizer == nullptr) return nullptr;
  std::erase_if(ids, [&](std::int32_t id) { return static_cast<std::size_t>(id) >= tokenizer->size(); });
  return tokenizer->decode(ids);
}

}  // namespace

std::vector<std::int32_t> ids_of(const Fields& fields, const Tokenizer* tokenizer, std::optional<std::int32_t> begin) {
  if (fields.has("ids") && fields.has("text"))
    throw UsageError("both `text` and `ids` are given; expected one of them");
  if (fields.has("ids")) return fields.ids("ids");
  const std::string text = fields.text("text");
  if (tokenizer == nullptr) throw UsageError("no tokenizer lies beside the model; give `ids` instead of `text`");
  std::vector<std::int32_t> ids = tokenizer->encode(text);
  if (ids.empty() && begin) ids.push_back(*begin);
  return ids;
}

Reply model(Page& page, const Fields& fields) {
  const auto made = std::make_shared<Generating>();
  if (fields.has("run") == fields.has("path")) throw UsageError("model needs either `path` or `run`");
  if (fields.has("run")) {
    copy(*made, *training_of(page, fields, "run")->run);
  } else {
    open(*made, fields.text("path"));
  }
  made->engine = largest_engine(made->loaded);
  made->session.emplace(made->engine->session());
  const Model& network = made->loaded->model();
  const Json tokenizer = made->tokenizer != nullptr ? Json(page.keep(made->tokenizer)) : Json(nullptr);
  return {{{"model", page.keep(made)},
           {"tokenizer", tokenizer},
           {"name", network.name},
           {"parameters", static_cast<std::int64_t>(count_parameters(network))},
           {"layers", network.layers.size()},
           {"d_model", network.d_model},
           {"vocab", network.vocab_size},
           {"capacity", made->engine->options().capacity},
           {"weight_bytes", made->loaded->weights().bytes()},
           {"cache_bytes", made->engine->core().planned_cache()},
           {"end_of_text", made->end_of_text},
           {"notes", network.notes}}};
}

Reply prefill(Page& page, const Fields& fields) {
  Generating& model = *generating_of(page, fields, "model");
  Reply reply = begin(model, ids_of(fields, model.tokenizer.get(), model.begin_of_text));
  model.prompt = model.ids.size();
  return reply;
}

Reply append(Page& page, const Fields& fields) {
  Generating& model = *generating_of(page, fields, "model");
  expect_text(model);
  const auto id = static_cast<std::int32_t>(fields.whole("id", 0, model.loaded->model().vocab_size - 1));
  if (model.session->outgrown(model.session->length() + 1)) {
    std::vector<std::int32_t> all = model.ids;
    all.push_back(id);
    return begin(model, std::move(all));
  }
  Reply reply = step(model, {&id, 1});
  model.ids.push_back(id);
  return reply;
}

Reply rewind(Page& page, const Fields& fields) {
  Generating& model = *generating_of(page, fields, "model");
  expect_text(model);
  const std::int64_t length = fields.whole("length", 1, std::ssize(model.ids));
  Reply reply = begin(model, {model.ids.begin(), model.ids.begin() + length});
  model.prompt = std::min(model.prompt, model.ids.size());
  return reply;
}

Reply distribution(Page& page, const Fields& fields) {
  const Generating& model = *generating_of(page, fields, "model");
  expect_text(model);
  const Sampling sampling = sampling_of(fields);
  const std::int64_t count = fields.whole("count", 0, Fields::any, 50);
  double u = 0;
  Random random(sampling.seed);  // as many numbers as there were draws, and one more
  for (std::size_t i = model.prompt; i <= model.ids.size(); ++i) u = random.uniform();
  u = fields.number("u", u);

  const NextTokens next = next_tokens(model.logits, model.ids, sampling, count, u);
  const auto shown = [&](const NextToken& token) {
    const char* const removed = name_of(token.chance.removed);
    Json json = piece_of(model.tokenizer.get(), token.id);
    json["logit"] = token.logit;
    json["scaled"] = token.chance.scaled;
    json["removed"] = removed != nullptr ? Json(removed) : Json(nullptr);
    json["model_probability"] = token.model_probability;
    json["probability"] = token.chance.probability;
    json["from"] = token.chance.from;
    json["to"] = token.chance.to;
    return json;
  };
  Json tokens = Json::array();
  for (const NextToken& token : next.tokens) tokens.push_back(shown(token));
  Json draw = shown(*next.draw);
  draw["u"] = u;
  Reply reply{{{"tokens", tokens},
               {"rest",
                {{"count", next.rest.count},
                 {"kept", next.rest.kept},
                 {"model_probability", next.rest.model_probability},
                 {"probability", next.rest.probability}}},
               {"kept", next.kept},
               {"draw", draw}}};
  if (fields.answer("array", false)) reply.array = model.logits;
  return reply;
}

Reply beams(Page& page, const Fields& fields) {
  const Generating& model = *generating_of(page, fields, "model");
  expect_text(model);
  Generation generation;
  generation.beams = generation.best = static_cast<int>(fields.whole("beams", 1, 64));
  generation.tokens = fields.whole("tokens", 1, 10'000);
  generation.length_penalty = fields.number("length_penalty", generation.length_penalty);
  generation.stop_ids = fields.has("stop") ? fields.ids("stop") : model.end_of_text;
  const std::int64_t length = std::ssize(model.ids);
  const std::int64_t capacity = std::min(model.engine->options().capacity, length + generation.tokens);
  const std::unique_ptr<Engine> engine = engine_for(model.loaded, capacity, generation.beams);
  BeamTree tree;
  const Generated generated = beam_search(*engine, model.ids, generation, &tree);
  Json nodes = Json::array();
  for (const BeamNode& node : tree.nodes) {
    nodes.push_back({{"parent", node.parent},
                     {"depth", node.depth},
                     {"piece", piece_of(model.tokenizer.get(), node.id)},
                     {"log_probability", node.log_probability},
                     {"sum", node.sum},
                     {"state", node.score ? "finished" : "running"},
                     {"score", node.score ? Json(*node.score) : Json(nullptr)}});
  }
  Json best = Json::array();
  for (std::size_t i = 0; i < generated.continuations.size(); ++i) {
    const Continuation& one = generated.continuations[i];
    best.push_back({{"node", tree.best[i]},
                    {"ids", one.ids},
                    {"text", text_of(model.tokenizer.get(), one.ids)},
                    {"sum", one.log_probability},
                    {"score", one.score},
                    {"ending", name_of(one.ending)}});
  }
  return {
      {{"nodes", nodes}, {"best", best}, {"seconds", generated.pace.prefill_seconds + generated.pace.decode_seconds}}};
}

}  // namespace reckon::page
