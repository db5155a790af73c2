// Launch arguments for other engines: every flag and key is in that engine's own list (tests/data/engines, from its
// public source), and what an engine cannot do is said.
#include <gtest/gtest.h>
#include <reckon/error.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

#include "engines/engine.h"
#include "files/read_text.h"
#include "model/load.h"
#include "model/modify.h"
#include "model/presets.h"
#include "network/parameter_types.h"
#include "paths.h"

namespace reckon {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

// The names of a file of tests/data/engines, after its comment.
Names names_of(const std::string& file) {
  std::ifstream stream(fs::path(project_folder()) / "tests/data/engines" / (file + ".txt"));
  Names names;
  for (std::string line; std::getline(stream, line);)
    if (!line.starts_with("#")) names.insert(line);
  EXPECT_FALSE(names.empty()) << file;
  return names;
}

struct Lists {
  Names megatron = names_of("megatron"), torchrun = names_of("torchrun"), torchtitan = names_of("torchtitan"),
        deepspeed = names_of("deepspeed"), transformers = names_of("transformers"), vllm = names_of("vllm");
};

void expect_in(const Names& names, const std::string& name, const std::string& text) {
  EXPECT_TRUE(names.count(name)) << name << " is not in the engine's list:\n" << text;
}

// The flags of a shell command, each looked up; from the word `script` on in another list.
void check_command(const std::string& text, const Names& names, const std::string& script = "",
                   const Names& script_names = {}) {
  std::istringstream words(text);
  const Names* list = &names;
  for (std::string word; words >> word;) {
    if (word == script) list = &script_names;
    if (word.starts_with("--")) expect_in(*list, word, text);
  }
}

void check_keys(const nlohmann::json& json, const std::string& path, const Names& names, const std::string& text) {
  for (const auto& [key, value] : json.items()) {
    expect_in(names, path + key, text);
    if (value.is_object()) check_keys(value, path + key + ".", names, text);
  }
}

void check_toml(const std::string& text, const Lists& lists) {
  std::istringstream lines(text);
  std::string section;
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#   ")) {
      std::istringstream words(line);
      for (std::string word; words >> word;) {
        if (!word.starts_with("--")) continue;
        if (word.find('.') != std::string::npos)
          expect_in(lists.torchtitan, word.substr(2), text);
        else
          expect_in(lists.torchrun, word, text);
      }
    } else if (std::regex_match(line, match, std::regex(R"(\[([a-z_]+)\])"))) {
      section = match[1];
    } else if (std::regex_search(line, match, std::regex(R"(^([a-z0-9_]+) = )"))) {
      expect_in(lists.torchtitan, section + "." + match[1].str(), text);
    }
  }
}

void check_text(Launcher engine, const std::string& text, const Lists& lists) {
  switch (engine) {
    case Launcher::megatron:
      check_command(text, lists.torchrun, "pretrain_gpt.py", lists.megatron);
      break;
    case Launcher::torchtitan:
      check_toml(text, lists);
      break;
    case Launcher::vllm:
      check_command(text, lists.vllm);
      break;
    case Launcher::deepspeed: {
      const std::size_t from = text.find("<<'END'\n") + 8, to = text.find("\nEND\n");
      check_keys(nlohmann::json::parse(text.substr(from, to - from)), "", lists.deepspeed, text);
      check_command(text.substr(to), lists.deepspeed, "run_clm.py", lists.transformers);
    }
  }
}

Workload training(const Layout& layout, std::int64_t tokens = 8192) {
  Workload workload = workload_of(Phase::train);
  workload.tokens = tokens;
  workload.precision = {DType::bfloat16, DType::bfloat16, DType::bfloat16,
                        DType::float32,  DType::float32,  DType::float32};
  workload.layout = layout;
  return workload;
}

std::string why(Launcher engine, const char* model, const Workload& workload) {
  const Model read = find_preset(model);
  return refusal(engine, {read, workload, 1, 8});
}

bool has(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  return at != std::string::npos &&
         (at + part.size() == text.size() || text[at + part.size()] == ' ' || text[at + part.size()] == '\n');
}

