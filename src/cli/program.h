// The program without its list of commands: how words are parsed, and how errors reach the person.
#pragma once

#include <span>
#include <string>

#include "cli/commands.h"

namespace reckon::cli {

// Runs `reckon` with these commands and these words. 0: done, 2: wrong use, 1: anything else.
int run_program(std::span<const AddCommand> commands, std::span<const std::string> given);

}  // namespace reckon::cli
