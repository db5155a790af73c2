// The options that say how a token is drawn.
#pragma once

#include <reckon/generate.h>

#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace reckon::cli {

// --temperature … --repetition-penalty; without the seed.
std::vector<CLI::Option*> add_sampling(CLI::App& command, Sampling& sampling);

}  // namespace reckon::cli
