// A network in Megatron-LM's arguments.
#pragma once

#include "engines/each.h"

namespace reckon {

// What of the network its arguments cannot say; empty where they can.
std::string megatron_model_refusal(const Launch& launch);
void add_megatron_model(Command& command, const Launch& launch);

}  // namespace reckon
