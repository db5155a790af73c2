// Reports of the page's first module: the page asks it for JSON alone, so the other forms are left out.
#include "report/document.h"

namespace reckon {

std::string render(const Document& document, Format, const Terminal&) { return json_text(document.json) + "\n"; }

}  // namespace reckon