TEST(Engines, take_every_flag_that_an_export_has) {
  const Lists lists;
  std::map<Launcher, int> texts;
  for (const Preset& preset : presets()) {
    const Model model = find_preset(std::string(preset.name));
    std::vector<Layout> layouts;
    for (std::int64_t tensor : {1, 8})
      for (bool sequence : {false, true})
        for (std::int64_t pipeline : {1, 2, 4, 16})
          for (std::int64_t virtual_stages : {1, 2, 8})
            for (std::int64_t zero : {0, 1, 2, 3})
              for (std::int64_t expert : {1, 8})
                for (std::int64_t context : {1, 2}) {
                  if ((sequence && tensor == 1) || (virtual_stages > 1 && pipeline == 1)) continue;
                  if (expert > 1 && find<Mixture>(model) == nullptr) continue;
                  layouts.push_back({.tensor = tensor,
                                     .sequence = sequence,
                                     .context = context,
                                     .pipeline = pipeline,
                                     .virtual_stages = virtual_stages,
                                     .expert = expert,
                                     .data = 8,
                                     .zero = zero,
                                     .micro_batches = 16});
                }
    for (const Layout& layout : layouts) {
      for (Recompute recompute : {Recompute::none, Recompute::selective, Recompute::block})
        for (Optimizer optimizer :
             {Optimizer::adamw, Optimizer::sgd, Optimizer::adafactor, Optimizer::muon, Optimizer::adam8bit}) {
          if (optimizer != Optimizer::adamw && recompute != Recompute::none) continue;
          Workload workload = training(layout);
          workload.recompute = recompute;
          workload.optimizer = optimizer;
          if (recompute == Recompute::block) workload.precision.gradients = DType::bfloat16;
          if (recompute == Recompute::selective || optimizer == Optimizer::adafactor)
            workload.precision.weights = workload.precision.activations = DType::float16;
          for (const Launcher engine : {Launcher::megatron, Launcher::torchtitan, Launcher::deepspeed}) {
            Job launch{model, workload, 16, 8};
            launch.materialised = recompute == Recompute::selective;
            if (!refusal(engine, launch).empty()) continue;
            // One in eleven, which no number of optimizers and of what is computed again divides: they are many.
            if (texts[engine]++ % 11 == 0) check_text(engine, launch_text(engine, launch), lists);
          }
        }
      Workload serving = workload_of(Phase::decode);
      serving.past = 8191;
      serving.tokens = 1;
      serving.precision = training(layout).precision;
      serving.layout = layout;
      const Job launch{model, serving, std::max<std::int64_t>(1, layout.tensor * layout.pipeline), 8, 64, 0.92};
      if (!refusal(Launcher::vllm, launch).empty()) continue;
      if (texts[Launcher::vllm]++ % 7 == 0) check_text(Launcher::vllm, launch_text(Launcher::vllm, launch), lists);
    }
    if (testing::Test::HasFailure()) return;
  }
  for (const EngineFacts& one : engines()) EXPECT_GT(texts[one.engine], 100) << one.name;
}

// What no preset may need: the names in the sources themselves.
TEST(Engines, take_every_flag_that_the_sources_name) {
  const Lists lists;
  const std::regex named(R"re((flag|key)\("([a-z0-9_.-]+)")re"), sectioned(R"re(section\("([a-z_]+)")re");
  int found = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(project_folder()) / "src/engines")) {
    const std::string file = entry.path().filename().string();
    std::vector<const Names*> allowed{&lists.torchrun};
    if (file.starts_with("megatron")) allowed.push_back(&lists.megatron);
    if (file.starts_with("vllm")) allowed.push_back(&lists.vllm);
    if (file.starts_with("deepspeed")) allowed.insert(allowed.end(), {&lists.deepspeed, &lists.transformers});
    std::ifstream stream(entry.path());
    std::string section;
    std::smatch match;
    for (std::string line; std::getline(stream, line);) {
      if (std::regex_search(line, match, sectioned)) section = match[1].str() + ".";
      if (!std::regex_search(line, match, named)) continue;
      ++found;
      const std::string name = match[2];
      bool known = name == "job.config_file" || lists.torchtitan.count(section + name);
      for (const Names* names : allowed) known = known || names->count("--" + name);
      EXPECT_TRUE(known) << file << ": " << line;
    }
  }
  EXPECT_GT(found, 120);
}

