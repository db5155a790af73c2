// A profile from JSON and to JSON. No figure of a file is trusted: what no device can have is refused, which also finds
// figures that were given in TFLOP/s or GB.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <reckon/error.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "time/profile.h"
#include "files/encoding.h"
#include "model/fields.h"
#include "model/nearest.h"
#include "ops/table.h"

namespace reckon {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t thousand = 1000, million = thousand * thousand, billion = thousand * million,
                       trillion = thousand * billion, quadrillion = thousand * trillion;

// What a figure may be, and how an error says it.
struct Range {
  std::int64_t least, most;
  std::string_view said;
};
constexpr Range flops_range{billion, thousand* quadrillion, "FLOP/s, from 1 GFLOP/s to 1 EFLOP/s"};
constexpr Range memory_range{million, quadrillion, "bytes, from 1 MB to 1 PB"};
constexpr Range bandwidth_range{million, quadrillion, "bytes/s, from 1 MB/s to 1 PB/s"};
constexpr Range cache_range{thousand, trillion, "bytes, from 1 kB to 1 TB"};
constexpr Range clock_range{million, 10 * billion, "Hz, from 1 MHz to 10 GHz"};
constexpr Range watts_range{1, 100 * thousand, "watts, from 1 to 100,000"};
constexpr Range joined_range{2, 10 * million, "devices, from 2 to 10,000,000"};
constexpr Range cores_range{1, 4096, "cores, from 1 to 4,096"};
constexpr Range threads_range{1, 65534, "threads, from 1 to 65,534"};
constexpr Range level_range{1, 9, "a level, from 1 to 9"};
constexpr Range vector_bits_range{32, 4096, "bits, from 32 to 4,096"};
constexpr Range vector_units_range{1, 16, "units, from 1 to 16"};
constexpr Range cycle_range{1, 65536, "FLOPs of a core in a cycle, from 1 to 65,536"};
constexpr Range product_range{million, flops_range.most, "FLOP/s, from 1 MFLOP/s to 1 EFLOP/s"};
constexpr Range operation_range{1, flops_range.most, "FLOP/s, up to 1 EFLOP/s"};  // of a few FLOPs it is low
constexpr Range extent_range{1, std::int64_t{1} << 30, "an extent, from 1 to 2³⁰"};
constexpr Range work_range{1, 1000 * quadrillion, "FLOPs, from 1 to 10¹⁸"};
constexpr Range multiprocessors_range{1, 4096, "multiprocessors, from 1 to 4,096"};
constexpr Range transfer_range{1, quadrillion, "bytes, from 1 to 1 PB"};
constexpr double cheapest = 0.0001, dearest = 10'000;  // USD of a device-hour
constexpr double slowest = 1, longest = 3600;  // seconds of an operation that does nothing, and of one that does much
// What is gone through of a GPU's or TPU's memory: no cache holds this much of it, at most a part.
constexpr std::int64_t large_transfer = std::int64_t{1} << 29;

// The groups of fields that a source can be for.
constexpr std::string_view source_groups[] = {"peak",  "memory", "processor", "caches",
                                              "links", "watts",  "price",     "efficiency"};

std::int64_t figure(Fields& fields, const std::string& name, const Range& range) {
  const std::string expected = fmt::format("{}, as a whole number", range.said);
  const Json* const found = fields.value(name);
  if (!found || !found->is_number()) fields.fail(name, expected);
  std::int64_t value = 0;
  if (found->is_number_float()) {  // 989.4e12
    const auto number = found->get<double>();
    if (number != std::floor(number) || std::abs(number) > 9e18) fields.fail(name, expected);
    value = static_cast<std::int64_t>(number);
  } else if (found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX) {
    fields.fail(name, expected);
  } else {
    value = found->get<std::int64_t>();
  }
  if (value < range.least || value > range.most) fields.fail(name, expected);
  return value;
}

std::string text(Fields& fields, const std::string& name) {
  std::string found = fields.word(name, "");
  if (found.empty()) fields.fail(name, "a text in quotes");
  return found;
}

double positive_up_to(Fields& fields, const std::string& name, double most, const std::string& unit) {
  const double value = fields.number(name, 0);
  if (!(value > 0) || value > most) fields.fail(name, fmt::format("{} above 0, up to {}", unit, most));
  return value;
}

void refuse_unknown(const Fields& fields) {
  const std::vector<Fields::Unread> unread = fields.unread();
  if (!unread.empty())
    fields.refuse(
        fmt::format("{} is {}, which is no field of a profile", unread.front().name, describe(*unread.front().value)));
}

Fields required_object(Fields& fields, const std::string& name, const std::string& expected) {
  std::optional<Fields> object = fields.object(name);
  if (!object) fields.fail(name, expected);
  return *object;
}

// Each element of an array of objects, as `read` makes it; none where the array is missing.
template <class Read>
auto elements(Fields& fields, const std::string& name, Read read) {
  std::vector<decltype(read(fields))> all;
  const Json* const array = fields.array(name);
  for (std::size_t i = 0; array && i < array->size(); ++i) {
    Fields element((*array)[i], fields.where(), fmt::format("{}[{}].", fields.spelled(name), i));
    all.push_back(read(element));
    refuse_unknown(element);
  }
  return all;
}

std::vector<std::string> texts(Fields& fields, const std::string& name) {
  std::vector<std::string> all;
  if (const Json* const array = fields.array(name)) {
    for (const Json& element : *array) {
      if (!element.is_string()) fields.fail(name, "an array of texts");
      all.push_back(element.get<std::string>());
    }
  }
  return all;
}

ComputeType compute_type(Fields& fields, const std::string& name) {
  const std::string word = text(fields, name);
  std::vector<std::string_view> names;
  for (ComputeType type : compute_types) {
    if (compute_type_name(type) == word) return type;
    names.push_back(compute_type_name(type));
  }
  fields.fail(name, fmt::format("one of {}", fmt::join(names, ", ")));
}

DType blocks(Fields& fields, const std::string& name) {
  const std::string word = text(fields, name);
  std::vector<std::string_view> names;
  for (auto dtype = DType::q2_k; is_quantised(dtype); dtype = static_cast<DType>(static_cast<int>(dtype) + 1)) {
    names.push_back(encoding_of(dtype).name);
    if (names.back() == word) return dtype;
  }
  fields.fail(name, fmt::format("one of {}", fmt::join(names, ", ")));
}

std::map<ComputeType, std::int64_t> by_type(Fields& fields, const Range& range) {
  std::map<ComputeType, std::int64_t> found;
  for (ComputeType type : compute_types) {
    const std::string name(compute_type_name(type));
    if (fields.present(name)) found[type] = figure(fields, name, range);
  }
  refuse_unknown(fields);
  return found;
}

DeviceKind device_kind(Fields& fields) {
  const std::string word = fields.word("kind", "");
  for (DeviceKind kind : {DeviceKind::gpu, DeviceKind::tpu, DeviceKind::cpu})
    if (device_kind_name(kind) == word) return kind;
  fields.fail("kind", "gpu, tpu or cpu");
}

Processor read_processor(Fields fields) {
  Processor processor;
  processor.cores = figure(fields, "cores", cores_range);
  processor.clock = figure(fields, "clock", clock_range);
  processor.vector_bits = figure(fields, "vector_bits", vector_bits_range);
  processor.vector_units = figure(fields, "vector_units", vector_units_range);
  if (std::optional<Fields> others = fields.object("flops_per_cycle")) {
    processor.flops_per_cycle = by_type(*others, cycle_range);
    if (processor.flops_per_cycle.count(ComputeType::float32))
      others->fail("float32", "no such field: that of float32 follows from the vector units");
  }
  refuse_unknown(fields);
  return processor;
}

// The ranges of a processor's figures keep these products within 64 bits.
std::map<ComputeType, std::int64_t> peak_of(const Processor& processor, const Fields& fields) {
  std::map<ComputeType, std::int64_t> per_cycle = processor.flops_per_cycle;
  per_cycle[ComputeType::float32] = processor.vector_units * (processor.vector_bits / 32) * 2;
  for (auto& [type, flops] : per_cycle) {
    flops *= processor.cores * processor.clock;
    if (flops < flops_range.least || flops > flops_range.most)
      fields.refuse(fmt::format("the peak of {} that follows from processor is {}; expected {}",
                                compute_type_name(type), flops, flops_range.said));
  }
  return per_cycle;
}

std::map<ComputeType, std::int64_t> read_peak(Fields& fields, const std::optional<Processor>& processor) {
  std::map<ComputeType, std::int64_t> peak;
  if (!processor || fields.has("peak")) {
    Fields types = required_object(fields, "peak", "an object of FLOP/s by type, or a processor");
    peak = by_type(types, flops_range);
  }
  if (!processor) {
    if (peak.empty()) fields.fail("peak", "FLOP/s of at least one type");
    return peak;
  }
  std::map<ComputeType, std::int64_t> computed = peak_of(*processor, fields);
  for (const auto& [type, flops] : peak) {
    const std::int64_t expected = computed.count(type) ? computed.at(type) : 0;
    if (flops != expected)
      fields.refuse(fmt::format("peak.{} is {}, but cores, clock and vector units of the processor give {}",
                                compute_type_name(type), flops, expected));
  }
  return computed;
}

void check_caches(const Profile& profile, const Fields& fields) {
  for (std::size_t i = 0; i < profile.caches.size(); ++i) {
    const Cache& cache = profile.caches[i];
    if (i > 0 && cache.level <= profile.caches[i - 1].level)
      fields.refuse(fmt::format("caches[{}].level is {}; expected one above the level before, {}", i, cache.level,
                                profile.caches[i - 1].level));
    if (profile.processor && cache.cores > profile.processor->cores)
      fields.refuse(fmt::format("caches[{}].cores is {}; expected at most the processor's {} cores", i, cache.cores,
                                profile.processor->cores));
  }
}

void check_links(const std::vector<Link>& links, const Fields& fields) {
  for (std::size_t i = 1; i < links.size(); ++i) {
    if (links[i - 1].devices == 0)
      fields.refuse(fmt::format("links[{}].devices is missing; expected it in all but the last link", i - 1));
    if (links[i].devices != 0 && links[i].devices <= links[i - 1].devices)
      fields.refuse(fmt::format("links[{}].devices is {}; expected more than the {} of the link before", i,
                                links[i].devices, links[i - 1].devices));
  }
}

Source read_source(Fields& fields) {
  // What was measured by ourselves stands nowhere else.
  const bool own = fields.has("for") && texts(fields, "for") == std::vector<std::string>{"efficiency"};
  Source source{texts(fields, "for"), text(fields, "title"),
                own && !fields.has("url") ? std::string() : text(fields, "url")};
  if (own && source.url.empty()) return source;
  const auto known = [](const std::string& group) {
    return std::count(std::begin(source_groups), std::end(source_groups), group) > 0;
  };
  if (source.figures.empty() || !std::all_of(source.figures.begin(), source.figures.end(), known))
    fields.fail("for", fmt::format("an array with some of {}", fmt::join(source_groups, ", ")));
  if (!source.url.starts_with("https://") && !source.url.starts_with("http://"))
    fields.fail("url", "an address that begins with https://");
  return source;
}

std::vector<Efficiency::Transfer> read_transfers(Fields& fields, const std::string& name) {
  std::vector<Efficiency::Transfer> all = elements(fields, name, [](Fields& point) {
    return Efficiency::Transfer{figure(point, "bytes", transfer_range), figure(point, "rate", bandwidth_range)};
  });
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].bytes <= all[i - 1].bytes)
      fields.refuse(fmt::format("{}[{}].bytes is {}; expected more than the {} before", fields.spelled(name), i,
                                all[i].bytes, all[i - 1].bytes));
  }
  return all;
}

