// Choosing a document's form.
#include "report/document.h"

#include "report/forms.h"

namespace reckon {

std::string render(const Document& document, Format format, const Terminal& terminal) {
  switch (format) {
    case Format::table:
      return render_terminal(document, terminal);
    case Format::csv:
      return render_csv(document);
    case Format::markdown:
      return render_markdown(document);
    case Format::json:
      break;
  }
  // A name that is not UTF-8 must not stop a report.
  return document.json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace reckon