// Llama 3's own layout of 16,384 devices (arXiv 2407.21783, table 4: tensor 8, pipeline 16, data 128, 16 sequences of
// 8,192 tokens each) with a layer a virtual stage: (126 + 2)/16 = 8 layers a rank.
TEST(Engines, launch_llama_3_405b_as_it_was_trained) {
  const Model model = find_preset("llama-3.1-405b");
  const Workload workload = training({.tensor = 8,
                                      .sequence = true,
                                      .pipeline = 16,
                                      .virtual_stages = 8,
                                      .data = 128,
                                      .zero = 1,
                                      .micro_batches = 16});
  const std::string text = launch_text(Launcher::megatron, {model, workload, 2048, 8});
  EXPECT_TRUE(text.starts_with("# Megatron-LM core_v0.19.0: llama-3.1-405b,")) << text;
  for (const char* part : {"--nnodes 2048",
                           "--nproc_per_node 8",
                           "--num-layers 126",
                           "--hidden-size 16384",
                           "--ffn-hidden-size 53248",
                           "--num-attention-heads 128",
                           "--group-query-attention",
                           "--num-query-groups 8",
                           "--kv-channels 128",
                           "--normalization RMSNorm",
                           "--norm-epsilon 1e-05",
                           "--swiglu",
                           "--disable-bias-linear",
                           "--untie-embeddings-and-output-weights",
                           "--position-embedding-type rope",
                           "--rotary-base 500000",
                           "--use-rope-scaling",
                           "--attention-dropout 0",
                           "--hidden-dropout 0",
                           "--vocab-size 128256",
                           "--padded-vocab-size 128256",
                           "--seq-length 8192",
                           "--tensor-model-parallel-size 8",
                           "--sequence-parallel",
                           "--pipeline-model-parallel-size 16",
                           "--num-layers-per-virtual-pipeline-stage 1",
                           "--account-for-embedding-in-pipeline-split",
                           "--account-for-loss-in-pipeline-split",
                           "--context-parallel-size 1",
                           "--use-distributed-optimizer",
                           "--overlap-grad-reduce",
                           "--overlap-param-gather",
                           "--micro-batch-size 1",
                           "--global-batch-size 2048",
                           "--bf16",
                           "--optimizer adam"})
    EXPECT_TRUE(has(text, part)) << part << " is not in\n" << text;
  EXPECT_TRUE(has(text, "export CUDA_DEVICE_MAX_CONNECTIONS=1"));
  EXPECT_FALSE(has(text, "--grad-reduce-in-bf16"));

  Workload sharded = workload;
  sharded.layout.zero = 2;
  const std::string toml = launch_text(Launcher::torchtitan, {model, sharded, 2048, 8});
  EXPECT_TRUE(toml.starts_with("# torchtitan v0.2.2: llama-3.1-405b,")) << toml;
  for (const char* part :
       {"flavor = \"405B\"", "local_batch_size = 16", "global_batch_size = 2048", "seq_len = 8192",
        "data_parallel_replicate_degree = 1", "data_parallel_shard_degree = 128",
        "fsdp_reshard_after_forward = \"never\"", "tensor_parallel_degree = 8", "pipeline_parallel_degree = 16",
        "pipeline_parallel_schedule = \"Interleaved1F1B\"", "pipeline_parallel_layers_per_stage = 1",
        "pipeline_parallel_first_stage_less_layers = 1", "pipeline_parallel_last_stage_less_layers = 1",
        "pipeline_parallel_microbatch_size = 1", "mode = \"none\""})
    EXPECT_TRUE(has(toml, part)) << part << " is not in\n" << toml;
}

TEST(Engines, launch_mixtures_with_their_experts) {
  const Model model = find_preset("deepseek-v3");
  const std::string text =
      launch_text(Launcher::megatron,
                  {model, training({.tensor = 2, .sequence = true, .expert = 64, .data = 32, .zero = 1}), 8, 8});
  for (const char* part :
       {"--multi-latent-attention", "--q-lora-rank 1536", "--kv-lora-rank 512", "--qk-head-dim 128",
        "--qk-pos-emb-head-dim 64", "--v-head-dim 128", "--num-experts 256", "--moe-router-topk 8",
        "--moe-ffn-hidden-size 2048", "--moe-shared-expert-intermediate-size 2048", "--moe-layer-freq '([0]*3+[1]*58)'",
        "--moe-router-score-function sigmoid", "--moe-router-num-groups 8", "--moe-router-group-topk 4",
        "--moe-router-enable-expert-bias", "--moe-router-topk-scaling-factor 2.5", "--ffn-hidden-size 18432",
        "--expert-model-parallel-size 64"})
    EXPECT_TRUE(has(text, part)) << part << " is not in\n" << text;
}

TEST(Engines, write_what_deepspeed_reads) {
  const Model model = find_preset("llama-3.1-405b");
  Workload workload = training({.tensor = 8, .data = 2048, .zero = 3});
  workload.recompute = Recompute::block;
  const std::string text = launch_text(Launcher::deepspeed, {model, workload, 2048, 8});
  EXPECT_TRUE(text.starts_with("# DeepSpeed v0.19.5: llama-3.1-405b,")) << text;
  const std::size_t from = text.find("<<'END'\n") + 8;
  const nlohmann::json json = nlohmann::json::parse(text.substr(from, text.find("\nEND\n") - from));
  EXPECT_EQ(json.at("train_micro_batch_size_per_gpu"), 1);
  EXPECT_FALSE(json.contains("train_batch_size"));  // it would be checked against all ranks, tensor ranks too
  EXPECT_EQ(json.at("tensor_parallel").at("autotp_size"), 8);
  EXPECT_EQ(json.at("tensor_parallel").at("preset_model"), "llama");
  EXPECT_EQ(json.at("zero_optimization").at("stage"), 3);
  EXPECT_EQ(json.at("data_types").at("grad_accum_dtype"), "fp32");
  for (const char* part : {"--num_nodes 2048", "--num_gpus 8", "--block_size 8192", "--gradient_checkpointing",
                           "--bf16", "--per_device_train_batch_size 1"})
    EXPECT_TRUE(has(text, part)) << part << " is not in\n" << text;
}

