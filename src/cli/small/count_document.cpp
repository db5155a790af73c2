// The report of `count` in the page's first module: its JSON alone. Tables that nobody reads would be most of the time
// of a call, and much of the module.
#include "report/count.h"
#include "report/memory.h"

namespace reckon {

Document count_document(const Model& model, const Ledger& ledger, const CountView& view) {
  Document document;
  document.json =
      count_json(model, ledger, view, rules_of_thumb(model, ledger, view.train_tokens), cache_of(model, ledger));
  return document;
}

}  // namespace reckon
