// The logits that llama.cpp computes: llama_logits FILE.gguf ID… prints a line of numbers for each position. All in
// float32 but for the weights: what is kept of keys and values, too. Compiled by bench/llama-parity.
#include <ggml-backend.h>
#include <llama.h>

#include <cstdio>
#include <cstdlib>

int main(int count, char** arguments) {
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  ggml_backend_load_all();
  llama_backend_init();
  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = 0;
  llama_model* model = llama_model_load_from_file(arguments[1], model_params);
  if (model == nullptr) return 3;
  const int tokens = count - 2;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = params.n_batch = params.n_ubatch = 64;
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.n_threads = params.n_threads_batch = 1;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) return 3;
  llama_batch batch = llama_batch_init(tokens, 0, 1);
  batch.n_tokens = tokens;
  for (int i = 0; i < tokens; ++i) {
    batch.token[i] = std::atoi(arguments[i + 2]);
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  if (llama_decode(context, batch) != 0) return 4;
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  for (int i = 0; i < tokens; ++i) {
    const float* logits = llama_get_logits_ith(context, i);
    for (int j = 0; j < vocabulary; ++j) std::printf("%s%.9g", j == 0 ? "" : " ", static_cast<double>(logits[j]));
    std::printf("\n");
  }
  std::fflush(stdout);
  std::_Exit(0);  // the process ends: nothing is freed
}
