// What a network is: plain data with the field's own names, a list of sublayers per layer.
// Nothing here knows shapes of activations or costs; those are read from the program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace reckon {

struct Norm {
  enum class Kind { layer, rms };
  Kind kind = Kind::layer;
  double epsilon = 1e-5;
  bool weight = true;            // a learned factor per element
  bool bias = false;             // a learned shift per element
  bool weight_plus_one = false;  // Gemma: multiplies by 1 + w
  bool operator==(const Norm&) const = default;
};

// Rotary positions: the first `dims` elements of every head are rotated.
struct Rope {
  enum class Scaling { none, linear, dynamic, llama3, yarn, longrope };
  double theta = 10000.0;
  std::int64_t dims = 0;
  bool interleaved = false;      // pairs (0,1),(2,3)… instead of (0,n/2),(1,n/2+1)…
  bool backwards = false;        // turned the other way round (nanochat)
  std::int64_t turned = 0;       // of the pairs, the first so many turn and the others stay (Gemma 4); 0 = all
  std::int64_t evens_first = 0;  // the first so many frequencies stand even ones first, then odd ones (Cohere Compass)
  bool trailing = false;         // the last `dims` elements of a head are rotated, not the first (DeepSeek V4)
  Scaling scaling = Scaling::none;
  double factor = 1.0;
  double original_context = 0.0;                                   // the context that the scaling starts from
  double low_frequency_factor = 1.0, high_frequency_factor = 4.0;  // llama3
  double beta_fast = 32.0, beta_slow = 1.0;                        // yarn
  bool truncate = true;                                            // yarn: whole-numbered correction range
  double attention_factor = 0.0;                                   // yarn, longrope: 0 = derived from factor
  double mscale = 0.0, mscale_all_dim = 0.0;                       // yarn (DeepSeek)
  std::vector<double> short_factors, long_factors;                 // longrope, one per rotated pair
  double short_magnitude = 0.0, long_magnitude = 0.0;              // longrope (Phi MoE): attention_factor by the length
  bool operator==(const Rope&) const = default;
};

// Latent attention (DeepSeek V2): keys and values are rebuilt from one small latent per token.
struct Latent {
  std::int64_t query_rank = 0;  // 0: queries are projected directly
  std::int64_t kv_rank = 0;
  std::int64_t d_nope = 0;  // part of a head without position
  std::int64_t d_rope = 0;  // part of a head with rotary position; its key is shared by all heads
  bool down_bias = false;   // biases on the projections to the latents
  Norm norm;                // on each latent
  double kv_scale = 1.0;    // of the key-value latent, behind its norm (LongCat)
  // Queries, and the gate of what was mixed, are made of their latent behind its norm and before it, side by side
  // (A.X K2).
  bool raw_too = false;
  bool operator==(const Latent&) const = default;
};

// Queries are multiplied by 1 + beta·ln(1 + ⌊(position + offset) / length⌋), so that they stay sharp in long texts
// (Llama 4); or, smoothly, by 1 + beta·ln((position + offset) / length) from where that is above 1 (Inkling).
struct PositionScale {
  double beta = 0.0, length = 1.0;
  std::int64_t offset = 0;
  bool smooth = false;
  bool operator==(const PositionScale&) const = default;
};

// identity: a gate that multiplies as it is
enum class Activation { gelu, gelu_tanh, relu, relu_squared, silu, sigmoid, softplus, xielu, identity };

// What attention mixed is multiplied by activation(g·x), before the output projection: element by element, or each head
// by one number.
struct OutputGate {
  Activation activation = Activation::sigmoid;
  bool per_head = false;
  bool bias = false;
  bool operator==(const OutputGate&) const = default;
};

// Differential attention (Ye et al. 2024, arXiv 2410.05258): heads of queries and keys go in pairs, which share values
// of twice the width, and what the second mixed is subtracted λ times, λ = e^(a·b) − e^(c·d) + initial.
struct DifferentialHeads {
  double initial = 0.0;
  Norm norm;  // of each pair's result, which is then multiplied by 1 − initial
  bool operator==(const DifferentialHeads&) const = default;
};

