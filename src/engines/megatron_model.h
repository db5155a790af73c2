// A network in Megatron-LM's arguments.
#pragma once

#include "engines/each.h"

namespace reckon {

// What of the network its arguments cannot say; empty where they can.
std::string megatron_model_refusal(const Job& job);
void add_megatron_model(Command& command, const Job& job);

}  // namespace reckon