std::string operation_name(Fields& fields) {
  std::string name = text(fields, "name");
  for (const Operation* operation : all_operations())
    if (operation->name == name) return name;
  std::vector<std::string> names;
  for (const Operation* operation : all_operations()) names.emplace_back(operation->name);
  const std::string close = nearest(name, names);
  fields.fail("name", "the name of an operation" + (close.empty() ? "" : fmt::format(", such as {}", close)));
}

std::vector<Efficiency::Operation> read_operations(Fields& fields) {
  std::vector<Efficiency::Operation> all = elements(fields, "operations", [](Fields& point) {
    Efficiency::Operation operation{operation_name(point),
                                    compute_type(point, "type"),
                                    figure(point, "work", work_range),
                                    figure(point, "rate", operation_range),
                                    0,
                                    0};
    if (static_cast<double>(operation.work) / static_cast<double>(operation.rate) > longest)
      point.fail("rate", fmt::format("FLOP/s with which {} FLOPs take an hour at most", operation.work));
    if (point.has("rows") || point.has("sequences")) {
      operation.rows = figure(point, "rows", extent_range);
      operation.sequences = figure(point, "sequences", extent_range);
    }
    return operation;
  });
  std::map<std::tuple<std::string, ComputeType, std::int64_t, std::int64_t>, std::int64_t> last;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::int64_t& before = last[{all[i].name, all[i].type, all[i].rows, all[i].sequences}];
    if (all[i].work <= before)
      fields.refuse(fmt::format("{}[{}].work is {}; expected more than the {} of the {} before",
                                fields.spelled("operations"), i, all[i].work, before, all[i].name));
    before = all[i].work;
  }
  return all;
}

