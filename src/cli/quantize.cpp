// reckon quantize: a model in other encodings.
#include <fmt/format.h>
#include <reckon/reckon.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <regex>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/run_options.h"
#include "cli/run_text.h"
#include "files/atomic_write.h"
#include "files/numbers.h"
#include "files/quantise.h"
#include "files/quote.h"
#include "files/read_text.h"
#include "model/boundary_ids.h"
#include "model/changed_config.h"
#include "model/describe_gguf.h"
#include "measure/encoding_table.h"
#include "model/load.h"
#include "report/encoding_table.h"
#include "report/progress.h"
#include "report/quantise.h"
#include "run/choose_encodings.h"
#include "run/export_model.h"
#include "run/importance.h"
#include "run/sensitivity.h"
#include "text/tokenizer_json.h"
#include "text/write_gguf_tokenizer.h"
#include "threads/thread_count.h"
#include "time/profile.h"

namespace reckon::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t calibration_tokens = 1 << 14, calibration_window = 512;
constexpr std::int64_t table_tokens = 1 << 12;                    // that are scored for each row
constexpr std::uint64_t largest_beside = std::uint64_t{1} << 30;  // bytes of a file beside the weights
constexpr const char *chat_template_key = "tokenizer.chat_template", *chat_template_name = "chat_template.jinja";

struct QuantizeOptions {
  RunOptions run;
  std::string to, out, calibrate, tokenizer;
  std::string text, svg;  // of --table
  bool table = false;
  std::optional<double> bits;
  std::int64_t fit = 0;
  Output output;
};

std::vector<std::string> encoding_words() {
  std::vector<std::string> words;
  for (int i = 0; i <= static_cast<int>(DType::uint64); ++i)
    if (const auto dtype = static_cast<DType>(i); can_encode(dtype)) words.emplace_back(encoding_of(dtype).name);
  return words;
}

// "q4_k", or several with commas.
std::vector<DType> parse_encodings(const std::string& text) {
  std::vector<DType> found;
  for (const std::string& word : CLI::detail::split(text, ',')) {
    const std::string lower = CLI::detail::to_lower(word);
    const std::string full = lower == "f32"    ? "float32"
                             : lower == "f16"  ? "float16"
                             : lower == "bf16" ? "bfloat16"
                                               : lower;
    std::optional<DType> dtype;
    for (int i = 0; i <= static_cast<int>(DType::uint64); ++i)
      if (can_encode(static_cast<DType>(i)) && encoding_of(static_cast<DType>(i)).name == full)
        dtype = static_cast<DType>(i);
    if (!dtype && std::regex_match(lower, std::regex("q[2-6]_k_(s|m|l|xl)")))
      throw UsageError(
          fmt::format("--to has {}, which in llama.cpp is a mix of encodings; expected {} for all matrices, or --bits "
                      "or --fit, which choose an encoding for each",
                      quote(word), lower.substr(0, 4)));
    if (!dtype)
      throw UsageError(fmt::format("--to has {}; expected one of: {}", quote(word), fmt::join(encoding_words(), " ")));
    found.push_back(*dtype);
  }
  return found;
}

// What llama.cpp calls a file by the encoding of most of its weights (its enumeration of file types).
std::uint32_t file_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 0;
    case DType::float16:
      return 1;
    case DType::q4_0:
      return 2;
    case DType::q4_1:
      return 3;
    case DType::q8_0:
      return 7;
    case DType::q5_0:
      return 8;
    case DType::q5_1:
      return 9;
    case DType::q2_k:
      return 10;
    case DType::q3_k:
      return 11;
    case DType::q4_k:
      return 14;
    case DType::q5_k:
      return 16;
    case DType::q6_k:
      return 18;
    case DType::iq4_nl:
      return 25;
    case DType::iq4_xs:
      return 30;
    case DType::bfloat16:
      return 32;
    case DType::mxfp4:
      return 38;
    default:
      return 1024;  // guessed from the tensors
  }
}

