// Every repeated block written out: what planning and running use.
#pragma once

#include "program/program.h"

namespace reckon {

Program expand(const Program& program);

}  // namespace reckon