// Each token chooses experts, each of which has a query for every key head, and projects what these mixed (JetMoE).
struct RoutedHeads {
  std::int64_t n_experts = 0, n_active = 0;  // a model has n_active · n_kv_heads query heads
  bool operator==(const RoutedHeads&) const = default;
};

// A number that a token's values make, e^(A·softplus(D·v)), is added to the scores of its key; a query sees the `keep`
// keys for which it is the largest (Doge).
struct DynamicMask {
  std::int64_t keep = 0;
  bool bias = false;
  bool operator==(const DynamicMask&) const = default;
};

// Each query adds to its scores a number for each distance below `extent`: of each head's `rank` numbers, which it
// makes, by profiles that all heads share (Inkling).
struct Relative {
  std::int64_t rank = 0, extent = 0;
  bool operator==(const Relative&) const = default;
};

// Chooses, by heads of its own, the keys that a query attends to (DeepSeek V3.2): by Σ over its heads of
// weight · ReLU(q·k), one choice for all query heads; or, of blocks of keys, by the largest q·k in each, one choice of
// each of its heads for as many key heads (MiniMax M3). It stays as it is in training.
struct Indexer {
  std::int64_t n_heads = 0;
  std::int64_t d_head = 0;
  std::int64_t top = 0;    // keys, or blocks of them, that a query sees
  std::int64_t block = 1;  // keys in a block
  std::int64_t local = 0;  // blocks, from a query's own backwards, that are chosen in any case
  bool summed = true;
  Norm key_norm;
  std::optional<Norm> query_norm;
  bool interleaved = false;  // its RoPE, which else is that of the attention
  std::int64_t from = 0;     // the choice is that of the layer so many before it; 0: its own
  bool operator==(const Indexer&) const = default;
};

// Each key of one head is its value too, and what was mixed of them is rotated back by the query's position. Queries
// are made by way of a latent, and what was mixed is projected in groups of heads (DeepSeek V4). Beside the keys in its
// window a query sees one entry for every `rate` tokens before it, or those of them that an indexer chooses: a softmax
// over their tokens, element by element, of gates weighs what each token gives.
struct SharedKey {
  std::int64_t query_rank = 0;
  std::int64_t output_groups = 1, output_rank = 0;  // of a group
  Norm norm;                                        // of the latent, of keys and of entries
  std::int64_t rate = 0;                            // tokens of an entry; 0: there are none
  bool overlaps = false;                            // an entry has so many tokens before these too, by other numbers
  bool operator==(const SharedKey&) const = default;
};

// Queries and keys go through a convolution of each channel over a few tokens, and then one of each head; the mean of a
// query and its key is added to both. Of the values, the second half is what the token before made (Zaya;
// arXiv 2510.04476).
struct ConvolvedHeads {
  std::int64_t channel_width = 0, head_width = 0;  // tokens
  bool operator==(const ConvolvedHeads&) const = default;
};

