#include "report/memory_use.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "backend/interleaved.h"
#include "files/numbers.h"
#include "network/forward.h"
#include "network/stages.h"
#include "report/memory.h"

namespace reckon {
namespace {

constexpr Held all_held[] = {Held::weights, Held::master, Held::gradients,   Held::optimizer,
                             Held::cache,   Held::tables, Held::activations, Held::temporary};

bool trains(const MemoryUse& use) { return use.workload.phase == Phase::train; }

std::string_view stage_name(Stage stage) {
  constexpr std::string_view names[] = {"forward", "backward", "optimizer"};
  return names[static_cast<std::size_t>(stage)];
}

std::string type_name(DType type) { return std::string(encoding_of(type).name); }

const char* title_of(Held held) {
  switch (held) {
    case Held::weights:
      return "weights";
    case Held::master:
      return "master copies";
    case Held::gradients:
      return "gradients";
    case Held::optimizer:
      return "optimizer state";
    case Held::cache:
      return "KV cache";
    case Held::tables:
      return "tables";
    case Held::activations:
      return "activations";
    default:
      return "temporary";
  }
}

// The types of what is held, those with the most bytes first.
std::vector<DType> types_of(const MemoryUse& use, Held held) {
  std::vector<std::pair<std::int64_t, DType>> sums;
  for (const HeldTensor& tensor : use.held.tensors) {
    if (tensor.held != held || tensor.id == no_tensor) continue;
    const DType type = use.compiled.lowered[tensor.id].dtype;
    auto found = std::find_if(sums.begin(), sums.end(), [&](const auto& sum) { return sum.second == type; });
    if (found == sums.end()) found = sums.insert(sums.end(), {0, type});
    found->first += tensor.bytes;
  }
  std::stable_sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<DType> types;
  types.reserve(sums.size());
  for (const auto& [sum, type] : sums) types.push_back(type);
  return types;
}

std::string types_text(const MemoryUse& use, Held held) {
  std::vector<std::string> names;
  for (DType type : types_of(use, held)) names.push_back(type_name(type));
  return fmt::format("{}", fmt::join(names, " and "));
}

std::string cache_detail(const MemoryUse& use) {
  if (!use.cache) return types_text(use, Held::cache);
  const CacheCost& cache = *use.cache;
  std::string text = fmt::format("{}; {} in {}", token_bytes_text(cache), sequences_text(cache), type_name(cache.type));
  const std::int64_t page = use.target.page_tokens;
  if (page > 1) text += fmt::format(", in pages of {}", page);
  // As pages are laid out (lowering/pages.cpp).
  if (page > 0 && cache.state > 0)
    text += fmt::format("; states twice, {} a sequence: a step reads one set and writes the other",
                        grouped(2 * cache.state));
  return text;
}

// "of rotary positions and of the cache's pages"
std::string tables_detail(const MemoryUse& use) {
  std::vector<std::string> of;
  for (const auto& [kind, name] :
       {std::pair{TensorKind::constant, "of rotary positions"}, {TensorKind::step, "of the cache's pages"}}) {
    const bool some =
        std::any_of(use.held.tensors.begin(), use.held.tensors.end(), [&, kind = kind](const HeldTensor& tensor) {
          return tensor.held == Held::tables && use.compiled.lowered[tensor.id].kind == kind;
        });
    if (some) of.emplace_back(name);
  }
  return fmt::format("{}", fmt::join(of, " and "));
}

std::string detail(const MemoryUse& use, Held held) {
  switch (held) {
    case Held::weights:
      return fmt::format("{} parameters in {}", compact(static_cast<double>(use.held.parameters)),
                         types_text(use, held));
    case Held::optimizer:
      return fmt::format("{}, {}", optimizer_name(use.workload.optimizer), types_text(use, held));
    case Held::cache:
      return cache_detail(use);
    case Held::tables:
      return tables_detail(use);
    case Held::activations:
      return trains(use) ? "kept for the backward pass" : "alive at the peak";
    case Held::temporary:
      return trains(use) ? "the rest at the peak: between a few operations" : "between tensors";
    default:
      return types_text(use, held);
  }
}

Table kinds_table(const MemoryUse& use) {
  Table table{"", {{"held"}, {"bytes", true}, {"binary", true}, {"decimal", true}, {"share", true}, {"of what"}}};
  const std::int64_t total = use.held.total();
  for (Held held : all_held) {
    const std::int64_t bytes = use.held.of(held);
    if (bytes == 0) continue;
    table.rows.push_back({title_of(held), count_cell(bytes), binary_bytes(bytes), decimal_bytes(bytes),
                          share_cell(bytes, total), detail(use, held)});
  }
  table.rows.push_back(
      {"total", count_cell(total), binary_bytes(total), decimal_bytes(total), share_cell(total, total), ""});
  table.totals = 1;
  return table;
}

std::string name_of(const MemoryUse& use, const HeldTensor& tensor) {
  if (tensor.id != no_tensor) return full_name(use.compiled.lowered[tensor.id]);
  return tensor.held == Held::activations ? "(other micro-batches)" : "(between tensors)";
}

// By kind, in each the largest first.
std::vector<HeldTensor> sorted(std::vector<HeldTensor> tensors) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const HeldTensor& a, const HeldTensor& b) {
    return a.held != b.held ? a.held < b.held : a.bytes > b.bytes;
  });
  return tensors;
}

