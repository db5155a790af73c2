// Training: a run begins or goes on, takes its steps in slices of time, and is looked at on the way.
#include "page/training.h"

#include <fmt/format.h>
#include <reckon/error.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numeric>
#include <string_view>

#include "backend/backend.h"
#include "files/quote.h"
#include "model/read_changes.h"
#include "model/validate.h"
#include "page/answers.h"
#include "page/memory.h"
#include "page/sampling.h"
#include "text/tokenizer.h"
#include "threads/thread_count.h"

namespace reckon::page {
namespace {

// N of "train:N".
std::int64_t trained_vocab(const std::string& tokenizer) {
  constexpr std::string_view train = "train:";
  if (!tokenizer.starts_with(train)) return 0;
  const char* const first = tokenizer.data() + train.size();
  const char* const last = tokenizer.data() + tokenizer.size();
  std::int64_t tokens = 0;
  const auto [end, error] = std::from_chars(first, last, tokens);
  if (error != std::errc() || end != last || tokens < 257 || tokens > largest_size) {
    throw UsageError(
        fmt::format("`tokenizer` is {}; expected train:N with N from 257 to {}", quote(tokenizer), largest_size));
  }
  return tokens;
}

RunRequest request_of(const Fields& fields) {
  RunRequest request;
  request.out = fields.text("out");
  if (request.out.empty()) throw UsageError("`out` is empty; expected the folder of the run");
  if (fields.has("settings")) request.given = read_settings(fields.object("settings"), request.settings);
  request.trained_vocab = trained_vocab(request.settings.tokenizer);
  request.threads = thread_count(0);
  request.memory = memory_left();
  return request;
}

// Of a model that knows how often each token occurs, in nats: −Σ p·ln p.
double unigram_entropy(const std::vector<std::int64_t>& counts) {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
  double entropy = 0;
  for (const std::int64_t count : counts) {
    const double p = static_cast<double>(count) / total;
    if (count > 0) entropy -= p * std::log(p);
  }
  return entropy;
}

Json bytes_per_token(const Tokenizer* tokenizer, const std::vector<std::int64_t>& counts) {
  if (tokenizer == nullptr) return nullptr;
  double bytes = 0, tokens = 0;
  for (std::size_t id = 0; id < std::min(counts.size(), tokenizer->size()); ++id) {
    tokens += static_cast<double>(counts[id]);
    bytes += static_cast<double>(counts[id]) * static_cast<double>(tokenizer->bytes(static_cast<TokenId>(id)).size());
  }
  return tokens > 0 ? Json(bytes / tokens) : Json(nullptr);
}

Reply begin(Page& page, RunRequest request) {
  const auto training = std::make_shared<Training>();
  Json notes = Json::array();
  request.note = [&notes](const std::string& sentence) { notes.push_back(sentence); };
  request.line = [&lines = training->lines](const Json& line) { lines.push_back(line); };
  training->folder = std::make_unique<RunFolder>(run_path(request));
  training->run = std::make_unique<Run>(request, training->folder.get(), nullptr);
  training->lines.clear();  // the first line is told apart
  Run& run = *training->run;
  const Tokenizer* const tokenizer = run.data().tokenizer();
  const std::vector<std::int64_t> counts = run.data().training_counts();
  const Json tokenizer_handle =
      tokenizer != nullptr ? Json(page.keep(std::make_shared<const Tokenizer>(*tokenizer))) : Json(nullptr);
  return {{{"run", page.keep(training)},
           {"tokenizer", tokenizer_handle},
           {"out", run.path().string()},
           {"facts", run.first_line()},
           {"config", run.config()},
           {"ln_vocab", std::log(static_cast<double>(run.trainer().model().vocab_size))},
           {"unigram_entropy", unigram_entropy(counts)},
           {"bytes_per_token", bytes_per_token(tokenizer, counts)},
           {"step", run.loop().progress().step},
           {"lines", run.earlier()},
           {"notes", notes}}};
}

}  // namespace

Reply train(Page& page, const Fields& fields) {
  RunRequest request = request_of(fields);
  if (request.settings.model.empty()) throw UsageError("`settings` name no model; expected a preset or a path");
  for (const char* key : {"context", "ranks"}) {
    if (request.given.contains(key))
      throw UsageError(fmt::format("`{}` is no setting to choose; a context is one of the `changes`", key));
  }
  if (fields.has("changes")) request.changes = read_changes(fields.object("changes"));
  return begin(page, std::move(request));
}

Reply resume(Page& page, const Fields& fields) {
  RunRequest request = request_of(fields);
  request.resume = true;
  for (const std::string& key : request.given) {
    if (!may_change(key)) throw UsageError(fmt::format("`{}` cannot change when a run is resumed", key));
  }
  return begin(page, std::move(request));
}

namespace {

// The seconds and products of each kind of operation, in the order in which they first ran.
Json by_operation(const RunProfile& profile) {
  Json operations = Json::array();
  for (const RunProfile::Event& event : profile.events()) {
    const auto same = [&](const Json& one) { return one["operation"] == event.operation; };
    auto found = std::find_if(operations.begin(), operations.end(), same);
    if (found == operations.end()) {
      operations.push_back(Json::object({{"operation", event.operation}, {"seconds", 0.0}, {"times", 0}}));
      found = std::prev(operations.end());
    }
    (*found)["seconds"] =
        (*found)["seconds"].get<double>() + std::chrono::duration<double>(event.end - event.begin).count();
    (*found)["times"] = (*found)["times"].get<std::int64_t>() + 1;
  }
  return operations;
}

}  // namespace

Reply advance(Page& page, const Fields& fields) {
  const auto training = training_of(page, fields, "run");
  const double seconds = static_cast<double>(fields.whole("milliseconds", 0, 3'600'000)) / 1000;
  Run& run = *training->run;
  Json json;
  bool done = false;
  RunProfile profile;
  if (fields.answer("profile", false)) run.trainer().backend().set_profile(&profile);
  try {
    done = run.loop().advance(seconds);
    if (done && !training->finished) {
      run.finish();
      training->finished = true;
    }
  } catch (const Error& error) {
    json["error"] = error.what();  // with the lines of the steps before
  }
  run.trainer().backend().set_profile(nullptr);
  if (!profile.events().empty()) json["operations"] = by_operation(profile);
  json["lines"] = std::exchange(training->lines, {});
  json["step"] = run.loop().progress().step;
  json["steps"] = run.settings().schedule.steps;
  json["done"] = done;
  return {json};
}

Reply rate(Page& page, const Fields& fields) {
  Loop& loop = training_of(page, fields, "run")->run->loop();
  loop.set_peak(fields.number("lr"));
  return {{{"lr", loop.settings().schedule.peak}, {"min_lr", loop.settings().schedule.least}}};
}

Reply evaluate(Page& page, const Fields& fields) {
  Run& run = *training_of(page, fields, "run")->run;
  const bool any = run.data().validation_windows() > 0;
  return {{{"step", run.loop().progress().step},
           {"loss", any ? Json(validation_loss(run.trainer(), run.data())) : Json(nullptr)}}};
}

Reply sample(Page& page, const Fields& fields) {
  const auto training = training_of(page, fields, "run");
  Generation generation;
  generation.tokens = fields.whole("tokens", 1, 100'000);
  generation.sampling = sampling_of(fields);
  const Run::Sampled sampled = training->run->sample(fields.text("prompt"), generation);
  return {{{"text", sampled.text},
           {"ids", sampled.ids},
           {"prompt_tokens", sampled.prompt_tokens},
           {"seconds", sampled.seconds}}};
}

Reply save(Page& page, const Fields& fields) {
  Loop& loop = training_of(page, fields, "run")->run->loop();
  const std::string path = loop.save().string();
  return {{{"path", path}, {"step", loop.progress().step}}};
}

Reply limit(Page&, const Fields&) {
  const int threads = thread_count(0);
  const std::unique_ptr<Backend> backend = make_backend(Device::cpu, threads);
  const Backend::Measure product = backend->product_limit();
  return {{{"gflops_per_second", product ? Json(product() / 1e9) : Json(nullptr)},
           {"threads", threads},
           {"arithmetic", to_string(backend->arithmetic())}}};
}

}  // namespace reckon::page