// By elements.
DType most_common(const ModelExport& model, const std::vector<DType>& types) {
  std::map<DType, std::int64_t> elements;
  for (std::size_t i = 0; i < types.size(); ++i) elements[types[i]] += model.tensors()[i].elements();
  return std::max_element(elements.begin(), elements.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// A config.json for tensors of these types. What it says of the type of weights stays where tensors do: it may be that
// of the vectors, or of what was quantised.
nlohmann::ordered_json config_for(const nlohmann::ordered_json& config, const ModelExport& model, bool random,
                                  const std::vector<DType>& types) {
  std::vector<DType> stored;
  for (const ExportedTensor& tensor : model.tensors()) stored.push_back(tensor.stored);
  const DType most = most_common(model, types);
  if (is_quantised(most)) return config;
  nlohmann::ordered_json plain = unquantised_config(config);
  if (!random && plain == config && most_common(model, stored) == most) return plain;
  return config_of_type(std::move(plain), most);
}

// …and what a file says of its encodings.
std::vector<GgufPair> with_types(std::span<const GgufPair> pairs, DType most) {
  std::vector<GgufPair> all(pairs.begin(), pairs.end());
  all.push_back(gguf_pair("general.file_type", file_type(most)));
  all.push_back(gguf_pair("general.quantization_version", std::uint32_t{2}));
  return all;
}

// The first tokens of a text, at most so many.
std::vector<std::int32_t> read_ids(const QuantizeOptions& asked, const std::string& file, const Model& model,
                                   std::int64_t most, const char* purpose) {
  const Tokenizer tokenizer = model_tokenizer(asked.tokenizer, asked.run.model, "");
  const TextFile text = text_input(file);
  if (text.text().empty()) throw UsageError(fmt::format("{} is empty; expected a text to {}", quote(file), purpose));
  std::vector<std::int32_t> ids = encode_something(tokenizer, text.text(), quote(file));
  check_vocabulary(ids, tokenizer, model);
  if (std::ssize(ids) > most) ids.resize(static_cast<std::size_t>(most));
  return ids;
}

Importance calibrate(const QuantizeOptions& asked, const std::shared_ptr<const LoadedModel>& loaded,
                     std::span<const std::int32_t> ids, Pool& pool) {
  if (ids.empty()) return {};
  const Model& model = loaded->model();
  EngineOptions options = engine_options(asked.run);
  options.capacity = std::min({calibration_window, model.context, std::int64_t(std::ssize(ids))});
  ProgressLine progress;
  return measure_importance(loaded, ids, options, pool,
                            [&](std::int64_t done) { progress.show("calibrating", done, std::ssize(ids)); });
}

// What an engine is made for that reads these, or what it writes itself.
std::vector<double> sensitivity(const QuantizeOptions& asked, const std::shared_ptr<const LoadedModel>& loaded,
                                const ModelExport& model, const Importance& importance,
                                std::span<const std::int32_t> ids, Pool& pool) {
  EngineOptions options = engine_options(asked.run);
  options.capacity = std::min(calibration_window, loaded->model().context);
  ProgressLine progress;
  return measure_sensitivity(
      loaded, model, importance, ids.first(std::min<std::size_t>(ids.size(), calibration_window)), options, pool,
      [&](std::string_view what, std::int64_t done, std::int64_t all) { progress.show(what, done, all); });
}

// What every tensor becomes in a GGUF file.
std::vector<DType> choose_types(const QuantizeOptions& asked, const std::shared_ptr<const LoadedModel>& loaded,
                                const ModelExport& model, std::span<const GgufPair> pairs, const Importance& importance,
                                std::span<const std::int32_t> ids, Pool& pool) {
  std::vector<DType> wanted = asked.to.empty() ? std::vector<DType>{} : parse_encodings(asked.to);
  std::vector<DType> types;
  std::int64_t elements = 0;
  for (const ExportedTensor& tensor : model.tensors()) elements += tensor.elements();
  if (asked.bits || asked.fit > 0) {
    if (wanted.empty())
      wanted = {DType::q2_k, DType::q3_k, DType::iq4_xs, DType::q4_k, DType::q5_k, DType::q6_k, DType::q8_0};
    auto bytes = asked.bits ? static_cast<std::int64_t>(*asked.bits * static_cast<double>(elements) / 8) : asked.fit;
    if (!asked.bits) {
      const std::int64_t header = gguf_header_bytes(model, with_types(pairs, DType::float32));
      if (bytes <= header)
        throw UsageError(fmt::format("--fit is {} bytes; expected more than the {} that stand before the tensors",
                                     grouped(bytes), grouped(header)));
      bytes -= header;
    }
    const std::vector<double> counts = sensitivity(asked, loaded, model, importance, ids, pool);
    ProgressLine progress;
    return choose_encodings(
               model, wanted, bytes, importance, counts, pool,
               [&](std::int64_t done, std::int64_t all) { progress.show("measuring encodings", done, all); })
        .types;
  }
  for (std::size_t i = 0; i < model.tensors().size(); ++i) {
    const ExportedTensor& tensor = model.tensors()[i];
    const bool kept = wanted.empty() || (!tensor.quantisable && !model.as_stored(i, tensor.stored).empty());
    if (kept && (tensor.quantisable || !model.as_stored(i, tensor.stored).empty()))
      types.push_back(tensor.stored);
    else
      types.push_back(wanted.empty() ? DType::float32 : exported_type(tensor, wanted.front()));
  }
  return types;
}

// The model's tokenizer; where there is none, or it cannot be written, a note says so.
std::vector<GgufPair> tokenizer_pairs(const QuantizeOptions& asked, const Model& model) {
  const std::optional<TokenId> begin = begin_of_text_id(asked.run.model);
  const std::vector<TokenId> ends = end_of_text_ids(asked.run.model);
  try {
    const Tokenizer tokenizer = model_tokenizer(asked.tokenizer, asked.run.model, "");
    return gguf_tokenizer(tokenizer.spec(), model.vocab_size, begin, ends);
  } catch (const Error& error) {
    note(fmt::format("{} has no tokenizer: {}", asked.out, error.what()));
    return no_gguf_tokenizer(model.vocab_size, begin, ends);
  }
}

// Of the files beside the weights, those that say how to use the model.
void copy_beside(const fs::path& from, const fs::path& to) {
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json",
                           "merges.txt", "generation_config.json", chat_template_name})
    if (fs::is_regular_file(from / name)) atomic_write(to / name, read_text(from / name, largest_beside));
}