Table tensors_table(const MemoryUse& use) {
  Table table{"",
              {{"tensor", false, Column::Kind::name},
               {"held"},
               {"type"},
               {"shape", false, Column::Kind::name},
               {"instances", true},
               {"bytes", true}}};
  for (const HeldTensor& tensor : sorted(use.held.tensors)) {
    const bool one = tensor.id != no_tensor;
    table.rows.push_back({name_of(use, tensor), title_of(tensor.held),
                          one ? type_name(use.compiled.lowered[tensor.id].dtype) : "",
                          one ? to_string(use.compiled.lowered[tensor.id].shape) : "", grouped(tensor.instances),
                          count_cell(tensor.bytes)});
  }
  table.rows.push_back({"total", "", "", "", "", count_cell(use.held.total())});
  table.totals = 1;
  return table;
}

// Of the op where the peak is; −1: of none.
std::int64_t peak_layer(const MemoryUse& use) {
  const Program& program = use.compiled.lowered;
  const Op& op = program.ops[use.compiled.plan.peak_op];
  if (op.scope.layer < 0) return -1;
  if (op.repeat < 0) return op.scope.layer;
  const Repeat& repeat = program.repeats[static_cast<std::size_t>(op.repeat)];
  const std::int64_t step = use.compiled.plan.peak_step;
  return layer_after(stage_layers(use.model, program.workload.layout), op.scope.layer,
                     repeat.layers * (repeat.reversed ? repeat.count - 1 - step : step));
}

// "attend_backward of attention/mixing, layer 31"
std::string peak_place(const MemoryUse& use) {
  const Op& op = use.compiled.lowered.ops[use.compiled.plan.peak_op];
  std::string text(op.operation->name);
  if (const std::string path = path_of(op.scope.role); !path.empty()) text += " of " + path;
  if (const std::int64_t layer = peak_layer(use); layer >= 0) text += fmt::format(", layer {}", layer);
  return text;
}

// The lowest ZeRO that shares it out.
std::int64_t zero_of(Held held) { return held == Held::weights ? 3 : held == Held::gradients ? 2 : 1; }

// "16.00 bytes a parameter: weights 2.00, master copies 4.00, …"
std::string state_text(const MemoryUse& use) {
  const auto each = [&](std::int64_t bytes) {
    return fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(use.whole_parameters));
  };
  const std::int64_t zero = use.workload.layout.zero;
  std::vector<std::string> parts, whole, shared;
  std::int64_t sum = 0;
  for (Held held : {Held::weights, Held::master, Held::gradients, Held::optimizer}) {
    if (use.held.of(held) == 0) continue;
    sum += use.held.of(held);
    parts.push_back(fmt::format("{} {}", title_of(held), each(use.held.of(held))));
    (zero >= zero_of(held) ? shared : whole).push_back(title_of(held));
  }
  std::string text =
      fmt::format("The state of training takes {} bytes {}{}: {}.", each(sum),
                  zero == 0 ? "a parameter"
                            : fmt::format("for each of the {} whole parameters that the rank computes with",
                                          compact(static_cast<double>(use.whole_parameters))),
                  use.adapters ? ", frozen ones too" : "", fmt::join(parts, ", "));
  if (!shared.empty())
    text += fmt::format(" ZeRO {} leaves it its own part of {}{}.", zero, listed(shared),
                        whole.empty() ? "" : fmt::format(", and {} whole", listed(whole)));
  return text;
}

