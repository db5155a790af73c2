// The program, with all its commands.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/program.h"

namespace reckon::cli {
namespace {

constexpr AddCommand commands[] = {add_count,   add_explain,  add_models,     add_hardware, add_calibrate, add_plan,
                                   add_compare, add_sweep,    add_memory,     add_time,     add_tokenizer, add_generate,
                                   add_score,   add_logits,   add_quantize,   add_train,    add_report,    add_serve,
                                   add_verify,  add_tokenize, add_completion, add_manual};  // in the order of the help

}  // namespace
}  // namespace reckon::cli

int main(int argc, char** argv) {
  // OpenBLAS is to have one thread: those of the pool share out its work (backend/cpu/blas.cpp). It looks at these when
  // it is opened, of which the second counts where it is built on OpenMP.
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  ::setenv("OMP_NUM_THREADS", "1", 1);
  std::signal(SIGPIPE, SIG_IGN);  // `reckon … | head` ends quietly
  std::signal(SIGXFSZ, SIG_IGN);  // and a file that may not grow is an error like others
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  return reckon::cli::run_program(reckon::cli::commands, words);
}