TEST(Engines, have_notes_in_comments_behind_the_first_line) {
  const Model model = find_preset("llama-3.1-8b");
  for (const Launcher engine : {Launcher::megatron, Launcher::torchtitan, Launcher::deepspeed}) {
    Job launch{model, training({.data = 8, .zero = 3}), 1, 8};
    const std::string plain = launch_text(engine, launch);
    launch.notes = {"one", "two"};
    const std::size_t first = plain.find('\n') + 1;
    EXPECT_TRUE(plain.starts_with("# "));
    EXPECT_EQ(launch_text(engine, launch), plain.substr(0, first) + "# one\n# two\n" + plain.substr(first));
  }
}

TEST(Engines, serve_with_vllm) {
  const Model model = find_preset("llama-3.1-405b");
  Workload workload = workload_of(Phase::decode);
  workload.past = 131071;
  workload.tokens = 1;
  workload.precision = training({}).precision;
  workload.layout = {.tensor = 8, .pipeline = 16, .data = 128};
  const std::string text = launch_text(Launcher::vllm, {model, workload, 2048, 8, 256, 0.92});
  EXPECT_TRUE(text.starts_with("# vLLM v0.27.1: llama-3.1-405b,")) << text;
  for (const char* part : {"--dtype bfloat16", "--tensor-parallel-size 8", "--pipeline-parallel-size 16", "--nnodes 16",
                           "--max-model-len 131072", "--max-num-seqs 256", "--gpu-memory-utilization 0.92",
                           "--kv-cache-dtype auto", "--headless"})
    EXPECT_TRUE(has(text, part)) << part << " is not in\n" << text;
  EXPECT_FALSE(has(text, "--data-parallel-size 128"));  // replicas of a dense model are servers of their own
  workload.layout = {.tensor = 8};
  const std::string one = launch_text(Launcher::vllm, {model, workload, 1, 8, 256, 0.92});
  EXPECT_EQ(one.find("--nnodes"), std::string::npos) << one;
}

// The number behind a flag of a command; 0: it is not there.
std::int64_t value_of(const std::string& text, const std::string& flag) {
  const std::size_t at = text.find("--" + flag + " ");
  return at == std::string::npos ? 0 : std::stoll(text.substr(at + flag.size() + 3));
}

// vllm/engine/arg_utils.py of v0.27.1 wants world_size % nnodes == 0. 20 ranks on 3 of 5 nodes of 8 devices do not
// divide; on 4 devices of each of the 5 nodes they do, and a second server finds the other 4. 12 ranks are on 4 devices
// of each of 3 nodes, and 15 on none: 3 times 5 devices would leave 3 of 8 idle.
TEST(Engines, serve_with_vllm_on_nodes_with_as_many_ranks_each) {
  const Model model = find_preset("llama-3.1-70b");
  Workload workload = workload_of(Phase::decode);
  workload.past = 8191;
  workload.tokens = 1;
  workload.precision = training({}).precision;
  workload.layout = {.tensor = 4, .pipeline = 5, .data = 2};
  const std::string twenty = launch_text(Launcher::vllm, {model, workload, 5, 8, 64, 0.92});
  EXPECT_EQ(value_of(twenty, "nnodes"), 5) << twenty;
  EXPECT_NE(twenty.find("# 2 servers like this one, each on 4 devices of its own of each of 5 nodes, behind"),
            std::string::npos)
      << twenty;
  EXPECT_NE(twenty.find("CUDA_VISIBLE_DEVICES"), std::string::npos) << twenty;
  workload.layout = {.tensor = 4, .pipeline = 3, .data = 2};
  const std::string twelve = launch_text(Launcher::vllm, {model, workload, 3, 8, 64, 0.92});
  EXPECT_EQ(value_of(twelve, "nnodes"), 3) << twelve;
  workload.layout = {.tensor = 1, .pipeline = 5, .data = 8};
  const std::string five = launch_text(Launcher::vllm, {model, workload, 5, 8, 64, 0.92});
  EXPECT_EQ(value_of(five, "nnodes"), 5) << five;
  workload.layout = {.tensor = 5, .pipeline = 1, .data = 8};
  EXPECT_EQ(refusal(Launcher::vllm, {model, workload, 5, 8, 64, 0.92}),
            "vLLM v0.27.1 has as many ranks of a server on each of its nodes, and 8 servers of 5 ranks each do not fit "
            "5 nodes of 8 devices so");
}