// A processor's last cache, which cores share, where it holds everything; else null.
const Cache* cache_that_holds(const Profile& profile, std::int64_t bytes) {
  if (profile.kind != DeviceKind::cpu || profile.caches.empty() || profile.caches.back().bytes < bytes) return nullptr;
  return &profile.caches.back();
}

std::string room_text(const MemoryUse& use) {
  const RoomOn& room = *use.room;
  const Profile& profile = room.hardware.profile;
  const std::int64_t left = room.bytes() - use.held.total();
  std::string text = fmt::format("{} has {}", profile.name, binary_bytes(profile.memory_bytes));
  text += room.reserve > 0                  ? fmt::format(", of which {} are kept free", binary_bytes(room.reserve))
          : profile.kind == DeviceKind::cpu ? ""
                                            : "; nothing is set aside for its driver";
  text += left >= 0 ? fmt::format(". {} are left.", binary_bytes(left))
                    : fmt::format(". It does not fit: {} are missing.", binary_bytes(-left));
  if (const Cache* cache = cache_that_holds(profile, use.held.total()))
    text += fmt::format(" All of it fits its L{} of {}{}.", cache->level, binary_bytes(cache->bytes),
                        cache->cores > 1 ? fmt::format(" (of {} cores)", cache->cores) : "");
  return text;
}

std::string largest_text(const MemoryUse& use) {
  const RoomOn& room = *use.room;
  std::string text;
  if (room.batch.value == 0) {
    text = fmt::format("Even a batch of 1 is {} too much at this length.", binary_bytes(room.batch.over));
  } else {
    text = fmt::format("The largest batch that fits at this length: {}{}.", grouped(room.batch.value),
                       room.batch.all ? " or more" : "");
  }
  if (room.context.value == 0)
    return text +
           fmt::format(" Even one token a sequence is {} too much at this batch.", binary_bytes(room.context.over));
  text += fmt::format(" The longest context at this batch: {} {}", grouped(room.context.value),
                      room.context.value == 1 ? "token" : "tokens");
  if (room.context.all) {
    text += use.model.positions.kind == Positions::Kind::learned ? ", all that it has positions for" : " or more";
  } else if (room.context.value > use.made_for) {
    text += fmt::format(", past the {} that it was made for", grouped(use.made_for));
  }
  return text + ".";
}

std::string rank_text(const MemoryUse& use) {
  const Layout& layout = use.workload.layout;
  if (layout.pipeline == 1) return "Of one rank of the layout.";
  std::string text = use.varying.stage ? "Of one rank of the pipeline's fullest stage"
                                       : fmt::format("Of one rank of stage {} of the pipeline", layout.stage);
  if (trains(use)) {
    text += use.varying.stage ? ", with the activations of all its micro-batches in flight"
                              : fmt::format(", with the activations of {} micro-batches in flight",
                                            grouped(micro_batches_in_flight(layout)));
    if (layout.virtual_stages > 1)
      text += fmt::format(", each in one of {} pieces of the stack", grouped(layout.virtual_stages));
  }
  return text + ".";
}

bool in_types_of_file(const MemoryUse& use) { return use.stored && !use.varying.stored; }

// Of the weights as they are stored, what the cpu keeps in another order too, as it is on this processor.
std::int64_t interleaved_bytes(const MemoryUse& use) {
  if (!in_types_of_file(use) || !(use.target == cpu_target)) return 0;
  std::int64_t sum = 0;
  for (const HeldTensor& held : use.held.tensors) {
    if (held.held != Held::weights || held.id == no_tensor) continue;
    const Tensor& tensor = use.compiled.lowered[held.id];
    // A matrix, or one for each expert.
    if (tensor.shape.rank() >= 2 && keeps_interleaved(tensor.dtype, tensor.shape[-2].size)) sum += held.bytes;
  }
  return sum;
}