Efficiency read_efficiency(Fields fields) {
  Efficiency efficiency;
  efficiency.matmul = elements(fields, "matmul", [](Fields& point) {
    Efficiency::Matmul matmul{compute_type(point, "type"),
                              figure(point, "m", extent_range),
                              figure(point, "n", extent_range),
                              figure(point, "k", extent_range),
                              0,
                              0};
    matmul.rate = figure(point, "rate", product_range);
    if (point.has("cold_rate")) matmul.cold_rate = figure(point, "cold_rate", product_range);
    if (point.has("blocks")) matmul.blocks = blocks(point, "blocks");
    return matmul;
  });
  using Product = std::tuple<ComputeType, std::optional<DType>, std::int64_t, std::int64_t, std::int64_t>;
  std::map<Product, std::size_t> first;
  for (std::size_t i = 0; i < efficiency.matmul.size(); ++i) {
    const Efficiency::Matmul& point = efficiency.matmul[i];
    const auto [same, added] = first.try_emplace({point.type, point.blocks, point.m, point.n, point.k}, i);
    if (!added)
      fields.refuse(fmt::format("{0}[{1}] is of the same type, m, n and k as {0}[{2}]; expected one of them",
                                fields.spelled("matmul"), i, same->second));
  }
  efficiency.read = read_transfers(fields, "read");
  efficiency.write = read_transfers(fields, "write");
  efficiency.operations = read_operations(fields);
  if (fields.has("overhead")) efficiency.overhead = positive_up_to(fields, "overhead", slowest, "seconds");
  if (fields.has("threads")) efficiency.threads = figure(fields, "threads", threads_range);
  refuse_unknown(fields);
  return efficiency;
}