// Over all splits of the devices: ranks divide by nodes, and no node has more of them than devices.
TEST(Engines, export_nodes_that_vllm_takes) {
  const Model model = find_preset("mixtral-8x7b");
  int written = 0;
  for (const std::int64_t nodes : {1, 2, 3, 4, 5, 8})
    for (const std::int64_t tensor : {1, 2, 3, 4, 5, 8, 16})
      for (const std::int64_t pipeline : {1, 2, 3, 4, 5, 8})
        for (const std::int64_t expert : {1, 2, 4, 8}) {
          const std::int64_t devices = nodes * 8, of_data = tensor * pipeline, ranks = of_data * expert;
          if (devices % ranks != 0 || (expert > 1 && tensor > 1)) continue;
          Workload workload = workload_of(Phase::decode);
          workload.past = 8191;
          workload.tokens = 1;
          workload.precision = training({}).precision;
          workload.layout = {.tensor = tensor, .pipeline = pipeline, .expert = expert, .data = devices / of_data};
          const Job job{model, workload, nodes, 8, 64, 0.92};
          if (!refusal(Launcher::vllm, job).empty()) continue;
          ++written;
          const std::string text = launch_text(Launcher::vllm, job);
          const std::int64_t spread = std::max<std::int64_t>(1, value_of(text, "nnodes"));
          ASSERT_EQ(ranks % spread, 0) << text;
          const std::int64_t here = ranks / spread;
          EXPECT_LE(here, 8) << text;
          EXPECT_TRUE(here % of_data == 0 || of_data % here == 0) << text;
          EXPECT_LE(spread, nodes) << text;
          EXPECT_LE(devices / ranks * spread, nodes * (8 / here)) << text;
        }
  EXPECT_GT(written, 40);
}

TEST(Engines, say_that_vllm_needs_a_checkpoint_of_the_type_that_was_planned) {
  const Model model = find_preset("llama-3-8b");
  Workload workload = workload_of(Phase::decode);
  workload.past = 8191;
  workload.tokens = 1;
  workload.precision = training({}).precision;
  const std::string wide = launch_text(Launcher::vllm, {model, workload, 1, 8, 256, 0.92});
  EXPECT_EQ(wide.find("quantised"), std::string::npos) << wide;
  workload.parameter_types = layer_matrices_as(model, DType::int4);
  const std::string four = launch_text(Launcher::vllm, {model, workload, 1, 8, 256, 0.92});
  EXPECT_TRUE(has(four, "MODEL must be a checkpoint that is quantised to int4; vLLM finds")) << four;
  EXPECT_TRUE(has(four, "(awq, gptq or compressed-tensors)")) << four;
  EXPECT_TRUE(has(four, "--dtype bfloat16")) << four;
  workload.parameter_types = layer_matrices_as(model, DType::nf4);
  EXPECT_TRUE(has(launch_text(Launcher::vllm, {model, workload, 1, 8, 256, 0.92}), "(bitsandbytes)"));
  workload.parameter_types = layer_matrices_as(model, DType::float8_e5m2);
  EXPECT_NE(refusal(Launcher::vllm, {model, workload, 1, 8, 256, 0.92}).find("no method for weights of"),
            std::string::npos);
}

std::string text_of(Launcher engine, const char* model, const Workload& workload) {
  const Model read = find_preset(model);
  return launch_text(engine, {read, workload, 1, 8});
}

nlohmann::json deepspeed_configuration(const Workload& workload) {
  const std::string text = text_of(Launcher::deepspeed, "gpt2", workload);
  const std::size_t from = text.find("<<'END'\n") + 8, to = text.find("\nEND\n");
  return nlohmann::json::parse(text.substr(from, to - from));
}

// deepspeed/runtime/engine.py of v0.19.5, _do_optimizer_sanity_check: without ZeRO the types of weights and gradients
// are the same, or "unsupported mix". ZeRO 1 of one data rank shares nothing out.
TEST(Engines, sum_gradients_in_float32_with_deepspeed_as_it_can) {
  Workload workload = training({}, 1024);
  for (const auto& [weights, mode, narrow] :
       {std::tuple{DType::bfloat16, "bf16", "bf16"}, std::tuple{DType::float16, "fp16", "fp16"}}) {
    workload.precision.weights = workload.precision.activations = weights;
    workload.precision.gradients = DType::float32;
    workload.layout = {};
    nlohmann::json one = deepspeed_configuration(workload);
    EXPECT_EQ(one.at(mode).at("enabled"), true);
    EXPECT_EQ(one.at("data_types").at("grad_accum_dtype"), "fp32");
    EXPECT_EQ(one.at("zero_optimization").at("stage"), 1);
    EXPECT_NE(text_of(Launcher::deepspeed, "gpt2", workload).find("# ZeRO 1 shares nothing out here"),
              std::string::npos);
    workload.layout = {.data = 8};
    EXPECT_NE(why(Launcher::deepspeed, "gpt2", workload).find("in float32 with ZeRO 1, 2 and 3 only"),
              std::string::npos);
    workload.layout = {.data = 8, .zero = 2};
    EXPECT_EQ(deepspeed_configuration(workload).at("data_types").at("grad_accum_dtype"), "fp32");
    EXPECT_EQ(deepspeed_configuration(workload).at("zero_optimization").at("stage"), 2);
    workload.precision.gradients = weights;
    workload.layout = {.data = 8};
    EXPECT_EQ(deepspeed_configuration(workload).at("data_types").at("grad_accum_dtype"), narrow);
    EXPECT_EQ(deepspeed_configuration(workload).at("zero_optimization").at("stage"), 0);
  }
  workload.precision.gradients = DType::bfloat16;  // of weights in float16
  EXPECT_NE(why(Launcher::deepspeed, "gpt2", workload).find("expected gradients float16 or float32"),
            std::string::npos);
}

