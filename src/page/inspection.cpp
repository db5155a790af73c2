// Looking inside a model, be it one that trains or one that generates, or handing it to somebody who does.
#include <reckon/error.h>

#include <memory>
#include <string>
#include <utility>

#include "files/atomic_write.h"
#include "files/machine_memory.h"
#include "page/answers.h"
#include "page/generation.h"
#include "page/memory.h"
#include "page/pieces.h"
#include "page/training.h"
#include "run/attention_maps.h"
#include "run/neighbours.h"
#include "run/save.h"
#include "text/tokenizer_json.h"

namespace reckon::page {
namespace {

struct Inspected {
  std::shared_ptr<const LoadedModel> model;
  const Tokenizer* tokenizer;
  const std::string& config;
};

// Valid as long as the handle is.
Inspected inspected(const Page& page, const Fields& fields) {
  if (std::holds_alternative<std::shared_ptr<Training>>(page.kept(fields.whole("of", 0)))) {
    const Run& run = *training_of(page, fields, "of")->run;
    return {std::make_shared<const LoadedModel>(run.trainer().model(), run.trainer().weights()), run.data().tokenizer(),
            run.config()};
  }
  const Generating& model = *generating_of(page, fields, "of");
  return {model.loaded, model.tokenizer.get(), model.config};
}

}  // namespace

Reply attention(Page& page, const Fields& fields) {
  const Inspected of = inspected(page, fields);
  const std::vector<std::int32_t> ids = ids_of(fields, of.tokenizer);
  if (ids.empty()) throw UsageError("there is no text to attend to; expected at least one token");
  if (std::ssize(ids) > of.model->model().context) {
    throw UsageError("the text has " + std::to_string(ids.size()) + " tokens, more than the context of " +
                     std::to_string(of.model->model().context));
  }
  check_memory("attention maps, which are computed in 8 bytes a number,",
               attention_maps_bytes(of.model->model(), std::ssize(ids)), memory_left());
  AttentionMaps maps = attention_maps(of.model, ids);
  Json layers = Json::array();
  for (const AttentionMaps::Layer& layer : maps.layers) {
    Json all = Json::array();
    for (std::int64_t head = 0; head < layer.heads; ++head) {
      const Habits one = habits(maps, layer, head);
      all.push_back({{"itself", one.itself}, {"before", one.before}, {"first", one.first}});
    }
    layers.push_back({{"layer", layer.layer}, {"heads", layer.heads}, {"from", layer.from}, {"habits", all}});
  }
  return {{{"tokens", maps.tokens}, {"pieces", pieces_of(of.tokenizer, ids)}, {"layers", layers}},
          std::move(maps.weights)};
}

Reply neighbours(Page& page, const Fields& fields) {
  const Inspected of = inspected(page, fields);
  const auto token = static_cast<std::int32_t>(fields.whole("token", 0, of.model->model().vocab_size - 1));
  Json all = Json::array();
  for (const Neighbour& one : nearest_tokens(of.model->weights(), token, fields.whole("count", 0))) {
    Json json = piece_of(of.tokenizer, one.id);
    json["cosine"] = one.cosine;
    all.push_back(std::move(json));
  }
  return {{{"token", piece_of(of.tokenizer, token)}, {"neighbours", all}}};
}

Reply write_model(Page& page, const Fields& fields) {
  const Inspected of = inspected(page, fields);
  const std::string path = fields.text("path");
  save_checkpoint(of.model->model(), of.model->weights(), of.config, path);
  if (of.tokenizer != nullptr) atomic_write(path + "/tokenizer.json", write_tokenizer_json(of.tokenizer->spec()));
  return {{{"path", path}}};
}

}  // namespace reckon::page
