// The config.json of the package mamba_ssm, whose models are Mamba's and Mamba-2's networks under names of its own, and
// without a model_type.
#include <fmt/format.h>

#include "model/families.h"

namespace reckon {

namespace {

using Json = nlohmann::json;

// What transformers calls the same, with the package's defaults.
Json in_transformers_words(Fields& config) {
  static const Json nothing = Json::object();
  const std::optional<Fields> found = config.object("ssm_cfg");
  Fields mixer = found ? *found : Fields(nothing, config.where(), "ssm_cfg.");
  const std::string layer = mixer.word("layer", "Mamba1");
  if (layer != "Mamba1" && layer != "Mamba2") mixer.fail("layer", "Mamba1 or Mamba2");
  const bool second = layer == "Mamba2";
  const std::int64_t width = config.size("d_model"), rows = config.size("pad_vocab_size_multiple", 8);
  const std::int64_t expand = mixer.size("expand", 2);
  Json plain = {{"model_type", second ? "mamba2" : "mamba"},
                {"hidden_size", width},
                {"num_hidden_layers", config.size_up_to("n_layer", most_layers)},
                {"vocab_size", (config.size("vocab_size") + rows - 1) / rows * rows},
                {"tie_word_embeddings", config.flag("tie_embeddings", true)},
                {"state_size", mixer.size("d_state", second ? 128 : 16)},
                {"conv_kernel", mixer.size("d_conv", 4)},
                {"expand", expand},
                {"use_conv_bias", mixer.flag("conv_bias", true)},
                {"use_bias", mixer.flag("bias", false)}};
  if (second) {
    const std::int64_t head = mixer.size("headdim", 64);
    if (expand * width % head != 0) mixer.fail("headdim", fmt::format("a divisor of {}", expand * width));
    plain["head_dim"] = head;
    plain["num_heads"] = expand * width / head;
    plain["n_groups"] = mixer.size("ngroups", 1);
    mixer.expect_on("rmsnorm", "true");
    mixer.expect_off("norm_before_gate", "false: the norm follows the gate");
  } else if (const Json* rank = mixer.value("dt_rank")) {
    plain["time_step_rank"] = *rank;
  }
  config.expect_on("rms_norm", "true: its norms are RMS norms");
  config.expect_off("d_intermediate", "0: no feed-forwards between its layers");
  config.expect_off("attn_layer_idx", "empty: no layers of attention");
  config.expect_off("attn_cfg", "empty: no layers of attention");
  config.ignore({"residual_in_fp32", "fused_add_norm"});  // how it is computed
  mixer.refuse_unread("mamba_ssm");
  return plain;
}

}  // namespace

Model read_state_spaces(Fields& config) {
  const Json plain = in_transformers_words(config);
  const Family* family = find_family(plain["model_type"].get<std::string>());
  Fields newer(plain, config.where());
  Model model = family->read(newer);
  model.family = family->type;
  return model;
}

}  // namespace reckon