// megatron/training/arguments.py of core_v0.19.0: --megatron-fsdp-main-grads-dtype is auto, the weights' type, and
// --accumulate-allreduce-grads-in-fp32 is set by itself with --bf16 alone.
TEST(Engines, sum_gradients_in_float32_with_megatron_where_it_was_planned) {
  const auto text = [](DType weights, DType gradients, std::int64_t zero) {
    Workload workload = training({.data = 8, .zero = zero});
    workload.precision.weights = workload.precision.activations = weights;
    workload.precision.gradients = gradients;
    return text_of(Launcher::megatron, "llama-3-8b", workload);
  };
  const char *const sharded = "--megatron-fsdp-main-grads-dtype fp32", *const plain =
                                                                           "--accumulate-allreduce-grads-in-fp32";
  for (const DType weights : {DType::bfloat16, DType::float16})
    for (const std::int64_t zero : {0, 1, 2, 3}) {
      EXPECT_EQ(has(text(weights, DType::float32, zero), sharded), zero >= 2) << zero;
      EXPECT_EQ(has(text(weights, DType::float32, zero), plain), weights == DType::float16 && zero < 2) << zero;
      EXPECT_FALSE(has(text(weights, weights, zero), sharded)) << zero;
      EXPECT_FALSE(has(text(weights, weights, zero), plain)) << zero;
    }
  Workload mixed = training({});
  mixed.precision.weights = mixed.precision.activations = DType::float16;
  mixed.precision.gradients = DType::bfloat16;
  EXPECT_NE(why(Launcher::megatron, "llama-3-8b", mixed).find("expected gradients float16 or float32"),
            std::string::npos);
}

TEST(Engines, launch_the_dropout_that_was_planned) {
  Workload workload = training({.data = 8, .zero = 2}, 1024);
  workload.dropout = 0.1;
  workload.attention_dropout = 0.2;
  const std::string megatron = text_of(Launcher::megatron, "gpt2", workload);
  EXPECT_TRUE(has(megatron, "--hidden-dropout 0.1")) << megatron;
  EXPECT_TRUE(has(megatron, "--attention-dropout 0.2")) << megatron;
  const std::string deepspeed = text_of(Launcher::deepspeed, "gpt2", workload);
  EXPECT_TRUE(has(deepspeed, "\n# planned with dropout 0.1, and 0.2 of attention's weights: as fields of"))
      << deepspeed;
  EXPECT_NE(why(Launcher::torchtitan, "llama-3.1-8b", workload).find("has no dropout"), std::string::npos);
}

// AttnBackend of megatron/core/transformer/enums.py: unfused writes scores out, and auto only where nothing else goes;
// Transformer Engine has it without context ranks. PreTrainedConfig (configuration_utils.py of Transformers) takes
// attn_implementation from config.json.
TEST(Engines, launch_the_attention_that_was_planned) {
  const Model model = find_preset("llama-3.1-8b");
  Job job{model, training({.data = 8, .zero = 2}), 1, 8};
  const std::string megatron = launch_text(Launcher::megatron, job), deepspeed = launch_text(Launcher::deepspeed, job);
  EXPECT_EQ(megatron.find("--attention-backend"), std::string::npos);
  EXPECT_EQ(deepspeed.find("attn_implementation"), std::string::npos);
  EXPECT_EQ(refusal(Launcher::torchtitan, job), "");
  job.materialised = true;
  EXPECT_TRUE(has(launch_text(Launcher::megatron, job), "--attention-backend unfused"));
  EXPECT_TRUE(has(launch_text(Launcher::deepspeed, job), "MODEL's config.json has \"attn_implementation\": \"eager\""));
  EXPECT_NE(refusal(Launcher::torchtitan, job).find("no key of torchtitan v0.2.2 asks for attention"),
            std::string::npos);
  job.workload.layout = {.context = 2, .data = 4, .zero = 1};
  EXPECT_NE(refusal(Launcher::megatron, job).find("no context ranks with attention that writes its scores out"),
            std::string::npos);
  job.workload = workload_of(Phase::decode);
  job.workload.past = 8191;
  job.workload.tokens = 1;
  job.workload.precision = training({}).precision;
  EXPECT_NE(refusal(Launcher::vllm, job).find("no attention that writes its scores out"), std::string::npos);
  job.materialised = false;
  EXPECT_EQ(refusal(Launcher::vllm, job), "");
}

