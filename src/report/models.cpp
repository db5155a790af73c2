#include "report/models.h"

#include <reckon/reckon.h>

#include "files/numbers.h"
#include "model/sublayers.h"
#include "report/describe.h"

namespace reckon {

Document models_document(const std::vector<Model>& models) {
  Document document;
  Table table{"",
              {{"name", false, Column::Kind::name},
               {"parameters", true},
               {"layers", true},
               {"width", true},
               {"heads", true},
               {"vocabulary", true},
               {"context", true},
               {"family"}}};
  document.json = {{"schema", "reckon.models/1"}, {"models", OrderedJson::array()}};
  for (const Model& model : models) {
    const Count parameters = count_parameters(model);
    const Attention& attention = first_attention(model);
    const bool grouped_heads = attention.n_kv_heads != attention.n_heads;
    const std::string heads = grouped(attention.n_heads) + (grouped_heads ? "/" + grouped(attention.n_kv_heads) : "");
    table.rows.push_back({model.name, count_cell(parameters), count_cell(std::ssize(model.layers)),
                          count_cell(model.d_model), heads, count_cell(model.vocab_size), count_cell(model.context),
                          model.about.empty() ? model.family : "own, as " + model.family});
    OrderedJson json = {{"name", model.name}, {"parameters", parameters}};
    json.update(architecture_json(model));
    document.json["models"].push_back(std::move(json));
  }
  document.parts.emplace_back(std::move(table));
  return document;
}

}  // namespace reckon