// The tokenizer of a GGUF file as a tokenizer.json; empty where there is none that can be read, and a note says so.
std::string tokenizer_json(const QuantizeOptions& asked) {
  try {
    return write_tokenizer_json(model_tokenizer(asked.tokenizer, asked.run.model, "").spec());
  } catch (const Error& error) {
    note(fmt::format("{} has no tokenizer: {}", asked.out, error.what()));
    return "";
  }
}

// The ids that begin and end a text, as a generation_config.json has them; empty where the model has none.
nlohmann::ordered_json boundary_ids(const std::string& model) {
  nlohmann::ordered_json ids = nlohmann::ordered_json::object();
  if (const std::optional<std::int32_t> begin = begin_of_text_id(model)) ids["bos_token_id"] = *begin;
  const std::vector<std::int32_t> ends = end_of_text_ids(model);
  if (ends.size() == 1)
    ids["eos_token_id"] = ends.front();
  else if (!ends.empty())
    ids["eos_token_id"] = ends;
  return ids;
}

std::vector<WrittenTensor> write_folder(const QuantizeOptions& asked, const LoadedModel& loaded,
                                        const ModelLocation& location, bool from_gguf, Pool& pool) {
  FolderForm form{loaded.model(), load_described(asked.run.model).config};
  nlohmann::ordered_json ids;
  std::optional<DType> vectors;
  std::string tokenizer, chat;
  if (from_gguf) {
    const TensorFile source = read_tensor_file(location.weights);
    const nlohmann::json& pairs = source.files.front().pairs;
    form = folder_form(loaded.model(), form.config, pairs);
    vectors = type_of_vectors(pairs);
    ids = boundary_ids(asked.run.model);
    tokenizer = tokenizer_json(asked);
    if (const auto found = pairs.find(chat_template_key); found != pairs.end() && found->is_string())
      chat = found->get<std::string>();
    for (const auto& [key, value] : ids.items())
      if (!form.config.contains(key)) form.config[key] = value;
  }
  const ModelExport all = ModelExport::to_folder(loaded.model(), loaded.weights(), form.model);
  std::vector<DType> types;
  for (const ExportedTensor& tensor : all.tensors())
    types.push_back(asked.to.empty() ? folder_type(tensor, vectors) : parse_encodings(asked.to).front());
  ProgressLine progress;
  std::vector<WrittenTensor> written = write_folder_model(
      asked.out, all, config_for(form.config, all, asked.run.random.has_value(), types).dump(2) + "\n", types, pool,
      [&](std::int64_t done, std::int64_t of) { progress.show("writing", done, of); });
  const fs::path folder = asked.out;
  if (!tokenizer.empty()) atomic_write(folder / "tokenizer.json", tokenizer);
  if (!chat.empty()) atomic_write(folder / chat_template_name, chat);
  if (!ids.empty()) atomic_write(folder / "generation_config.json", ids.dump(2) + "\n");
  if (!from_gguf && !location.folder.empty()) copy_beside(location.folder, folder);
  return written;
}