TEST(Engines, name_no_model_where_another_one_was_made_of_it) {
  const Model model = find_preset("gpt2");
  Workload serving = workload_of(Phase::decode);
  serving.past = 1023;
  serving.tokens = 1;
  serving.precision = training({}).precision;
  for (const auto& [engine, workload] :
       {std::pair{Launcher::deepspeed, training({.data = 8, .zero = 2}, 1024)}, {Launcher::vllm, serving}}) {
    Job job{model, workload, 1, 8};
    EXPECT_TRUE(has(launch_text(engine, job), "\nMODEL=gpt2"));
    job.changes = R"({"n_layer":24})";
    const std::string text = launch_text(engine, job);
    EXPECT_FALSE(has(text, "\nMODEL=gpt2")) << text;
    EXPECT_NE(text.find("\n# not gpt2, but a model that was made of it: its config.json is that of gpt2 but for\n"
                        "# {\"n_layer\":24}\nMODEL=${MODEL:?a folder with its config.json"),
              std::string::npos)
        << text;
  }
}

// Its own networks have one form each (torchtitan/models/llama3/__init__.py: n_kv_heads=8, rope_theta=500000), but any
// length of a sequence.
TEST(Engines, take_a_network_for_torchtitans_only_where_it_is_the_same) {
  const auto refused = [](auto change) {
    Model model = find_preset("llama-3.1-8b");
    change(model);
    return refusal(Launcher::torchtitan, {model, training({.data = 8, .zero = 2}), 1, 8});
  };
  EXPECT_EQ(refused([](Model& model) { model.context = 65536; }), "");
  EXPECT_EQ(refused([](Model& model) { model.name = "./mine"; }), "");
  EXPECT_NE(refused([](Model& model) { model.head.tied = true; }).find("knows networks by name"), std::string::npos);
  EXPECT_NE(refused([](Model& model) {
              Changes changes;
              changes.kv_heads = 32;
              model = modify(model, changes);
            }).find("knows networks by name"),
            std::string::npos);
}

// What each engine's own checks and documents exclude, as read in its source.
TEST(Engines, refuse_layouts_that_they_cannot_do) {
  const auto llama = [](Launcher engine, const Layout& layout) {
    return why(engine, "llama-3.1-8b", training(layout));
  };
  const Layout both{.tensor = 2, .sequence = true, .pipeline = 4, .data = 2, .zero = 1, .micro_batches = 4};
  EXPECT_EQ(llama(Launcher::megatron, both), "");
  EXPECT_NE(llama(Launcher::torchtitan, both).find("no ZeRO 1"), std::string::npos);
  EXPECT_NE(llama(Launcher::deepspeed, both).find("no pipeline"), std::string::npos);
  EXPECT_EQ(llama(Launcher::deepspeed, {.tensor = 2, .data = 8, .zero = 3}), "");
  EXPECT_NE(llama(Launcher::deepspeed, {.tensor = 2, .sequence = true, .data = 8, .zero = 3}).find("sequence"),
            std::string::npos);
  EXPECT_NE(llama(Launcher::torchtitan, {.tensor = 2, .data = 8, .zero = 3}).find("sequence"), std::string::npos);
  EXPECT_NE(llama(Launcher::megatron, {.pipeline = 4, .data = 2, .zero = 3, .micro_batches = 4}).find("pipeline"),
            std::string::npos);
  EXPECT_EQ(llama(Launcher::megatron, {.data = 8, .zero = 3}), "");
  EXPECT_NE(llama(Launcher::megatron, {.pipeline = 5, .micro_batches = 8}).find("32 layers"), std::string::npos);
  EXPECT_NE(llama(Launcher::megatron, {.pipeline = 8, .virtual_stages = 2, .micro_batches = 4}).find("micro-batches"),
            std::string::npos);
  // schedules.py raises an error where 0 < 6 mod 4 < 4.
  EXPECT_NE(
      llama(Launcher::megatron, {.pipeline = 4, .virtual_stages = 2, .micro_batches = 6}).find("there are 6 and 4"),
      std::string::npos);
  EXPECT_EQ(llama(Launcher::megatron, {.pipeline = 4, .virtual_stages = 2, .micro_batches = 8}), "");
  EXPECT_EQ(llama(Launcher::megatron, {.pipeline = 4, .micro_batches = 6}), "");
  EXPECT_NE(llama(Launcher::vllm, {}).find("does not train"), std::string::npos);
  EXPECT_NE(why(Launcher::torchtitan, "gpt2", training({})).find("knows networks by name"), std::string::npos);
  EXPECT_NE(why(Launcher::torchtitan, "qwen3-8b", training({.pipeline = 2, .micro_batches = 2})).find("no pipeline"),
            std::string::npos);
  EXPECT_NE(why(Launcher::megatron, "gemma-2-9b", training({})).find("no argument"), std::string::npos);
  EXPECT_NE(why(Launcher::megatron, "bloom-560m", training({})).find("no argument"), std::string::npos);
  EXPECT_EQ(why(Launcher::megatron, "gpt2", training({}, 1024)), "");
  EXPECT_EQ(why(Launcher::megatron, "qwen3-30b-a3b", training({})), "");
  Workload selective = training({});
  selective.recompute = Recompute::selective;
  EXPECT_EQ(why(Launcher::megatron, "llama-3.1-8b", selective), "");
  EXPECT_NE(why(Launcher::torchtitan, "llama-3.1-8b", selective), "");
  EXPECT_NE(why(Launcher::deepspeed, "llama-3.1-8b", selective), "");
  const Model model = find_preset("llama-3.1-8b");
  EXPECT_THROW(launch_text(Launcher::torchtitan, {model, selective, 1, 8}), Error);
}