struct Attention {
  // What a query or key norm spans: each head with one shared weight, each head with a weight of its own,
  // or all heads together.
  enum class NormSpan { shared_head, own_head, all_heads };
  std::int64_t n_heads = 0;
  std::int64_t n_kv_heads = 0;
  std::int64_t d_head = 0;   // width of a query or key head
  std::int64_t d_value = 0;  // width of a value head
  bool query_bias = false, key_bias = false, value_bias = false, output_bias = false;
  std::optional<Norm> query_key_norm;
  NormSpan norm_span = NormSpan::shared_head;
  bool norm_after_rope = false;    // queries and keys are rotated before their norm (Hunyuan)
  double clip = 0.0;               // queries, keys and values are clamped to ±clip (OLMo); 0 = not
  double value_scale = 1.0;        // multiplies the values (MiMo)
  std::optional<Norm> value_norm;  // of each head (Gemma 3n)
  bool values_from_keys = false;   // values are the keys as they are projected, before their norm (Gemma 4)
  std::int64_t kv_from = 0;        // keys and values are those of the layer this many before it (Gemma 3n); 0: its own
  std::optional<DifferentialHeads> difference;
  std::optional<RoutedHeads> routed;
  std::optional<DynamicMask> dynamic_mask;
  std::optional<Latent> latent;
  std::optional<SharedKey> shared_key;
  std::optional<ConvolvedHeads> convolved;
  bool key_scale = false;  // a learned number of each key head multiplies it behind its norm (Zaya)
  std::optional<Rope> rope;
  std::optional<PositionScale> position_scale;
  std::optional<OutputGate> gate;
  bool alibi = false;
  double alibi_scale = 1.0;  // multiplies ALiBi's slopes (Falcon: the scale of the scores)
  std::int64_t window = 0;   // keys that a query sees, itself included; 0 = all before it
  bool chunked = false;      // windows begin at multiples of their size, and end with the query (Llama 4)
  double scale = 0.0;        // multiplies the scores
  double softcap = 0.0;      // c·tanh(score / c); 0 = none
  bool sinks = false;        // a learned score per head that takes its share of the softmax
  std::optional<Indexer> indexer;
  std::optional<Relative> relative;
  std::int64_t conv_width = 0;    // keys and values have a short convolution of them added; 0: none (Inkling)
  std::int64_t adapter_rank = 0;  // queries, keys and values have adapters of the layer's own; 0: none (Zamba 2)
  bool operator==(const Attention&) const = default;
};

// Attention to the output of an encoder of the same width.
struct CrossAttention {
  std::int64_t n_heads = 0;
  std::int64_t d_head = 0;
  bool bias = false;
  double scale = 0.0;
  bool operator==(const CrossAttention&) const = default;
};

struct FeedForward {
  std::int64_t d_ff = 0;
  Activation activation = Activation::gelu;
  bool gated = false;  // activation(gate) · up
  bool bias = false;
  double gate_scale = 1.0;  // multiplies the gate before its activation (Falcon-H1)
  // Before its activation, the gate is max(g − m, 0), where m is what so large a share of normal numbers with the
  // row's mean and deviation would stay below (Gemma 3n); 0 = not
  double sparsity = 0.0;
  // gpt-oss: gate and up are clamped to this limit and the gate is g·σ(1.702 g), times (up + 1); 0 = no clamp
  double clamp = 0.0;
  bool scaled = false;            // what it makes is multiplied by a learned number (Inkling)
  double limit = 0.0;             // the gate stays below it and up within ±limit, before the activation; 0 = not
  double clip = 0.0;              // what the gate's activation makes, and up, are clamped to ±clip (Step 3.5); 0 = not
  std::int64_t adapter_rank = 0;  // gate and up have adapters of the layer's own; 0: none (Zamba 2)
  bool operator==(const FeedForward&) const = default;
};

