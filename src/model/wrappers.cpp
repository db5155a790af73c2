// Models of text and images, sound or video whose language model is read, of those that were met in public files.
#include <algorithm>

#include "model/types.h"

namespace reckon {

const std::vector<Wrapper>& wrappers() {
  static const std::vector<Wrapper> all{
      {"aria", {"aria_text"}},
      {"aya_vision", {"cohere", "cohere2"}},
      {"cohere2_vision", {"cohere2"}},
      {"cohere_compass", {"cohere_compass_text"}},
      {"deepseek_vl", {"llama"}},
      {"deepseek_vl_hybrid", {"llama"}},
      {"exaone4_5", {"exaone4_5_text"}},
      {"fast_vlm", {"qwen2"}},
      {"fuyu", {"persimmon"}},
      {"gemma3", {"gemma3_text"}},
      {"gemma3n", {"gemma3n_text"}},
      {"gemma4", {"gemma4_text"}},
      {"gemma4_unified", {"gemma4_unified_text"}},
      {"glm4v", {"glm4v_text"}},
      {"glm4v_moe", {"glm4v_moe_text"}},
      {"glmasr", {"llama"}},
      {"got_ocr2", {"qwen2"}},
      {"granite_speech", {"granite"}},
      {"idefics3", {"llama"}},
      {"inkling_mm_model", {"inkling_text"}},
      {"instructblip", {"llama"}},
      {"internvl", {"qwen2"}},
      {"janus", {"llama"}},
      {"kimi_k25", {"deepseek_v3", "kimi_k2"}},
      {"lfm2_vl", {"lfm2"}},
      {"llama4", {"llama4_text"}},
      {"llava", {"llama", "mistral"}},
      {"llava_next_video", {"llama", "mistral"}},
      {"llava_onevision", {"qwen2"}},
      {"minicpmv4_6", {"qwen3_5_text"}},
      {"minimax_m3_vl", {"minimax_m3_vl_text"}},
      {"mistral3", {"ministral3", "mistral", "mistral4", "qwen3"}},
      {"multi_modality", {"llama"}},
      {"ovis", {"qwen2"}},
      {"ovis2", {"qwen2"}},
      {"qwen2_audio", {"qwen2"}},
      {"qwen3_5", {"qwen3_5_text"}},
      {"qwen3_5_moe", {"qwen3_5_moe_text"}},
      {"qwen3_vl", {"qwen3_vl_text"}},
      {"qwen3_vl_moe", {"qwen3_vl_moe_text"}},
      {"smolvlm", {"llama"}},
      {"step3p7", {"step3p5"}},
      {"video_llama_3", {"qwen2"}},
      {"video_llava", {"llama"}},
      {"vlm", {"hyperclovax", "llama"}},
  };
  return all;
}

const Wrapper* find_wrapper(std::string_view type) {
  const auto found =
      std::find_if(wrappers().begin(), wrappers().end(), [&](const Wrapper& one) { return one.type == type; });
  return found == wrappers().end() ? nullptr : &*found;
}

}  // namespace reckon
