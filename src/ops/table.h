// Every operation there is, in one table: what tests, documents and backends go through.
#pragma once

#include "program/program.h"

#include <vector>

namespace reckon {

const std::vector<const Operation*>& all_operations();

}  // namespace reckon