// A mixture of experts.
struct Mixture {
  // sparsemixer (Phi MoE): each of the chosen by a softmax over those that are nearly as good as it and not chosen yet.
  enum class Scores { softmax, softmax_of_chosen, sigmoid, sparsemixer, root_softplus };
  FeedForward expert;  // each of those that a token's choice is made from
  std::int64_t n_experts = 0;
  std::int64_t n_active = 0;
  std::int64_t n_identity = 0;  // experts behind these that give back what they read (LongCat)
  std::int64_t n_null = 0;      // experts behind these that make nothing (Zaya)
  std::int64_t n_always = 0;    // of the experts, the last, which every token takes beside those it chooses (Inkling)
  bool scaled = false;          // what it makes is multiplied by a learned number
  std::optional<FeedForward> shared;  // one feed-forward that every token takes (all shared experts together)
  bool shared_gate = false;           // which is multiplied by σ(g·x), one number a token (Qwen2 MoE)
  bool router_bias = false;           // a parameter
  double router_softcap = 0.0;        // of the router's logits; 0 = none
  double jitter = 0.01;               // sparsemixer: how near, as half of a share of the larger
  bool correction_bias = false;       // DeepSeek V3: a buffer that moves the choice, not the weight
  bool correction_counted = false;    // …which the family counts as a parameter, though nothing trains it (Ernie 4.5)
  Scores scores = Scores::softmax;
  bool normalize = false;                          // the chosen weights are divided by their sum
  double scale = 1.0;                              // …and multiplied by this
  std::int64_t n_groups = 1, n_active_groups = 1;  // experts are chosen from the best groups only
  std::int64_t group_top = 1;                      // a group's score is the sum of its best `group_top` experts
  bool closed_as_zero = false;  // experts of the other groups score 0, and may be chosen for that (A.X K2)
  bool weigh_inputs = false;    // an expert's weight multiplies what it reads, not what it makes (Llama 4)
  double output_scale = 1.0;    // of the sum, the shared expert's part included
  std::int64_t d_latent = 0;    // the experts' own width, which rows are projected to and from; 0: that of the stream
  bool latent_bias = false;
  // Gemma 4: the router, the experts and the shared expert read the stream each behind a norm of its own, and so is
  // what experts and shared expert make normed before it is summed. (The sublayer then has no norm before it.)
  std::optional<Norm> own_norms;
  double router_scale = 1.0;  // multiplies what the router reads
  bool expert_scale = false;  // a learned number of each expert multiplies its weight (Gemma 4)
  bool output_bias = false;   // a learned shift of the sum (JetMoE)
  bool hashed = false;        // a table has the experts of each token of the vocabulary (DeepSeek V4)
  // The router is a network of its own of this width, with a norm before it: what it reads is made of the stream, and
  // has that of the router before it added, times a learned vector (Zaya). 0: one matrix.
  std::int64_t router_rank = 0;
  bool router_chained = false;
  Norm router_norm;
  bool product_keys = false;  // the router scores √E rows and √E columns; an expert's score is their sum (Doge)
  bool operator==(const Mixture&) const = default;
};

// Mixes tokens by way of a state of fixed size, which every token changes. With heads of values x (d_head wide), keys k
// and queries q (d_state wide, a key and query head for every n_heads / n_groups value heads), the state S of a head is
//   mamba        S ← e^(Δ·A)·S + k·(Δ·x)ᵀ, y = Sᵀ·q + D·x: an own A for each channel and state (Gu and Dao 2023)
//   mamba2       …one A for a head (Dao and Gu 2024)
//   delta        S ← e^(Δ·A)·S;  S ← S + k·β·(x − Sᵀ·k)ᵀ;  y = Sᵀ·q (Yang et al. 2024, arXiv 2412.06464)
//   lightning    S ← e^(−slope)·S + k·xᵀ;  y = Sᵀ·q (Qin et al. 2024, arXiv 2401.04658)
//   rg_lru       h ← α·h + √(1 − α²)·(i·x), α = e^(−8·softplus(a)·r), gates i and r of a block's channels
//                (De et al. 2024, arXiv 2402.19427)
//   convolution  no more than the last inputs of a convolution: y = q·conv(k·x) (LFM2)
// Δ = softplus(… + b), A = −e^a. Values, keys and queries go through a short convolution first, if there is one.
struct Recurrence {
  enum class Rule { convolution, mamba, mamba2, delta, lightning, rg_lru };
  Rule rule = Rule::convolution;
  std::int64_t n_heads = 0;     // of values: of mamba channels, of rg_lru blocks, of a convolution 1
  std::int64_t n_groups = 0;    // heads of keys and queries
  std::int64_t d_head = 0;      // width of a value head
  std::int64_t d_state = 0;     // width of a key or query head
  std::int64_t conv_width = 0;  // tokens that the short convolution sees; 0: there is none
  bool conv_bias = false;
  bool bias = false, output_bias = false;  // on the projections into it, and out of it
  std::int64_t step_rank = 0;              // mamba: Δ is projected by way of so many elements
  bool channel_decay = false;              // delta: Δ is one for each element of a key, by way of step_rank (Kimi)
  std::int64_t gate_rank = 0;              // the gate is projected by way of so many elements; 0: directly
  double step_low = 0.0, step_high = 0.0;  // Δ stays between these; high 0: no upper limit
  double beta_scale = 1.0;                 // delta: multiplies β = σ(…)
  // Of the gate, the values, the keys, the queries and Δ: what multiplies each projection (Falcon-H1).
  std::array<double, 5> scales{1.0, 1.0, 1.0, 1.0, 1.0};
  std::optional<Norm> inner_norm;  // mamba: on what Δ, the keys and the queries are made of
  // What comes out is normalised in so many parts, by a weight of each or one for all, and gated by activation(gate).
  std::optional<Norm> norm;
  std::int64_t norm_parts = 1;
  bool norm_shared = false;       // one weight for all parts
  bool norm_before_gate = false;  // else the gate comes first
  bool gated = true;
  Activation gate = Activation::silu;
  bool operator==(const Recurrence&) const = default;
};

