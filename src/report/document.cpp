// Choosing a document's form.
#include "report/document.h"

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
  return json_text(document.json) + "\n";
}

}  // namespace reckon
