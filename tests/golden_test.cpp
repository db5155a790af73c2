// FLOPs against tests/data: what PyTorch's FlopCounterMode counts. (Parameters: parameters_test.cpp.)
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "paths.h"

namespace reckon {
namespace {

nlohmann::json golden(const std::string& name) {
  return nlohmann::json::parse(std::ifstream(project_folder() + "/tests/data/" + name));
}

TEST(Golden, ForwardAndBackwardFlopsAreThoseThatPyTorchCounts) {
  const nlohmann::json all = golden("flops.json");
  EXPECT_EQ(all.size(), 9u);
  for (const auto& [name, entry] : all.items()) {
    const Model model = load_model(entry["model"]);
    Workload workload = workload_of(Phase::train);
    workload.batch = entry["batch"];
    workload.tokens = entry["tokens"];
    const Ledger training = count(model, workload);
    EXPECT_EQ(training.forward.matmul, entry["forward"].get<std::int64_t>()) << name;
    EXPECT_EQ(training.backward.matmul, entry["backward"].get<std::int64_t>()) << name;
    workload.phase = Phase::forward;
    EXPECT_EQ(count(model, workload).forward.matmul, entry["forward"].get<std::int64_t>()) << name;
  }
}

TEST(Golden, TinyModelsHoldAsManyParametersAsTheirFiles) {
  for (const char* name : {"gpt2", "gpt_neox", "llama-gqa", "llama3-rope", "qwen2", "gemma2", "mixtral", "phi3"}) {
    const std::string folder = std::string(project_folder() + "/tests/data/tiny/") + name;
    const auto io = nlohmann::json::parse(std::ifstream(folder + "/io.json"));
    EXPECT_EQ(count_parameters(load_model(folder)), io["params"].get<std::int64_t>()) << name;
  }
}

}  // namespace
}  // namespace reckon