// No rate that was measured is above the peak. A processor's is that of its base clock, which its cores leave behind
// them, but not many times over (other ops than products are too short to be measured well). Nor is that of what no
// cache of another device holds far above its memory's.
void check_rates(const Profile& profile, const Fields& fields) {
  const bool processor = profile.kind == DeviceKind::cpu;
  const std::int64_t times = processor ? 10 : 1;
  const auto check = [&](const std::string& name, ComputeType type, std::int64_t rate) {
    const auto peak = profile.peak.find(type);
    if (peak == profile.peak.end() || (rate - 1) / times < peak->second) return;
    fields.refuse(fmt::format("{} is {}; expected at most {}peak.{}, {}", name, rate,
                              processor ? fmt::format("{} times ", times) : "", compute_type_name(type), peak->second));
  };
  const Efficiency& measured = *profile.efficiency;
  for (std::size_t i = 0; i < measured.matmul.size(); ++i) {
    const Efficiency::Matmul& point = measured.matmul[i];
    check(fmt::format("efficiency.matmul[{}].rate", i), point.type, point.rate);
    check(fmt::format("efficiency.matmul[{}].cold_rate", i), point.type, point.cold_rate);
  }
  const auto check_transfers = [&](const char* name, const std::vector<Efficiency::Transfer>& points) {
    for (std::size_t i = 0; i < points.size(); ++i)
      if (points[i].bytes >= large_transfer && points[i].rate / 2 > profile.memory_bandwidth)
        fields.refuse(fmt::format("efficiency.{}[{}].rate is {}; expected at most 2 times memory.bandwidth, {}", name,
                                  i, points[i].rate, profile.memory_bandwidth));
  };
  if (processor) return;
  check_transfers("read", measured.read);
  check_transfers("write", measured.write);
  for (std::size_t i = 0; i < measured.operations.size(); ++i)
    check(fmt::format("efficiency.operations[{}].rate", i), measured.operations[i].type, measured.operations[i].rate);
}

