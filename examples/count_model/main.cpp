// The parameters of a model and the FLOPs of its forward pass:  count_model [PRESET or PATH] [TOKENS]
#include <reckon/reckon.h>

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
  try {
    const reckon::Model model = reckon::load_model(argc > 1 ? argv[1] : "gpt2");
    reckon::Workload workload;
    if (argc > 2) workload.tokens = std::atoll(argv[2]);
    const reckon::Ledger ledger = reckon::count(model, workload);
    std::cout << model.name << ": " << reckon::count_parameters(model) << " parameters, " << ledger.forward.matmul
              << " matmul FLOPs for " << ledger.workload.tokens << " tokens\n";
  } catch (const reckon::Error& error) {
    std::cerr << "count_model: " << error.what() << "\n";
    return 1;
  }
}