// What validate_args (megatron/training/arguments.py) and forward_backward_pipelining_with_interleaving
// (core/pipeline_parallel/schedules.py) ask of the values of flags, over all that is exported.
TEST(Engines, export_values_that_megatron_takes) {
  const Model model = find_preset("llama-3.1-8b");
  int written = 0, interleaved = 0;
  for (std::int64_t tensor : {1, 2, 8})
    for (std::int64_t context : {1, 2})
      for (std::int64_t pipeline : {1, 2, 4, 8})
        for (std::int64_t pieces : {1, 2, 4, 17})
          for (std::int64_t micro_batches : {1, 2, 3, 4, 6, 8, 12, 120})
            for (std::int64_t zero : {0, 1, 3}) {
              const Layout layout{.tensor = tensor,
                                  .sequence = tensor > 1,
                                  .context = context,
                                  .pipeline = pipeline,
                                  .virtual_stages = pieces,
                                  .data = 4,
                                  .zero = zero,
                                  .micro_batches = micro_batches};
              if (pieces > 1 && pipeline == 1) continue;
              const Job job{model, training(layout), tensor * context * pipeline * 4, 1};
              if (!refusal(Launcher::megatron, job).empty()) continue;
              ++written;
              const std::string text = launch_text(Launcher::megatron, job);
              const auto value = [&](const char* flag) { return value_of(text, flag); };
              const std::int64_t stages = value("pipeline-model-parallel-size");
              const std::int64_t ranks = value("tensor-model-parallel-size") * stages * value("context-parallel-size");
              ASSERT_EQ(value("nnodes") * value("nproc_per_node") % ranks, 0) << text;
              const std::int64_t data = value("nnodes") * value("nproc_per_node") / ranks;
              ASSERT_EQ(value("global-batch-size") % (value("micro-batch-size") * data), 0) << text;
              const std::int64_t rounds = value("global-batch-size") / (value("micro-batch-size") * data);
              const bool uneven = has(text, "--account-for-embedding-in-pipeline-split");
              const std::int64_t layers = value("num-layers") + (uneven ? 2 : 0);
              EXPECT_EQ(layers % stages, 0) << text;
              EXPECT_EQ(value("seq-length") % (2 * value("context-parallel-size")), 0) << text;
              if (has(text, "--use-megatron-fsdp")) {
                EXPECT_EQ(stages, 1) << text;
              }
              const std::int64_t of_piece = value("num-layers-per-virtual-pipeline-stage");
              if (of_piece == 0) continue;
              ++interleaved;
              EXPECT_GT(stages, 1) << text;
              EXPECT_EQ(layers / stages % of_piece, 0) << text;
              EXPECT_GE(rounds, stages) << text;
              EXPECT_EQ(rounds % stages, 0) << text;
            }
  EXPECT_GT(written, 300);
  EXPECT_GT(interleaved, 100);
}

TEST(Engines, are_found_by_name_and_suggested) {
  EXPECT_EQ(find_engine("Megatron"), Launcher::megatron);
  EXPECT_EQ(find_engine("vllm"), Launcher::vllm);
  try {
    find_engine("megatorn");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean megatron?"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace reckon