OrderedJson json_of(const std::map<ComputeType, std::int64_t>& figures) {
  OrderedJson json = OrderedJson::object();
  for (const auto& [type, value] : figures) json[std::string(compute_type_name(type))] = value;
  return json;
}

OrderedJson json_of(const Processor& processor) {
  OrderedJson json = {{"cores", processor.cores},
                      {"clock", processor.clock},
                      {"vector_bits", processor.vector_bits},
                      {"vector_units", processor.vector_units}};
  if (!processor.flops_per_cycle.empty()) json["flops_per_cycle"] = json_of(processor.flops_per_cycle);
  return json;
}

OrderedJson json_of(const Link& link) {
  OrderedJson json = {{"name", link.name}};
  if (link.devices != 0) json["devices"] = link.devices;
  json["bandwidth"] = link.bandwidth;
  if (link.share > 0) json["share"] = link.share;
  if (link.latency > 0) json["latency"] = link.latency;
  if (link.small_latency > 0) json["small_latency"] = link.small_latency;
  return json;
}

OrderedJson json_of(const Cache& cache) {
  return {{"level", cache.level}, {"bytes", cache.bytes}, {"cores", cache.cores}};
}

OrderedJson json_of(const Source& source) {
  OrderedJson json = {{"for", source.figures}, {"title", source.title}};
  if (!source.url.empty()) json["url"] = source.url;
  return json;
}

OrderedJson json_of(const Efficiency::Matmul& point) {
  OrderedJson json = {{"type", compute_type_name(point.type)}};
  if (point.blocks) json["blocks"] = encoding_of(*point.blocks).name;
  json.update({{"m", point.m}, {"n", point.n}, {"k", point.k}, {"rate", point.rate}});
  if (point.cold_rate > 0) json["cold_rate"] = point.cold_rate;
  return json;
}

OrderedJson json_of(const Efficiency::Operation& point) {
  OrderedJson json = {{"name", point.name}, {"type", compute_type_name(point.type)}};
  if (point.rows > 0) json["rows"] = point.rows;
  if (point.sequences > 0) json["sequences"] = point.sequences;
  json["work"] = point.work;
  json["rate"] = point.rate;
  return json;
}

OrderedJson json_of(const Efficiency::Transfer& point) { return {{"bytes", point.bytes}, {"rate", point.rate}}; }

template <class Element>
void put(OrderedJson& json, const char* name, const std::vector<Element>& elements) {
  for (const Element& element : elements) json[name].push_back(json_of(element));
}

