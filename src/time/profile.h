// A device that programs run on, as data: what it computes, keeps and moves in a second, what joins it to others, what
// it draws and costs. The profiles of known devices are JSON files, embedded from src/time/profiles/; a user may
// give others (docs/hardware.md has the form).
#pragma once

#include <reckon/dtype.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reckon {

// What products are computed in. tf32 takes float32 and keeps 10 bits of it; fp8 and fp4 stand for all their forms.
enum class ComputeType { float32, tf32, float16, bfloat16, fp8, int8, fp4 };
inline constexpr ComputeType compute_types[] = {ComputeType::float32,  ComputeType::tf32, ComputeType::float16,
                                                ComputeType::bfloat16, ComputeType::fp8,  ComputeType::int8,
                                                ComputeType::fp4};
std::string_view compute_type_name(ComputeType type);  // as files have it: "bfloat16"

enum class DeviceKind { gpu, tpu, cpu };
std::string_view device_kind_name(DeviceKind kind);

// What a processor's peaks follow from: cores × clock × FLOPs of a core in a cycle.
struct Processor {
  std::int64_t cores = 0;
  std::int64_t clock = 0;  // Hz, that all cores keep up
  // Fused multiply-adds of float32: units × bits / 32 × 2 FLOPs.
  std::int64_t vector_bits = 0, vector_units = 0;
  std::map<ComputeType, std::int64_t> flops_per_cycle;  // of a core, for other types

  bool operator==(const Processor&) const = default;
};

struct Cache {
  std::int64_t level = 1;
  std::int64_t bytes = 0;  // of one such cache
  std::int64_t cores = 1;  // that share it

  bool operator==(const Cache&) const = default;
};

// What joins devices. A group of devices uses the first link of a profile that joins as many.
struct Link {
  std::string name;
  std::int64_t devices = 0;    // that it joins; 0: any number, between nodes
  std::int64_t bandwidth = 0;  // bytes/s of a device in one direction
  double share = 0;            // of it that collectives reach; 0: not known
  double latency = 0;          // seconds until a message has come to the next device; 0: not known
  double small_latency = 0;    // …and a small one, sent at half of the bandwidth; 0: not known

  bool operator==(const Link&) const = default;
};

struct Price {
  double usd_per_hour = 0;  // of a device
  std::string kind;         // whose, and under what terms
  std::string date;         // "2026-03"

  bool operator==(const Price&) const = default;
};

// Where figures come from.
struct Source {
  std::vector<std::string> figures;  // groups of fields: "peak", "memory", …
  std::string title, url;

  bool operator==(const Source&) const = default;
};

// What was measured, where it was.
struct Efficiency {
  struct Matmul {
    ComputeType type = ComputeType::float32;
    std::int64_t m = 0, n = 0, k = 0;
    std::int64_t rate = 0;       // FLOP/s
    std::int64_t cold_rate = 0;  // of a processor, where the matrix (n × k) comes from memory; 0: not measured
    std::optional<DType> blocks = std::nullopt;  // of a processor, in which of GGUF's the matrix lies; none: in none

    bool operator==(const Matmul&) const = default;
  };
  struct Transfer {
    std::int64_t bytes = 0;  // that are gone through
    std::int64_t rate = 0;   // bytes/s

    bool operator==(const Transfer&) const = default;
  };
  // An op of this name (attend, layer_norm …), whatever it is made of.
  struct Operation {
    std::string name;
    ComputeType type = ComputeType::float32;
    std::int64_t work = 0;  // FLOPs, of products and element-wise
    std::int64_t rate = 0;  // FLOP/s
    // Of a processor, whose kernels are not as fast with few rows: the extents of its result but the last, and the
    // first of them. 0: any.
    std::int64_t rows = 0, sequences = 0;

    bool operator==(const Operation&) const = default;
  };
  std::vector<Matmul> matmul;
  std::vector<Transfer> read, write;  // by growing bytes
  std::vector<Operation> operations;  // those of one name, type, rows and sequences by growing work
  double overhead = 0;                // seconds of an operation that does nothing; 0: not measured
  std::int64_t threads = 0;           // of a processor, that all of this was measured with; 0: not said

  bool operator==(const Efficiency&) const = default;
};

struct Profile {
  std::string name;
  std::vector<std::string> aliases;
  std::string title;  // as its vendor calls it
  std::string vendor;
  DeviceKind kind = DeviceKind::gpu;
  std::map<ComputeType, std::int64_t> peak;  // FLOP/s (OP/s of int8), dense: never what sparsity is said to add
  std::int64_t memory_bytes = 0;
  std::int64_t memory_bandwidth = 0;   // bytes/s
  std::optional<Processor> processor;  // where the peaks follow from it
  // Of a GPU: streaming multiprocessors or compute units, which take the tiles of a product; 0: not known.
  std::int64_t multiprocessors = 0;
  std::vector<Cache> caches;          // by level
  std::vector<Link> links;            // by growing numbers of devices
  std::optional<std::int64_t> watts;  // the most that the device itself draws
  std::optional<Price> price;
  std::optional<Efficiency> efficiency;
  std::vector<Source> sources;
  std::string note;  // where sources disagree, and what was assumed

  bool operator==(const Profile&) const = default;
};

// The link that a group of so many devices uses; null: none that is known joins as many.
const Link* link_of(const Profile& profile, std::int64_t devices);

// A link between nodes of so many bytes/s, in place of the profile's own, whose latencies it keeps.
void set_network(Profile& profile, std::int64_t bandwidth);

// `where` names the file in errors. Missing, negative, zero and absurd figures are an Error, and so is a field that is
// not known.
Profile read_profile(const nlohmann::json& json, const std::string& where);
// What read_profile() reads as the same profile.
nlohmann::ordered_json profile_json(const Profile& profile);

// Those of the embedded files, sorted by name.
const std::vector<Profile>& known_profiles();

// Those whose name, alias, title or vendor has `part` in it, in any case.
std::vector<Profile> profiles_with(std::string_view part);

// A number of devices of one kind.
struct Hardware {
  Profile profile;
  std::int64_t devices = 1;
};
// The link between nodes, which are as many devices as the fastest link joins; null: there is one node, or no such link
// is known.
const Link* network_of(const Hardware& hardware);

// "h100", "h100-sxm:8", "./mine.json:16", "this": the name or alias of a known profile, in any case, or the path of a
// file (with a slash or .json), and a number of devices. An Error where `this` was not measured, or on a machine with
// another processor.
Hardware read_hardware(const std::string& text);

// The machine that this runs on, as `reckon calibrate` measured it: a profile of this name, in
// $XDG_CONFIG_HOME/reckon/this.json (~/.config/reckon/this.json). An Error where HOME is wanted and not set.
inline constexpr std::string_view this_machine = "this";
std::filesystem::path this_machine_path();

struct ProfileFile {
  std::string_view name;
  std::string_view text;  // JSON
};
const std::vector<ProfileFile>& profile_files();

}  // namespace reckon
