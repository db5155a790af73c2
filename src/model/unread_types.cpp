// Types that are known and not read, and why. Names with spaces between them are those of transformers.
#include <map>

#include "model/types.h"

namespace reckon {
namespace {

// Of texts.
constexpr std::string_view encoders =
    "albert bert bert-generation big_bird bros camembert canine convbert data2vec-text deberta deberta-v2 distilbert "
    "dpr electra ernie ernie_m esm eurobert flaubert fnet funnel ibert jina_embeddings_v3 layoutlm layoutlmv2 "
    "layoutlmv3 lilt longformer luke lxmert markuplm megatron-bert mobilebert modernbert modernvbert mpnet mra nezha "
    "nomic_bert nystromformer perceiver qdqbert realm rembert retribert roberta roberta-prelayernorm roc_bert "
    "roformer splinter squeezebert tapas vilt visual_bert xlm xlm-roberta xlm-roberta-xl xmod yoso";

// Decoders that attend to what an encoder made.
constexpr std::string_view with_encoders =
    "bart bigbird_pegasus blenderbot blenderbot-small dia encoder-decoder fsmt led longt5 m2m_100 marian mbart "
    "moonshine moonshine_streaming mt5 musicgen musicgen_melody mvp nllb-moe nougat pegasus pegasus_x pix2struct "
    "plbart pop2piano prophetnet seamless_m4t seamless_m4t_v2 speech-encoder-decoder speech_to_text speecht5 "
    "switch_transformers t5 t5gemma t5gemma2 trocr udop umt5 vision-encoder-decoder whisper xlm-prophetnet";

// Of pictures, sound and video, and those that compare them with texts.
constexpr std::string_view of_other_things =
    "align altclip audio-spectrogram-transformer beit bit bridgetower chinese_clip clap clip clip_text_model clipseg "
    "clvp convnext convnextv2 cvt dac data2vec-audio data2vec-vision deformable_detr deit depth_anything depth_pro "
    "detr dinat dinov2 dinov2_with_registers dinov3_vit efficientnet encodec flava focalnet glpn groupvit hiera "
    "hubert ijepa levit mask2former maskformer mimi mobilenet_v1 mobilenet_v2 mobilevit mobilevitv2 oneformer owlv2 "
    "owlvit poolformer pvt pvt_v2 regnet resnet rt_detr rt_detr_v2 sam sam2 sam2_video sam3 sam_hq segformer siglip "
    "siglip2 siglip2_text_model siglip_text_model swin swin2sr swinv2 table-transformer timesformer unispeech "
    "unispeech-sat upernet videomae vision-text-dual-encoder vit vit_mae vit_msn vitdet vitmatte vitpose vivit "
    "wav2vec2 wav2vec2-bert wav2vec2-conformer wavlm xclip yolos zoedepth";

bool stands_in(std::string_view words, std::string_view type) {
  for (std::size_t at = words.find(type); at != std::string_view::npos; at = words.find(type, at + 1)) {
    const std::size_t end = at + type.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return !type.empty();
  }
  return false;
}

}  // namespace

std::string_view why_not_read(std::string_view type) {
  static const std::map<std::string_view, std::string_view> words{
      {"bitnet", "its weights have three values, and norms stand inside its sublayers"},
      {"blt", "it reads bytes, in patches that a model of their own cuts"},
      {"chatglm",
       "it has GLM's network, with fields and tensors of its maker's own; files that transformers has converted are "
       "read, as glm"},
      {"cpmant", "its prompt attends in both directions, with learned biases by distance"},
      {"ctrl", "its positions are sines beside cosines, added to the embedding"},
      {"hrm_text", "two stacks of layers run in cycles, one inside the other"},
      {"mllama", "layers of its language model attend to what its vision model made of a picture"},
      {"mllama_text_model", "some of its layers attend to what a vision model made of a picture"},
      {"modernbert-decoder", "a dense layer and a norm stand between its last layer and the vocabulary"},
      {"moshi", "each step is text and sound at once, whose codes a second decoder makes one by one"},
      {"qwen2_5_omni",
       "its language model is nested as thinker_config.text_config, and a second one speaks its states"},
      {"qwen3_omni_moe",
       "its language model is nested as thinker_config.text_config, and a second one speaks its states"},
      {"reformer", "its attention is to tokens of the same hash, and its layers are reversible"},
      {"xlnet", "it predicts tokens in permuted orders, by two streams of attention"},
      {"xlstm", "its layers are matrix memories with exponential gates"},
  };
  if (const auto found = words.find(type); found != words.end()) return found->second;
  if (type.starts_with("rwkv")) return "its layers mix by a recurrence of their own form, without attention";
  if (stands_in(encoders, type)) return "it is an encoder, which attends in both directions and predicts no next token";
  if (stands_in(with_encoders, type)) return "its decoder attends to what an encoder made of something else";
  if (stands_in(of_other_things, type))
    return "it makes codes of pictures, sound or whole texts, and predicts no next token";
  for (const std::string_view drafter : {"_assistant", "eagle", "medusa", "speculator", "dflash", "dspark", "_mtp"})
    if (type.find(drafter) != std::string_view::npos)
      return "it drafts tokens from the states of another model, and is none by itself";
  return {};
}

}  // namespace reckon