std::vector<std::string> notes_of(const MemoryUse& use) {
  std::vector<std::string> notes;
  if (use.quantised) {
    notes.push_back(
        fmt::format("The layers' matrices are in {}, embeddings, head, norms, routers and biases in {}{}.",
                    type_name(*use.quantised), type_name(use.workload.precision.weights),
                    *use.quantised == DType::nf4 ? "; a scale in float32 for each 64 elements is counted" : ""));
  }
  if (std::string scales = uncounted_scales(use.compiled.lowered); !scales.empty()) {
    scales[0] = 'S';
    notes.push_back(scales + ".");
  }
  const std::int64_t rows = use.model.vocab_size + use.model.padding_rows, ranks = use.workload.layout.tensor;
  if (const std::int64_t each = (rows + ranks - 1) / ranks; each * ranks != rows && !use.varying.parameters)
    notes.push_back(fmt::format("A vocabulary of {} rows is filled up to {}: {} for each of {} tensor ranks.",
                                grouped(rows), grouped(each * ranks), grouped(each), grouped(ranks)));
  if (use.workload.layout.expert > 1)
    notes.push_back("Tokens are taken to choose experts evenly: a rank whose experts get more rows needs more.");
  if (use.varying.stored)
    notes.push_back("Weights have the types of their file where the model is the file's own, and only there.");
  if (const std::int64_t bytes = interleaved_bytes(use); bytes > 0)
    notes.push_back(fmt::format(
        "{} of the weights ({} bytes) are kept a second time by every engine on this cpu, interleaved for its "
        "kernels, as many bytes: beside those of the file, which are mapped if it is GGUF. They are not added here.",
        binary_bytes(bytes), grouped(bytes)));
  if (use.adapters && use.varying.parameters) {
    if (trains(use)) notes.push_back("Only adapters are trained; all other parameters are frozen.");
  } else if (use.adapters) {
    notes.push_back(fmt::format("{} {} of the model's {} parameters ({}){}.",
                                trains(use) ? "Only adapters are trained," : "Adapters are",
                                grouped(use.adapters->adapters), grouped(use.adapters->all),
                                percent(use.adapters->share, 3), trains(use) ? "; all others are frozen" : ""));
  }
  if (use.room && use.room->hardware.devices > 1 && !use.laid_out)
    notes.push_back(fmt::format("{} devices, but no layout over them: this is one device that holds all of it.",
                                grouped(use.room->hardware.devices)));
  if (use.laid_out) notes.push_back(rank_text(use));
  return notes;
}

std::string weights_text(const MemoryUse& use) {
  const std::string all(type_name(use.workload.precision.weights));
  if (in_types_of_file(use)) return "weights as in the file, all else " + all;
  return use.quantised ? std::string(type_name(*use.quantised)) : all;
}

// "gpu target · bfloat16 · selective recomputation"
std::string setting_text(const MemoryUse& use) {
  const Workload& w = use.workload;
  std::string text =
      fmt::format("{} · {} target · {}", describe(w, use.varying.sizes), use.target.name, weights_text(use));
  if (w.precision.cache != w.precision.activations && use.cache)
    text += fmt::format(" · cache in {}", type_name(w.precision.cache));
  text += fmt::format(" · attention {}", attention_name(!use.target.fusions.attention));
  return text + describe_training(w);
}

OrderedJson held_json(const Breakdown& held) {
  OrderedJson json;
  for (Held kind : all_held) json[std::string(held_name(kind))] = held.of(kind);
  json["total"] = held.total();
  return json;
}

OrderedJson workload_of_use(const MemoryUse& use) {
  const Workload& w = use.workload;
  OrderedJson json = workload_json(w);
  json["target"] = use.target.name;
  json["attention"] = attention_name(!use.target.fusions.attention);
  json["types"] = types_json(w, use.quantised, in_types_of_file(use));
  if (trains(use)) {
    json["optimizer"] = optimizer_name(w.optimizer);
    json["recompute"] = recompute_name(w.recompute);
    json["dropout"] = w.dropout;
    json["attention_dropout"] = w.attention_dropout;
  }
  if (use.laid_out) {
    json["layout"] = layout_json(w.layout);
    if (!use.varying.stage) json["layout"]["stage"] = w.layout.stage;
    json["layout"]["micro_batches"] = w.layout.micro_batches;
  }
  return json;
}

OrderedJson largest_json(const Largest& largest) {
  OrderedJson json = {{"value", largest.value}, {"all", largest.all}};
  if (largest.value == 0) json["over"] = largest.over;
  return json;
}

