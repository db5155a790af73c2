#include "cli/sampling_options.h"

#include <CLI/CLI.hpp>

#include "cli/options.h"

namespace reckon::cli {

std::vector<CLI::Option*> add_sampling(CLI::App& command, Sampling& sampling) {
  return {
      command.add_option("--temperature", sampling.temperature, "0: the most likely token (1)")->type_name("X"),
      add_size(command, "--top-k", sampling.top_k, "draw from the k most likely; 0: from all (0)", zero_or_more)
          .type_name("K"),
      command.add_option("--top-p", sampling.top_p, "draw from the fewest that have this probability together (1)")
          ->type_name("P"),
      command.add_option("--min-p", sampling.min_p, "draw from what is so many times as likely as the best (0)")
          ->type_name("P"),
      command.add_option("--repetition-penalty", sampling.repetition_penalty, "over 1: less of what was there (1)")
          ->type_name("X"),
  };
}

}  // namespace reckon::cli
