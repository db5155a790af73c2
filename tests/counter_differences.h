// What PyTorch's counter finds in transformers' model code that reckon's headline does not have, or has otherwise, of a
// forward and a backward pass: in FLOPs, exactly. docs/families.md lists the same, "Where transformers counts
// otherwise".
#pragma once

#include <reckon/model.h>

#include <algorithm>
#include <cstdint>

#include "model/sublayers.h"

namespace reckon::counter_differences {

struct Passes {
  std::int64_t forward = 0, backward = 0;
  Passes& operator+=(const Passes& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
};

// A product of a forward pass has two in the backward pass.
inline Passes with_gradients(std::int64_t forward) { return {forward, 2 * forward}; }

// transformers runs every expert of Llama 4 on every token; those that were not chosen read zeros.
inline Passes idle_experts(const Model& model, std::int64_t tokens) {
  std::int64_t sum = 0;
  for_each<Mixture>(model.layers, [&](const Mixture& m) {
    if (m.weigh_inputs) sum += (m.n_experts - m.n_active) * tokens * 6 * model.d_model * m.expert.d_ff;
  });
  return with_gradients(sum);
}

// transformers pads a short convolution on both sides, and leaves out the w − 1 results behind the text. Its gradients
// are as long; that of the weights counts as if each channel were convolved with every other.
inline Passes short_convolutions(const Model& model, std::int64_t batch, std::int64_t tokens) {
  Passes sum;
  const auto add = [&](std::int64_t width, std::int64_t channels) {
    if (width == 0) return;
    const std::int64_t theirs = 2 * batch * (tokens + width - 1) * width * channels;
    const std::int64_t ours = 2 * batch * tokens * width * channels;
    sum += {theirs - ours, theirs * (1 + channels) - 2 * ours};
  };
  for (const Layer& layer : model.layers) {
    for_each<Recurrence>(layer, [&](const Recurrence& r) {
      const bool keys_too = r.rule == Recurrence::Rule::mamba2 || r.rule == Recurrence::Rule::delta;
      add(r.conv_width, r.n_heads * r.d_head + (keys_too ? 2 * r.n_groups * r.d_state : 0));
    });
    for_each<Attention>(layer, [&](const Attention& a) { add(a.conv_width, a.n_kv_heads * (a.d_head + a.d_value)); });
    for_each<Sublayer>(layer, [&](const Sublayer& s) { add(s.conv_width, model.d_model); });
  }
  return sum;
}

// What transformers does with a state, in place of our 4 (delta rule: 6) FLOPs an element and token, backward 10 (16).
// Of its products with a state, the first has none to give a gradient to, and the last state is read by nobody.
inline Passes states(const Model& model, std::int64_t batch, std::int64_t tokens, std::int64_t lightning_block) {
  using Rule = Recurrence::Rule;
  Passes sum;
  for_each<Recurrence>(model.layers, [&](const Recurrence& r) {
    const std::int64_t state = batch * r.n_heads * r.d_head * r.d_state, heads = batch * r.n_heads;
    switch (r.rule) {
      case Rule::mamba:  // Sᵀ·q is a product; all else is products of elements, which are not counted
        sum += {(2 - 4) * state * tokens, (4 - 10) * state * tokens};
        break;
      case Rule::mamba2:  // all is products of elements
        sum += {-4 * state * tokens, -10 * state * tokens};
        break;
      case Rule::delta: {
        // Chunks of c = 64 tokens, the last one padded: β·k·kᵀ, q·kᵀ and what is mixed by it are products of c × c,
        // three are with the state. Values and keys are solved for, which is not counted; the gradient of the triangle
        // is. With decays for each channel (Kimi) both of k·kᵀ and q·kᵀ are products of elements, and values and keys
        // products with the triangle's inverse. Both are read off the counts, of texts of up to four chunks.
        const std::int64_t c = 64, chunks = (tokens + c - 1) / c;
        const std::int64_t square = c * c * (r.channel_decay ? r.d_state + 2 * r.d_head : 2 * r.d_state + r.d_head);
        sum += with_gradients(chunks * 2 * (heads * square + 3 * c * state));
        sum += {0, -2 * 2 * c * state - 2 * 2 * c * state};
        if (!r.channel_decay) sum += {0, chunks * 2 * heads * c * c * (r.d_state + r.d_head)};
        sum += {-6 * state * tokens, -16 * state * tokens};
        break;
      }
      case Rule::lightning: {  // blocks of c tokens: q·kᵀ and what it mixes, q·S, and what a block adds to S
        std::int64_t squares = 0, last = 0;
        for (std::int64_t at = 0; at < tokens; at += last) {
          last = std::min(lightning_block, tokens - at);
          squares += last * last;
        }
        const std::int64_t first = std::min(lightning_block, tokens);
        sum += with_gradients(2 * heads * 2 * r.d_head * squares + 4 * state * tokens);
        sum += {0, -2 * first * state - 4 * last * state};
        sum += {-4 * state * tokens, -10 * state * tokens};
        break;
      }
      case Rule::rg_lru:  // products of elements, here too
      case Rule::convolution:
        break;
    }
  });
  return sum;
}

// transformers lets Zaya's convolution of channels run over the tokens before the text that the one of heads reads, and
// makes the delayed values of a token of zeros. (Its convolutions are not trained here.)
inline Passes before_the_text(const Model& model, std::int64_t batch) {
  std::int64_t sum = 0;
  for_each<Attention>(model.layers, [&](const Attention& a) {
    if (!a.convolved) return;
    const std::int64_t channels = (a.n_heads + a.n_kv_heads) * a.d_head;
    sum += 2 * batch * (a.convolved->head_width - 1) * channels * a.convolved->channel_width;
    sum += 2 * batch * model.d_model * (a.n_kv_heads * a.d_value / 2);
  });
  return {sum, 0};
}

// transformers attends to all keys, with a mask, and its indexers score all of them; the sum over an indexer's heads is
// a product. Here a query attends to what is chosen, and what may not be seen is not scored. A choice has no gradient;
// that of what was mixed takes the chosen scores again.
inline Passes unchosen_keys(const Model& model, std::int64_t batch, std::int64_t tokens) {
  Passes sum;
  for_each<Attention>(model.layers, [&](const Attention& a) {
    if (!a.indexer || a.shared_key) return;
    const Indexer& i = *a.indexer;
    const std::int64_t all = tokens * tokens, seen = tokens * (tokens + 1) / 2;
    std::int64_t chosen = 0;
    for (std::int64_t p = 0; p < tokens; ++p)
      chosen += (std::min(i.top, p / i.block + 1) - 1) * i.block + p % i.block + 1;
    sum += with_gradients(2 * batch * a.n_heads * (a.d_head + a.d_value) * (all - chosen));
    sum += {0, -2 * batch * a.n_heads * a.d_head * chosen};
    if (i.from == 0) sum += {2 * batch * i.n_heads * (i.d_head * (all - seen) + (i.summed ? all : 0)), 0};
  });
  return sum;
}

// transformers attends to all keys and all entries, with a mask, and its indexers score all entries; here a query
// attends to its window and to the entries that it sees or that are chosen, and indexers score those that are seen.
// (Entries are not trained here.)
inline Passes unseen_entries(const Model& model, std::int64_t batch, std::int64_t tokens) {
  std::int64_t sum = 0;
  for_each<Attention>(model.layers, [&](const Attention& a) {
    if (!a.shared_key) return;
    const std::int64_t rate = a.shared_key->rate, entries = rate > 0 ? tokens / rate : 0;
    std::int64_t pairs = 0, seen = 0;
    for (std::int64_t p = 0; p < tokens; ++p) {
      const std::int64_t here = rate > 0 ? (p + 1) / rate : 0;
      pairs += std::min(p + 1, a.window) + (a.indexer ? std::min(a.indexer->top, here) : here);
      seen += here;
    }
    sum += 4 * batch * a.n_heads * a.d_head * (tokens * (tokens + entries) - pairs);
    if (a.indexer) sum += 2 * batch * a.indexer->n_heads * a.indexer->d_head * (tokens * entries - seen);
  });
  return {sum, 0};
}

// transformers computes the scores of differential attention twice, once for each half of the values.
inline Passes second_scores(const Model& model, std::int64_t batch, std::int64_t tokens) {
  std::int64_t sum = 0;
  for_each<Attention>(model.layers, [&](const Attention& a) {
    if (a.difference) sum += 2 * batch * a.n_heads * tokens * tokens * a.d_head;
  });
  return with_gradients(sum);
}

inline Passes all(const Model& model, std::int64_t batch, std::int64_t tokens, std::int64_t lightning_block) {
  Passes sum = idle_experts(model, batch * tokens);
  sum += short_convolutions(model, batch, tokens);
  sum += states(model, batch, tokens, lightning_block);
  sum += before_the_text(model, batch);
  sum += unchosen_keys(model, batch, tokens);
  sum += unseen_entries(model, batch, tokens);
  sum += second_scores(model, batch, tokens);
  return sum;
}

}  // namespace reckon::counter_differences