// What converters take from there, as a text: a file of its own goes before.
std::optional<GgufPair> chat_template(const fs::path& folder) {
  if (folder.empty()) return std::nullopt;
  if (const fs::path own = folder / chat_template_name; fs::is_regular_file(own))
    return gguf_pair(chat_template_key, read_text(own, largest_beside));
  const fs::path file = folder / "tokenizer_config.json";
  if (!fs::is_regular_file(file)) return std::nullopt;
  const auto config = read_json_file(file, file.string(), "a tokenizer_config.json");
  const auto found = config.find("chat_template");
  if (found == config.end() || !found->is_string()) return std::nullopt;
  return gguf_pair(chat_template_key, found->get<std::string>());
}

// The config.json that the pairs carry becomes that of these types.
void set_carried_config(std::vector<GgufPair>& pairs, const ModelExport& model, bool random,
                        const std::vector<DType>& types) {
  for (GgufPair& pair : pairs) {
    if (pair.key != config_key || !pair.value.is_string()) continue;
    const auto config = nlohmann::ordered_json::parse(pair.value.get_ref<const std::string&>(), nullptr, false);
    if (config.is_object()) pair = gguf_pair(config_key, config_for(config, model, random, types).dump());
  }
}

// What blocks lost once, other blocks cannot give back.
void note_quantised_again(const QuantizeOptions& asked, const ModelExport& model, const std::vector<DType>& types) {
  std::int64_t tensors = 0;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const DType from = model.tensors()[i].stored;
    tensors += is_quantised(from) && is_quantised(types[i]) && from != types[i];
  }
  if (tensors > 0)
    note(fmt::format(
        "{} tensor{} of {} {} quantised already, and so a second time in {}: made of the model that it was "
        "made of, that would lose less",
        grouped(tensors), tensors == 1 ? "" : "s", asked.run.model, tensors == 1 ? "is" : "are", asked.out));
}

std::vector<WrittenTensor> write_gguf_file(const QuantizeOptions& asked, const ModelExport& model,
                                           const std::vector<GgufPair>& pairs, const std::vector<DType>& types,
                                           const Importance& importance, Pool& pool) {
  note_quantised_again(asked, model, types);
  ProgressLine progress;
  return write_gguf_model(asked.out, model, with_types(pairs, most_common(model, types)), types, importance, pool,
                          [&](std::int64_t done, std::int64_t all) { progress.show("quantizing", done, all); });
}

// What a GGUF file of the model says beside its tensors, but for the tokenizer.
std::vector<GgufPair> described_pairs(const QuantizeOptions& asked, const ModelExport& model, bool from_gguf) {
  std::vector<GgufPair> pairs = model.pairs();
  if (from_gguf) return pairs;
  pairs.push_back(gguf_pair("general.type", "model"));
  pairs.push_back(gguf_pair(config_key, load_described(asked.run.model).config.dump()));
  pairs.push_back(gguf_pair("general.name", fs::path(asked.run.model).filename().string()));
  return pairs;
}

ModelExport export_gguf(const QuantizeOptions& asked, const LoadedModel& loaded, const ModelLocation& location,
                        bool from_gguf) {
  if (from_gguf) return ModelExport::from_gguf(loaded.model(), loaded.weights(), read_tensor_file(location.weights));
  try {
    return ModelExport::to_gguf(loaded.model(), loaded.weights());
  } catch (const Error& error) {
    throw Error(fmt::format("{}; {}", error.what(),
                            asked.table ? "the rows of --table are GGUF files, so that this model has none"
                                        : "a folder as --out is written as safetensors"));
  }
}