OrderedJson room_json(const RoomOn& room, std::int64_t total) {
  const Profile& profile = room.hardware.profile;
  OrderedJson json = {{"name", profile.name},
                      {"devices", room.hardware.devices},
                      {"memory", profile.memory_bytes},
                      {"reserve", room.reserve},
                      {"left", room.bytes() - total},
                      {"fits", total <= room.bytes()},
                      {"largest_batch", largest_json(room.batch)},
                      {"largest_context", largest_json(room.context)}};
  const Cache* cache = cache_that_holds(profile, total);
  json["fits_cache_level"] = cache == nullptr ? OrderedJson(nullptr) : OrderedJson(cache->level);
  return json;
}

OrderedJson tensor_json(const MemoryUse& use, const HeldTensor& held) {
  OrderedJson json = {{"name", name_of(use, held)}, {"held", held_name(held.held)}};
  if (held.id != no_tensor) {
    const Tensor& tensor = use.compiled.lowered[held.id];
    json["role"] = path_of(tensor.scope.role);
    json["type"] = type_name(tensor.dtype);
    json["shape"] = OrderedJson::array();
    for (Dim dim : tensor.shape) json["shape"].push_back(dim.size);
  }
  json["instances"] = held.instances;
  json["bytes"] = held.bytes;
  return json;
}

OrderedJson use_json(const MemoryUse& use, MemoryBy by) {
  const Plan& plan = use.compiled.plan;
  OrderedJson json = {{"schema", "reckon.memory/1"}, {"model", use.model.name}, {"workload", workload_of_use(use)}};
  json["parameters"] = use.held.parameters;
  json["whole_parameters"] = use.whole_parameters;
  if (use.adapters) json["adapters"] = adapters_json(*use.adapters);
  json["memory"] = held_json(use.held);
  if (const std::int64_t bytes = interleaved_bytes(use); bytes > 0) json["interleaved_copies"] = bytes;
  json["arena"] = plan.arena;
  const Op& op = use.compiled.lowered.ops[plan.peak_op];
  json["peak"] = {{"bytes", plan.peak},
                  {"operation", op.operation->name},
                  {"role", path_of(op.scope.role)},
                  {"stage", stage_name(op.stage)},
                  {"layer", peak_layer(use) < 0 ? OrderedJson(nullptr) : OrderedJson(peak_layer(use))}};
  if (use.cache) json["cache"] = cache_json(*use.cache);
  if (use.room) json["device"] = room_json(*use.room, use.held.total());
  if (by == MemoryBy::tensor) {
    json["tensors"] = OrderedJson::array();
    for (const HeldTensor& tensor : sorted(use.held.tensors)) json["tensors"].push_back(tensor_json(use, tensor));
  }
  if (const std::vector<std::string> notes = notes_of(use); !notes.empty()) json["notes"] = notes;
  return json;
}

double real(std::int64_t value) { return static_cast<double>(value); }

// Stages of training, or the phase, by the ops that run in them.
std::vector<MemoryPicture::Part> parts_of(const MemoryUse& use, const Course& course) {
  std::vector<MemoryPicture::Part> parts;
  const Program& program = use.compiled.lowered;
  for (const LivePoint& point : course.points) {
    const std::string name(trains(use) ? stage_name(program.ops[point.op].stage) : phase_name(use.workload.phase));
    if (parts.empty() || parts.back().name != name) {
      if (!parts.empty()) parts.back().end = real(point.at);
      parts.push_back({name, real(point.at), 0});
    }
  }
  if (!parts.empty()) parts.back().end = real(course.ops);
  return parts;
}

// The optimizer has an op for every parameter, and nothing comes or goes meanwhile: it gets an eighth of the width.
void narrow_optimizer(MemoryPicture& picture) {
  if (picture.parts.empty() || picture.parts.back().name != stage_name(Stage::optimizer)) return;
  const double begin = picture.parts.back().begin, room = begin / 7;
  if (picture.ops - begin <= room) return;
  const double scale = room / (picture.ops - begin);
  const auto narrow = [&](double& at) { at = at <= begin ? at : begin + (at - begin) * scale; };
  for (MemoryPicture::Point& point : picture.points) narrow(point.at);
  narrow(picture.peak.at);
  narrow(picture.parts.back().end);
  narrow(picture.ops);
  picture.x_title += "; the optimizer's drawn narrower";
}

}  // namespace

