// The forms of a document, one function each; render() chooses.
#pragma once

#include "report/document.h"

namespace reckon {

std::string render_terminal(const Document& document, const Terminal& terminal);
std::string render_csv(const Document& document);
std::string render_markdown(const Document& document);

}  // namespace reckon