// What each layer reads of the token itself, beside the stream: f(x) = W·(activation(G·x) · p), with the layer's own
// part p of what the model's LayerInputs make (Gemma 3n).
struct LayerInput {
  std::int64_t d = 0;
  Activation activation = Activation::gelu_tanh;
  bool operator==(const LayerInput&) const = default;
};

// Where norms stand around a sublayer f:  x → residual(x + after(f(before(x)))).
// Pre-norm sets `before`, OLMo 2 `after`, Gemma 2 both, the first transformer `residual`.
struct SublayerNorms {
  std::optional<Norm> before, after, residual;
  bool operator==(const SublayerNorms&) const = default;
};

// LAuReL (Menghani et al. 2024, arXiv 2411.07501): beside what a sublayer makes of what it reads, y, the stream also
// gets y + norm(R·L·y), and is divided by √2 (Gemma 3n).
struct Laurel {
  std::int64_t rank = 0;
  Norm norm;
  bool operator==(const Laurel&) const = default;
};

// A step of a layer. What it makes of what it reads is added to the residual stream x:
//   x ← residual(stream_scale · x + residual_scale · after(f(read_scale · before(read))))
struct Sublayer {
  using Kind = std::variant<Attention, CrossAttention, FeedForward, Mixture, Recurrence, LayerInput>;
  enum class Reads {
    stream,    // x, as the sublayers before it left it
    entry,     // x as it entered the layer: beside the sublayers before it, not after them (GPT-NeoX)
    first,     // what the first sublayer's f reads, or that of `beside`: beside it, and behind its norm (GPT-J)
    embedded,  // x with what was embedded beside it: twice as wide (Zamba)
    made,      // what the sublayer before it made
    sum,       // x plus what the sublayer before it made
  };
  Kind kind;
  Reads reads = Reads::stream;
  SublayerNorms norms;
  double residual_scale = 1.0, stream_scale = 1.0, read_scale = 1.0;
  bool norms_stream = false;   // MiniMax: before(x) takes the place of the stream, which then is added to
  bool affine = false;         // what it makes, and the stream, are each (· + b)·s with learned vectors (Zaya)
  bool stream_weight = false;  // a learned factor of each element of the stream that is added to (Doge)
  std::optional<Laurel> laurel{};
  std::size_t beside = 0;       // of Reads::first: the number of the sublayer in its layer
  std::int64_t conv_width = 0;  // what it makes has a short convolution of it added; 0: none (Inkling)
  bool adds = true;             // to the stream; else only the sublayer behind it reads what it makes
  bool projects = false;        // what it makes goes through a square matrix of the layer's own (Zamba)
  std::int64_t shares = 0;      // its weights are those of the same sublayer of the layer this many before; 0: its own
  std::int64_t norm_gate = 0;   // what the norm before it makes is gated, by way of so many elements; 0: not (A.X K2)
  bool operator==(const Sublayer&) const = default;
};