MemoryPicture memory_picture(const MemoryUse& use) {
  constexpr std::int64_t iterations = 256;  // more than a picture has columns for
  const Plan& plan = use.compiled.plan;
  const Course course = course_of(use.compiled.lowered, plan, iterations);
  MemoryPicture picture;
  picture.title = fmt::format("Memory of {} · {}", use.model.name, describe(use.workload));
  const double total = real(use.held.total());
  for (Held held : all_held) {
    const bool in_arena = held == Held::activations || held == Held::temporary;
    // A thinner band would not be seen.
    if (!in_arena && real(use.held.of(held)) > total / 500)
      picture.bands.push_back({title_of(held), real(use.held.of(held))});
  }
  for (const HeldTensor& tensor : use.held.tensors) {
    if (tensor.id == no_tensor && tensor.held == Held::activations)
      picture.bands.push_back({"other micro-batches", real(tensor.bytes)});
  }
  picture.top_name = trains(use) ? "activations and temporary" : "activations";
  picture.x_title = fmt::format("{} operations, one after another", grouped(course.ops));
  picture.ops = real(std::max<std::int64_t>(course.ops, 1));
  for (const LivePoint& point : course.points) {
    if (picture.peak.bytes == 0 && point.op == plan.peak_op && point.bytes == plan.peak)
      picture.peak = {real(point.at), real(point.bytes)};
    picture.points.push_back({real(point.at), real(point.bytes)});
  }
  picture.parts = parts_of(use, course);
  picture.peak_label = fmt::format("{} at {}", binary_bytes(use.held.total()), peak_place(use));
  if (use.room)
    picture.limit = {fmt::format("{}: {}", use.room->hardware.profile.name, binary_bytes(use.room->bytes())),
                     real(use.room->bytes())};
  // What comes and goes would not be seen above what stays: it is drawn alone.
  if (real(plan.arena) < total / 20) {
    for (const MemoryPicture::Band& band : picture.bands) picture.below += band.bytes;
    picture.bands.clear();
    picture.limit.reset();
  }
  narrow_optimizer(picture);
  return picture;
}

Document memory_document(const MemoryUse& use, MemoryBy by) {
  Document document;
  document.json = use_json(use, by);
  document.parts.emplace_back(Heading{fmt::format("Memory of {}", use.model.name)});
  document.parts.emplace_back(Paragraph{setting_text(use)});
  document.parts.emplace_back(by == MemoryBy::kind ? kinds_table(use) : tensors_table(use));
  const Op& peak = use.compiled.lowered.ops[use.compiled.plan.peak_op];
  document.parts.emplace_back(
      Paragraph{fmt::format("Activations and temporary space{} lie in an arena of {}; its peak is at {}{}.",
                            trains(use) && use.workload.layout.pipeline > 1 ? " of one micro-batch" : "",
                            binary_bytes(use.compiled.plan.arena), peak_place(use),
                            trains(use) ? fmt::format(", in stage {}", stage_name(peak.stage)) : "")});
  if (trains(use)) document.parts.emplace_back(Paragraph{state_text(use)});
  for (const std::string& note : notes_of(use)) document.parts.emplace_back(Paragraph{note});
  if (use.room) {
    document.parts.emplace_back(Paragraph{room_text(use)});
    document.parts.emplace_back(Paragraph{largest_text(use)});
  }
  document.parts.emplace_back(memory_picture(use));
  if (by == MemoryBy::kind) {
    Table figures{"", {{"held"}, {"bytes", true}, {"types"}}};
    for (Held held : all_held)
      figures.rows.push_back({title_of(held), count_cell(use.held.of(held)), types_text(use, held)});
    document.csv.push_back(std::move(figures));
  } else {
    Table tensors = tensors_table(use);
    tensors.rows.pop_back();  // what is added up has no sums among it
    tensors.totals = 0;
    document.csv.push_back(std::move(tensors));
  }
  return document;
}