void write_table(const QuantizeOptions& asked, const std::shared_ptr<const LoadedModel>& loaded,
                 const ModelExport& model, bool from_gguf, std::span<const std::int32_t> ids,
                 const Importance& importance, Pool& pool) {
  EncodingTableOptions options;
  options.encodings = asked.to.empty()
                          ? std::vector<DType>{DType::bfloat16, DType::q8_0,  DType::q6_k, DType::q5_k, DType::q5_1,
                                               DType::q5_0,     DType::q4_k,  DType::q4_1, DType::q4_0, DType::iq4_nl,
                                               DType::iq4_xs,   DType::mxfp4, DType::q3_k, DType::q2_k}
                          : parse_encodings(asked.to);
  options.ids = ids;
  options.engine = engine_options(asked.run);
  options.beside = bytes_to_take(asked.run, loaded->model());
  try {
    options.profile = read_hardware(std::string(this_machine)).profile;
  } catch (const Error& error) {
    options.no_profile = error.what();
  }
  EncodingTable table;
  {
    ProgressLine progress;
    table = encoding_table(
        loaded, model, described_pairs(asked, model, from_gguf), importance, options, pool,
        [&](std::string_view what, std::int64_t done, std::int64_t all) { progress.show(what, done, all); });
  }
  const std::string& name = loaded->model().name;
  if (!asked.svg.empty()) write_file(asked.svg, encoding_table_svg(name, table));
  if (!draws_alone(asked.svg, asked.output)) write_report(encoding_table_document(name, table), asked.output);
}

void check_table(const QuantizeOptions& asked) {
  if (asked.table) {
    if (!asked.out.empty()) throw UsageError("--table writes no model; expected no --out with it");
    if (asked.bits || asked.fit > 0)
      throw UsageError("--table has a row for each encoding; expected no --bits or --fit with it");
    if (!asked.svg.empty() && asked.text.empty())
      throw UsageError("--svg draws the loss on a text; expected TEXT with it");
    return;
  }
  if (!asked.text.empty()) throw UsageError("a text to score is given; expected --table with it");
  if (!asked.svg.empty()) throw UsageError("--svg draws a table; expected --table with it");
  if (asked.out.empty()) throw UsageError("nowhere to write to; expected --out, or --table");
}

void run(const QuantizeOptions& asked) {
  check_table(asked);
  const bool gguf = CLI::detail::to_lower(asked.out).ends_with(".gguf");
  if (asked.bits && asked.fit > 0) throw UsageError("give one of --bits and --fit: how large the file may be");
  const std::vector<DType> wanted = asked.to.empty() ? std::vector<DType>{} : parse_encodings(asked.to);
  if (wanted.size() > 1 && !asked.bits && asked.fit == 0 && !asked.table)
    throw UsageError("--to has several encodings; expected one, or --bits or --fit to choose among them");
  for (const DType dtype : wanted)
    if (!gguf && !asked.table && is_quantised(dtype))
      throw UsageError(
          fmt::format("--out is the folder {}, whose safetensors cannot hold {}; expected a name that ends "
                      "in .gguf",
                      quote(asked.out), encoding_of(dtype).name));
  if (!gguf && (asked.bits || asked.fit > 0))
    throw UsageError("--bits and --fit choose encodings of GGUF files; expected an --out that ends in .gguf");
  if (!gguf && !asked.table && !asked.calibrate.empty())
    throw UsageError(fmt::format(
        "--calibrate keeps exact what blocks would lose, but --out is the folder {}, whose safetensors have none; "
        "expected a name that ends in .gguf",
        quote(asked.out)));
  if (!gguf && !asked.table && fs::exists(fs::path(asked.out) / "model.safetensors.index.json"))
    throw UsageError(
        fmt::format("--out is the folder {}, which holds a model in several files; expected another one, where the new "
                    "model.safetensors stands alone",
                    quote(asked.out)));
  check_file(asked.output.file);
  draws_alone(asked.svg, asked.output);
  check_file(asked.svg);
  if (gguf) check_writable(asked.out);
  Model model = model_to_run(asked.run);
  const std::vector<std::int32_t> ids =
      asked.text.empty() ? std::vector<std::int32_t>() : read_ids(asked, asked.text, model, table_tokens, "score");
  if (ids.size() == 1) throw UsageError("a text of a single token has nothing to predict; expected two or more");
  const InterruptHandler handler;
  // What is only rewritten is read tensor by tensor, and need not fit into memory.
  const bool runs = asked.run.random || asked.table || asked.bits || asked.fit > 0 || !asked.calibrate.empty();
  Weights weights = runs ? weights_to_run(asked.run, model) : Weights::load(model, locate_weights(asked.run.model));
  const auto loaded = std::make_shared<const LoadedModel>(std::move(model), std::move(weights));
  const ModelLocation location = locate_model(asked.run.model);
  const bool from_gguf = location.gguf && !asked.run.random;

  Pool pool(thread_count(asked.run.threads));
  pool.cancel_on(&interrupt_flag());
  const std::vector<std::int32_t> calibrating =
      asked.calibrate.empty() ? std::vector<std::int32_t>()
                              : read_ids(asked, asked.calibrate, loaded->model(), calibration_tokens, "calibrate with");
  const Importance importance = calibrate(asked, loaded, calibrating, pool);
  if (asked.table)
    return write_table(asked, loaded, export_gguf(asked, *loaded, location, from_gguf), from_gguf, ids, importance,
                       pool);
  std::vector<WrittenTensor> written;
  std::int64_t bytes = 0;
  if (gguf) {
    const ModelExport all = export_gguf(asked, *loaded, location, from_gguf);
    std::vector<GgufPair> pairs = described_pairs(asked, all, from_gguf);
    if (!from_gguf) {
      std::vector<GgufPair> more = tokenizer_pairs(asked, loaded->model());
      std::move(more.begin(), more.end(), std::back_inserter(pairs));
      if (std::optional<GgufPair> chat = chat_template(location.folder)) pairs.push_back(std::move(*chat));
    }
    const std::vector<DType> types = choose_types(asked, loaded, all, pairs, importance, calibrating, pool);
    if (!asked.bits && asked.fit == 0) set_carried_config(pairs, all, asked.run.random.has_value(), types);
    written = write_gguf_file(asked, all, pairs, types, importance, pool);
    bytes = static_cast<std::int64_t>(fs::file_size(asked.out));
  } else {
    written = write_folder(asked, *loaded, location, from_gguf, pool);
    bytes = static_cast<std::int64_t>(fs::file_size(fs::path(asked.out) / "model.safetensors"));
  }
  write_report(quantise_document(loaded->model().name, asked.out, bytes, written), asked.output);
}

}  // namespace