struct Layer {
  std::vector<Sublayer> sublayers;  // in the order of execution
  // Its weights are those of the layer this many before it (which may have them from another); 0: its own.
  std::int64_t shares = 0;
  bool scaled = false;  // the stream that leaves it is multiplied by a number that is stored and not trained (Gemma 4)
  bool operator==(const Layer&) const = default;
};

// The first sublayer of this kind; nullptr where there is none.
template <class Kind>
const Kind* find(const Layer& layer) {
  for (const Sublayer& sublayer : layer.sublayers)
    if (const Kind* found = std::get_if<Kind>(&sublayer.kind)) return found;
  return nullptr;
}
template <class Kind>
Kind* find(Layer& layer) {
  return const_cast<Kind*>(find<Kind>(std::as_const(layer)));
}

// The layers of a stack, in order. It is used like a vector, but a pattern that repeats to the end is held once, so
// that a stack of 100,000 alike layers takes no more room and time than its pattern. Asking for a layer to change it
// writes all of them out.
class Layers {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Layer;
    using difference_type = std::ptrdiff_t;
    using pointer = const Layer*;
    using reference = const Layer&;
    Iterator() = default;
    Iterator(const Layers& layers, std::size_t at) : layers_(&layers), at_(at) {}
    reference operator*() const { return (*layers_)[at_]; }
    pointer operator->() const { return &(*layers_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {*layers_, at_++}; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const Layers* layers_ = nullptr;
    std::size_t at_ = 0;
  };

  std::size_t size() const { return written_.size() + repeated_; }
  bool empty() const { return written_.empty(); }
  const Layer& operator[](std::size_t i) const { return written_[place(i)]; }
  const Layer& front() const { return written_.front(); }
  const Layer& back() const { return (*this)[size() - 1]; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }
  bool operator==(const Layers& other) const;

  // The first layers, up to the end of the first pattern that repeats: every other layer is one of them again.
  std::span<const Layer> written() const { return written_; }
  // The first layer, from `first` + `period` on, that is not the one `period` before it; size() where there is none.
  std::size_t repeats_until(std::size_t first, std::size_t period) const;

  Layer& operator[](std::size_t i) { return all()[i]; }
  Layer& front() { return all().front(); }
  Layer& back() { return all().back(); }
  Layer* begin() { return all().data(); }
  Layer* end() { return all().data() + size(); }
  void clear() { assign(0, {}); }
  void assign(std::size_t n, const Layer& layer);
  void resize(std::size_t n, const Layer& layer = {}) { all().resize(n, layer); }
  void push_back(Layer layer) { all().push_back(std::move(layer)); }
  // `n` layers: those up to `first` + `period`, and from there on the last `period` of them over and over.
  void repeat(std::size_t first, std::size_t period, std::size_t n);

 private:
  std::size_t place(std::size_t i) const {
    return i < written_.size() ? i : written_.size() - period_ + (i - written_.size()) % period_;
  }
  std::vector<Layer>& all();  // written out

  std::vector<Layer> written_;
  std::size_t period_ = 0;    // of the pattern at the end of what is written
  std::size_t repeated_ = 0;  // layers that go on with it
};

// Positions that are added to the embedding. (RoPE and ALiBi belong to each layer's attention.)
struct Positions {
  // sinusoidal: sines and cosines alternate (Vaswani et al.); sinusoidal_halves: all sines, then all cosines (fairseq)
  enum class Kind { none, learned, sinusoidal, sinusoidal_halves };
  Kind kind = Kind::none;
  std::int64_t extra_rows = 0;  // OPT stores two rows more than its context; sinusoids begin as many positions later
  bool operator==(const Positions&) const = default;
};

struct Head {
  bool tied = false;  // shares the embedding's matrix
  bool bias = false;
  double scale = 1.0;    // multiplies the logits
  double softcap = 0.0;  // c·tanh(logit / c); 0 = none
  bool operator==(const Head&) const = default;
};

// Of each token, a vector for each layer: the sum of a row of a table and of a projection of the embedding, which has a
// norm, over √2 (Gemma 3n).
struct LayerInputs {
  std::int64_t d = 0;           // of one layer
  std::int64_t vocab_size = 0;  // of the table; tokens beyond it take its first row
  Norm norm;
  bool operator==(const LayerInputs&) const = default;
};

// Alternating updates (Baykal et al. 2023, arXiv 2301.13310): the residual stream is several, of which a layer runs on
// one. Each layer predicts all of them by a map that a small router makes of the active one, and corrects them by what
// the layer made of that.
struct AltUp {
  std::int64_t streams = 0, active = 0;
  Norm norm;            // before the router
  bool scaled = false;  // a learned factor of each element of what the layer's input (LayerInput) reads
  bool operator==(const AltUp&) const = default;
};

// Hyper-connections (Zhu et al. 2024, arXiv 2409.19606; with matrices that Sinkhorn's iterations make doubly
// stochastic: Xie et al. 2025, arXiv 2512.24880): the residual stream is several. A sublayer reads their sum, weighed,
// and what it makes is added to each, weighed, while a matrix mixes them; all weights are made of the streams
// themselves.
struct HyperConnections {
  std::int64_t streams = 0;
  std::int64_t iterations = 0;  // of Sinkhorn
  double epsilon = 1e-6;        // that is added to what is divided by
  Norm norm;                    // of all streams together, before the weights are made of them; it has none of its own
  bool operator==(const HyperConnections&) const = default;
};

// What predicts a token after the next, behind the stack (DeepSeek-AI 2024, arXiv 2412.19437, section 2.2): what the
// stack made and the embedding of the next token, each behind a norm, are projected together to the width of the
// stream, and go through layers of its own. Embedding and head are the model's. It is counted apart from the model, and
// never run.
struct Predictor {
  Layers layers;
  Norm norm;                       // of what the stack made, and of the embedding
  std::optional<Norm> final_norm;  // before the head
  std::int64_t count = 1;          // so many alike, one behind the other
  bool operator==(const Predictor&) const = default;
};

struct Model {
  std::string name;                // preset, or the path it was read from
  std::string family;              // Hugging Face's model_type: decides the names and layouts of stored tensors
  std::string about;               // what it is, where its description says so
  std::vector<std::string> notes;  // what to know about how it was read, a sentence each: what was left out
  std::int64_t d_model = 0;
  std::int64_t vocab_size = 0;
  std::int64_t padding_rows = 0;  // of embedding and head, behind those of the vocabulary: no logits come of them
  std::int64_t context = 0;
  std::int64_t d_embedding = 0;  // width of the embedding table; projected to d_model where it differs (OPT-350M)
  double embedding_scale = 1.0;
  std::optional<Norm> embedding_norm;
  bool embedding_affine = false;  // what is embedded is (x + b)·s with learned vectors (Zaya)
  Positions positions;
  std::optional<LayerInputs> layer_inputs;
  std::optional<AltUp> altup;
  std::optional<HyperConnections> hyper;
  Layers layers;
  std::optional<Norm> final_norm;
  Head head;
  std::vector<Predictor> predictors;
  bool operator==(const Model&) const = default;
};

// The first sublayer of this kind in any layer; nullptr where there is none.
template <class Kind>
const Kind* find(const Model& model) {
  for (const Layer& layer : model.layers.written())
    if (const Kind* found = find<Kind>(layer)) return found;
  return nullptr;
}

}  // namespace reckon