OrderedJson json_of(const Efficiency& efficiency) {
  OrderedJson json = OrderedJson::object();
  put(json, "matmul", efficiency.matmul);
  put(json, "read", efficiency.read);
  put(json, "write", efficiency.write);
  put(json, "operations", efficiency.operations);
  if (efficiency.overhead > 0) json["overhead"] = efficiency.overhead;
  if (efficiency.threads > 0) json["threads"] = efficiency.threads;
  return json;
}

}  // namespace

Profile read_profile(const Json& json, const std::string& where) {
  Fields fields(json, where);
  Profile profile;
  profile.name = text(fields, "name");
  profile.aliases = texts(fields, "aliases");
  profile.title = fields.word("title", profile.name);
  profile.vendor = fields.word("vendor", "");
  profile.kind = device_kind(fields);
  if (std::optional<Fields> processor = fields.object("processor")) profile.processor = read_processor(*processor);
  profile.peak = read_peak(fields, profile.processor);
  if (fields.has("multiprocessors")) profile.multiprocessors = figure(fields, "multiprocessors", multiprocessors_range);
  Fields memory = required_object(fields, "memory", "an object with bytes and bandwidth");
  profile.memory_bytes = figure(memory, "bytes", memory_range);
  profile.memory_bandwidth = figure(memory, "bandwidth", bandwidth_range);
  refuse_unknown(memory);
  profile.caches = elements(fields, "caches", [](Fields& cache) {
    return Cache{figure(cache, "level", level_range), figure(cache, "bytes", cache_range),
                 cache.has("cores") ? figure(cache, "cores", cores_range) : 1};
  });
  check_caches(profile, fields);
  profile.links = elements(fields, "links", [](Fields& link) {
    return Link{text(link, "name"),
                link.has("devices") ? figure(link, "devices", joined_range) : 0,
                figure(link, "bandwidth", bandwidth_range),
                link.has("share") ? positive_up_to(link, "share", 1, "a share of the bandwidth") : 0,
                link.has("latency") ? positive_up_to(link, "latency", slowest, "seconds") : 0,
                link.has("small_latency") ? positive_up_to(link, "small_latency", slowest, "seconds") : 0};
  });
  check_links(profile.links, fields);
  if (fields.has("watts")) profile.watts = figure(fields, "watts", watts_range);
  if (std::optional<Fields> price = fields.object("price")) {
    const double usd = price->number("usd_per_hour", 0);
    if (usd < cheapest || usd > dearest)
      price->fail("usd_per_hour", fmt::format("USD, from {} to {}", cheapest, dearest));
    profile.price = Price{usd, text(*price, "kind"), text(*price, "date")};
    refuse_unknown(*price);
  }
  if (std::optional<Fields> measured = fields.object("efficiency")) {
    profile.efficiency = read_efficiency(*measured);
    check_rates(profile, fields);
  }
  profile.sources = elements(fields, "sources", read_source);
  profile.note = fields.word("note", "");
  refuse_unknown(fields);
  return profile;
}

OrderedJson profile_json(const Profile& profile) {
  OrderedJson json = {{"name", profile.name}};
  if (!profile.aliases.empty()) json["aliases"] = profile.aliases;
  json["title"] = profile.title;
  if (!profile.vendor.empty()) json["vendor"] = profile.vendor;
  json["kind"] = device_kind_name(profile.kind);
  if (profile.processor) json["processor"] = json_of(*profile.processor);
  json["peak"] = json_of(profile.peak);
  if (profile.multiprocessors > 0) json["multiprocessors"] = profile.multiprocessors;
  json["memory"] = {{"bytes", profile.memory_bytes}, {"bandwidth", profile.memory_bandwidth}};
  put(json, "caches", profile.caches);
  put(json, "links", profile.links);
  if (profile.watts) json["watts"] = *profile.watts;
  if (profile.price) {
    json["price"] = {
        {"usd_per_hour", profile.price->usd_per_hour}, {"kind", profile.price->kind}, {"date", profile.price->date}};
  }
  if (profile.efficiency) json["efficiency"] = json_of(*profile.efficiency);
  put(json, "sources", profile.sources);
  if (!profile.note.empty()) json["note"] = profile.note;
  return json;
}

}  // namespace reckon