void add_quantize(CLI::App& program) {
  const auto asked = std::make_shared<QuantizeOptions>();
  CLI::App& command = add_command(program, "quantize", "a model in other encodings, as GGUF or as a folder",
                                  "  reckon quantize ./model --to q4_k --out small.gguf\n"
                                  "  reckon quantize ./model --to q4_k --calibrate book.txt --out small.gguf\n"
                                  "  reckon quantize ./model --bits 4.5 --out small.gguf --format json\n"
                                  "  reckon quantize big.gguf --fit 4GiB --out small.gguf\n"
                                  "  reckon quantize ./model --table book.txt --svg loss.svg\n"
                                  "  reckon quantize small.gguf --to bf16 --out ./folder");
  add_weights(command, asked->run);
  command.add_option("TEXT", asked->text, "with --table, a text: what each encoding loses on its first 4,096 tokens")
      ->type_name("");
  command.add_flag("--table", asked->table,
                   "write no model, but a row for each encoding (or those of --to): size, tokens/s, loss, and whether "
                   "it fits this machine");
  command.add_option("--svg", asked->svg, "with --table, also draw size against loss; -: in place of the table")
      ->type_name("FILE");
  command
      .add_option(
          "--to", asked->to,
          fmt::format("the encoding of matrices, or several to choose from: {}; also f32, f16, bf16 (as they are)",
                      fmt::join(encoding_words(), " ")))
      ->type_name("q4_k,q6_k");
  command.add_option("--out", asked->out, "the file, whose name ends in .gguf, or a folder for safetensors")
      ->type_name("FILE|FOLDER");
  command.add_option("--calibrate", asked->calibrate, "a text: what its tokens use most stays most exact")
      ->type_name("FILE");
  add_tokenizer_option(command, asked->tokenizer);
  add_number(command, "--bits", asked->bits, 32, "N",
             "chooses encodings by what they lose, for so many bits per weight");
  add_size(command, "--fit", asked->fit, "chooses encodings by what they lose, for a file of so many bytes: 4GiB",
           Bounds{}, Units::bytes);
  add_threads(command, asked->run.threads);
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
