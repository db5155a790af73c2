// Diagrams as Mermaid text: the network as a flowchart, shares as a pie.
#pragma once

#include <reckon/ledger.h>

#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "report/steps.h"

namespace reckon {

// The forward program at the level of sublayers; a node says what it holds, an edge the shape that passes along it.
std::string flowchart(const Program& program, const std::vector<Section>& sections);

std::string pie(std::string_view title, const std::vector<Row>& rows);

}  // namespace reckon