namespace {

// One size: what is held, by its values.
Table line_table(const MemoryGrid& grid) {
  Table table{"", {{grid.row_name, true}}};
  std::vector<Held> shown;
  for (Held held : all_held) {
    const bool some = std::any_of(grid.points.begin(), grid.points.end(),
                                  [&](const MemoryPoint& point) { return point.held.of(held) > 0; });
    if (some) shown.push_back(held);
  }
  for (Held held : shown)
    table.columns.push_back({title_of(held), true, Column::Kind::text, false, held == Held::tables ? 2 : 0});
  table.columns.push_back({"total", true});
  if (grid.first.room) table.columns.push_back({"left", true});
  for (const MemoryPoint& point : grid.points) {
    Cells row{count_cell(point.row)};
    for (Held held : shown) row.push_back(bytes_cell(point.held.of(held)));
    row.push_back(bytes_cell(point.held.total()));
    if (grid.first.room) {
      const std::int64_t left = grid.first.room->bytes() - point.held.total();
      row.push_back(left >= 0 ? binary_bytes(left) : "−" + binary_bytes(-left));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// The unit in which the smallest of all totals is 1 or more.
std::pair<const char*, double> unit_of(const MemoryGrid& grid) {
  std::int64_t least = grid.points.front().held.total();
  for (const MemoryPoint& point : grid.points) least = std::min(least, point.held.total());
  if (least >= 1 << 30) return {"GiB", 1 << 30};
  return least >= 1 << 20 ? std::pair{"MiB", double(1 << 20)} : std::pair{"KiB", double(1 << 10)};
}

// Two sizes: totals by rows and columns; in parentheses what does not fit.
Table square_table(const MemoryGrid& grid) {
  const auto [unit, size] = unit_of(grid);
  Table table{fmt::format("Totals in {}", unit), {{fmt::format("{} \\ {}", grid.row_name, grid.column_name), true}}};
  for (const MemoryPoint& point : grid.points) {
    if (point.row == grid.points.front().row) table.columns.push_back({grouped(point.column), true});
    if (point.column == grid.points.front().column) table.rows.push_back({count_cell(point.row)});
    const std::string total = group_digits(fmt::format("{:.2f}", real(point.held.total()) / size));
    const bool over = grid.first.room && point.held.total() > grid.first.room->bytes();
    table.rows.back().push_back(over ? "(" + total + ")" : total);
  }
  return table;
}

}  // namespace

Document memory_grid_document(const MemoryGrid& grid) {
  Document document;
  const bool square = !grid.column_name.empty();
  const std::string& model = grid.first.model.name;
  const std::optional<RoomOn>& room = grid.first.room;
  const std::vector<std::string> notes = notes_of(grid.first);
  document.json = {{"schema", "reckon.memory_sweep/1"}, {"model", model}};
  document.json["workload"] = workload_of_use(grid.first);
  document.json["sizes"] = square ? OrderedJson{grid.row_name, grid.column_name} : OrderedJson{grid.row_name};
  if (room)
    document.json["device"] = {{"name", room->hardware.profile.name},
                               {"memory", room->hardware.profile.memory_bytes},
                               {"reserve", room->reserve}};
  OrderedJson points = OrderedJson::array();
  Table all{"", {{grid.row_name, true}}};
  if (square) all.columns.push_back({grid.column_name, true});
  for (Held held : all_held) all.columns.push_back({title_of(held), true});
  all.columns.push_back({"total", true});
  if (room) all.columns.push_back({"fits"});
  for (const MemoryPoint& point : grid.points) {
    const std::int64_t total = point.held.total();
    const bool fits = !room || total <= room->bytes();
    OrderedJson json = {{grid.row_name, point.row}};
    if (square) json[grid.column_name] = point.column;
    json["memory"] = held_json(point.held);
    Cells row{count_cell(point.row)};
    if (square) row.push_back(count_cell(point.column));
    for (Held held : all_held) row.push_back(count_cell(point.held.of(held)));
    row.push_back(count_cell(total));
    if (room) {
      json["fits"] = fits;
      row.push_back(fits ? "yes" : "no");
    }
    points.push_back(std::move(json));
    all.rows.push_back(std::move(row));
  }
  document.json["points"] = std::move(points);
  if (!notes.empty()) document.json["notes"] = notes;
  document.parts.emplace_back(
      Heading{fmt::format("Memory of {} by {}{}", model, grid.row_name, square ? " and " + grid.column_name : "")});
  document.parts.emplace_back(Paragraph{setting_text(grid.first)});
  document.parts.emplace_back(square ? square_table(grid) : line_table(grid));
  if (room)
    document.parts.emplace_back(Paragraph{
        fmt::format("{} has {}{}{}.", room->hardware.profile.name, binary_bytes(room->hardware.profile.memory_bytes),
                    room->reserve > 0 ? fmt::format(", of which {} are kept free", binary_bytes(room->reserve)) : "",
                    square ? "; what does not fit is in parentheses" : "")});
  for (const std::string& note : notes) document.parts.emplace_back(Paragraph{note});
  document.csv.push_back(std::move(all));
  return document;
}

}  // namespace reckon
