// Profiles of devices: the figures that their vendors publish, the names that find them, and files that are refused.
#include "time/profile.h"

#include <gtest/gtest.h>

#include <set>

#include "files/read_text.h"
#include "folder_fixture.h"
#include "paths.h"
#include "report/hardware.h"

namespace reckon {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t giga = 1'000'000'000, tera = 1000 * giga, gib = std::int64_t{1} << 30;

Profile known(const std::string& name) { return read_hardware(name).profile; }

std::int64_t peak(const std::string& name, ComputeType type) {
  const Profile profile = known(name);
  return profile.peak.count(type) ? profile.peak.at(type) : 0;
}

// NVIDIA, H100 Tensor Core GPU Architecture (whitepaper): dense rates of H100 SXM5; data sheets of the others.
TEST(Hardware, has_the_dense_rates_that_vendors_publish) {
  EXPECT_EQ(peak("h100-sxm", ComputeType::bfloat16), 9894 * tera / 10);
  EXPECT_EQ(peak("h100-sxm", ComputeType::float16), 9894 * tera / 10);
  EXPECT_EQ(peak("h100-sxm", ComputeType::tf32), 4947 * tera / 10);
  EXPECT_EQ(peak("h100-sxm", ComputeType::float32), 669 * tera / 10);
  EXPECT_EQ(peak("h100-sxm", ComputeType::fp8), 19789 * tera / 10);  // not the 3,958 with sparsity
  EXPECT_EQ(peak("h100-pcie", ComputeType::bfloat16), 756 * tera);
  EXPECT_EQ(peak("h100-nvl", ComputeType::bfloat16), 8355 * tera / 10);  // half of 1,671
  EXPECT_EQ(peak("h200", ComputeType::bfloat16), 9894 * tera / 10);
  for (const char* name : {"a100-40gb-sxm", "a100-40gb-pcie", "a100-80gb-sxm", "a100-80gb-pcie"}) {
    EXPECT_EQ(peak(name, ComputeType::float32), 195 * tera / 10) << name;
    EXPECT_EQ(peak(name, ComputeType::tf32), 156 * tera) << name;
    EXPECT_EQ(peak(name, ComputeType::bfloat16), 312 * tera) << name;
    EXPECT_EQ(peak(name, ComputeType::int8), 624 * tera) << name;
    EXPECT_EQ(peak(name, ComputeType::fp8), 0) << name;
  }
  EXPECT_EQ(peak("b200", ComputeType::bfloat16), 2250 * tera);
  EXPECT_EQ(peak("gb200", ComputeType::fp4), 10'000 * tera);
  EXPECT_EQ(peak("mi300x", ComputeType::bfloat16), 13074 * tera / 10);
  EXPECT_EQ(peak("mi325x", ComputeType::fp8), 26149 * tera / 10);
  EXPECT_EQ(peak("tpu-v4", ComputeType::bfloat16), 275 * tera);
  EXPECT_EQ(peak("tpu-v5e", ComputeType::bfloat16), 197 * tera);
  EXPECT_EQ(peak("tpu-v5p", ComputeType::bfloat16), 459 * tera);
  EXPECT_EQ(peak("tpu-v6e", ComputeType::bfloat16), 918 * tera);
  EXPECT_EQ(peak("l4", ComputeType::bfloat16), 121 * tera);
  EXPECT_EQ(peak("l40s", ComputeType::bfloat16), 36205 * tera / 100);
  EXPECT_EQ(peak("a10g", ComputeType::bfloat16), 70 * tera);
  EXPECT_EQ(peak("t4", ComputeType::float16), 65 * tera);
  EXPECT_EQ(peak("t4", ComputeType::bfloat16), 0);
  EXPECT_EQ(peak("rtx-3090", ComputeType::float32), 356 * tera / 10);
  EXPECT_EQ(peak("rtx-4090", ComputeType::bfloat16), 1652 * tera / 10);
  EXPECT_EQ(peak("rtx-5090", ComputeType::bfloat16), 2095 * tera / 10);
}

TEST(Hardware, has_the_memory_and_bandwidth_that_vendors_publish) {
  const struct {
    const char* name;
    std::int64_t bytes, bandwidth;
  } published[] = {
      {"a100-40gb-sxm", 40 * gib, 1555 * giga},
      {"a100-80gb-sxm", 80 * gib, 2039 * giga},
      {"a100-80gb-pcie", 80 * gib, 1935 * giga},
      {"h100-sxm", 80 * gib, 3352 * giga},
      {"h100-nvl", 94 * gib, 3900 * giga},
      {"h200", 141 * gib, 4800 * giga},
      {"b200", 180 * gib, 8000 * giga},
      {"gb200", 186 * gib, 8000 * giga},
      {"mi300x", 192 * gib, 5325 * giga},
      {"mi325x", 256 * gib, 6000 * giga},
      {"tpu-v4", 32 * gib, 1200 * giga},
      {"tpu-v5e", 16 * gib, 819 * giga},
      {"tpu-v5p", 95 * gib, 2765 * giga},
      {"tpu-v6e", 32 * gib, 1638 * giga},
      {"l4", 24 * gib, 300 * giga},
      {"l40s", 48 * gib, 864 * giga},
      {"rtx-4090", 24 * gib, 1008 * giga},
      {"rtx-5090", 32 * gib, 1792 * giga},
      {"apple-m1-ultra", 128 * gib, 800 * giga},
      {"apple-m3-ultra", 512 * gib, 819 * giga},
      {"apple-m4-max", 128 * gib, 546 * giga},
  };
  for (const auto& [name, bytes, bandwidth] : published) {
    EXPECT_EQ(known(name).memory_bytes, bytes) << name;
    EXPECT_EQ(known(name).memory_bandwidth, bandwidth) << name;
  }
}

TEST(Hardware, peaks_of_processors_follow_from_cores_clock_and_vector_units) {
  // 56 cores × 2 GHz × two units of 16 floats × 2 FLOPs; AMX makes 1,024 FLOPs of bfloat16 in a cycle.
  EXPECT_EQ(peak("xeon-8480", ComputeType::float32), 7'168 * giga);
  EXPECT_EQ(peak("xeon-8480", ComputeType::bfloat16), 114'688 * giga);
  // 96 × 2.4 GHz × two units of 8 floats × 2
  EXPECT_EQ(peak("epyc-9654", ComputeType::float32), 7'372'800'000'000);
  EXPECT_EQ(peak("epyc-7763", ComputeType::float32), 5'017'600'000'000);
  EXPECT_EQ(peak("epyc-9755", ComputeType::float32), 22'118'400'000'000);
}

TEST(Hardware, processors_name_their_caches) {
  const std::vector<Cache> milan = known("epyc-7763").caches;
  EXPECT_EQ(milan, (std::vector<Cache>{{1, 32 << 10, 1}, {2, 512 << 10, 1}, {3, 32 << 20, 8}}));
  EXPECT_EQ(known("xeon-8480").caches.back(), (Cache{3, 105 << 20, 56}));
  EXPECT_EQ(known("7840u").caches.back(), (Cache{3, 16 << 20, 8}));  // a laptop's
}

TEST(Hardware, a_group_of_devices_uses_the_first_link_that_joins_as_many) {
  const Profile h100 = known("h100");
  EXPECT_EQ(link_of(h100, 2)->bandwidth, 450 * giga);  // 900 GB/s in both directions
  EXPECT_EQ(link_of(h100, 8)->bandwidth, 450 * giga);
  EXPECT_EQ(link_of(h100, 9)->bandwidth, 50 * giga);  // 400 Gb/s
  EXPECT_EQ(link_of(known("gb200"), 72)->bandwidth, 900 * giga);
  const Profile pcie = known("a100-80gb-pcie");
  EXPECT_EQ(link_of(pcie, 2)->bandwidth, 300 * giga);
  EXPECT_EQ(link_of(pcie, 4)->bandwidth, 32 * giga);
  EXPECT_EQ(link_of(pcie, 9), nullptr);
  EXPECT_EQ(link_of(known("apple-m1"), 2), nullptr);
}

TEST(Hardware, a_network_that_is_given_joins_any_number_in_place_of_the_profiles) {
  Profile card = known("l40s"), h100 = known("h100");
  set_network(card, 12 * giga);
  EXPECT_EQ(link_of(card, 8)->bandwidth, 32 * giga);
  EXPECT_EQ(link_of(card, 64)->bandwidth, 12 * giga);
  set_network(h100, 12 * giga);
  ASSERT_EQ(h100.links.size(), 2u);
  EXPECT_EQ(link_of(h100, 8)->bandwidth, 450 * giga);
  EXPECT_EQ(link_of(h100, 16)->bandwidth, 12 * giga);
}

// A GB200's GPUs are B200s, of 2 × 74.
TEST(Hardware, knows_the_multiprocessors_of_its_newest_gpus) {
  EXPECT_EQ(known("b200").multiprocessors, 148);
  EXPECT_EQ(known("gb200").multiprocessors, 148);
}

TEST(Hardware, is_found_by_name_and_alias_in_any_case_with_a_number_of_devices) {
  EXPECT_EQ(read_hardware("h100").profile.name, "h100-sxm");
  EXPECT_EQ(read_hardware("H100-SXM").profile.name, "h100-sxm");
  EXPECT_EQ(read_hardware("a100").profile.name, "a100-80gb-sxm");
  EXPECT_EQ(read_hardware("4090").profile.name, "rtx-4090");
  EXPECT_EQ(read_hardware("h100").devices, 1);
  EXPECT_EQ(read_hardware("h100:16384").devices, 16384);
}

TEST(Hardware, no_name_or_alias_is_given_twice_and_files_are_called_as_what_they_describe) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < known_profiles().size(); ++i) {
    const Profile& profile = known_profiles()[i];
    EXPECT_EQ(profile.name, profile_files()[i].name);
    EXPECT_TRUE(names.insert(profile.name).second) << profile.name;
    for (const std::string& alias : profile.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
    for (const std::string& name : profile.aliases)
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-+"), std::string::npos) << name;
  }
}

TEST(Hardware, every_group_of_figures_has_a_source) {
  for (const Profile& profile : known_profiles()) {
    std::set<std::string> sourced;
    for (const Source& source : profile.sources) sourced.insert(source.figures.begin(), source.figures.end());
    const auto expect_source = [&](const char* group, bool there) {
      EXPECT_EQ(sourced.count(group) > 0, there) << profile.name << ": " << group;
    };
    expect_source("peak", !profile.processor);
    expect_source("processor", profile.processor.has_value());
    expect_source("memory", true);
    expect_source("caches", !profile.caches.empty());
    expect_source("links", !profile.links.empty());
    expect_source("watts", profile.watts.has_value());
    expect_source("price", profile.price.has_value());
  }
}

TEST(Hardware, a_profile_that_was_written_is_read_as_the_same) {
  for (const Profile& profile : known_profiles())
    EXPECT_EQ(read_profile(profile_json(profile), "written"), profile) << profile.name;
}

Json small() {
  return Json::parse(R"({
    "name": "mine", "kind": "gpu", "peak": {"float32": 1000000000000, "bfloat16": 4e12},
    "memory": {"bytes": 8589934592, "bandwidth": 500000000000}})");
}

TEST(Hardware, a_profile_needs_a_name_a_kind_peaks_and_memory) {
  const Profile profile = read_profile(small(), "mine.json");
  EXPECT_EQ(profile.peak.at(ComputeType::bfloat16), 4 * tera);
  EXPECT_EQ(profile.title, "mine");
  EXPECT_FALSE(profile.watts || profile.price || profile.efficiency || profile.processor);
}

TEST(Hardware, keeps_what_was_measured) {
  Json json = small();
  json["efficiency"] = Json::parse(R"({
    "matmul": [{"type": "bfloat16", "m": 1024, "n": 512, "k": 64, "rate": 700000000000}],
    "read": [{"bytes": 4096, "rate": 90000000000}, {"bytes": 1048576, "rate": 40000000000}],
    "write": [{"bytes": 4096, "rate": 50000000000}],
    "operations": [{"name": "attend", "type": "bfloat16", "work": 1000, "rate": 3000000000},
                   {"name": "attend", "type": "float32", "work": 1000, "rate": 2000000000},
                   {"name": "attend", "type": "float32", "work": 2000, "rate": 4000000000}],
    "overhead": 2.5e-6})");
  json["multiprocessors"] = 46;
  json["links"] = Json::parse(R"([{"name": "wire", "bandwidth": 1000000000, "share": 0.9, "latency": 2e-6}])");
  const Profile profile = read_profile(json, "mine.json");
  ASSERT_TRUE(profile.efficiency);
  EXPECT_EQ(profile.efficiency->matmul.at(0), (Efficiency::Matmul{ComputeType::bfloat16, 1024, 512, 64, 700 * giga}));
  EXPECT_EQ(profile.efficiency->read.at(1), (Efficiency::Transfer{1048576, 40 * giga}));
  EXPECT_EQ(profile.efficiency->operations.at(2),
            (Efficiency::Operation{.name = "attend", .type = ComputeType::float32, .work = 2000, .rate = 4 * giga}));
  EXPECT_EQ(profile.efficiency->overhead, 2.5e-6);
  EXPECT_EQ(profile.multiprocessors, 46);
  EXPECT_EQ(profile.links.at(0), (Link{"wire", 0, giga, 0.9, 2e-6}));
  EXPECT_EQ(read_profile(profile_json(profile), "written"), profile);
}

// The sentence with which a profile is refused that has `value` at a place.
std::string refusal(const std::string& pointer, const Json& value) {
  Json json = small();
  json[Json::json_pointer(pointer)] = value;
  return error_of([&] { read_profile(json, "x.json"); });
}

std::string refusal_without(const std::string& parent, const std::string& name) {
  Json json = small();
  json[Json::json_pointer(parent)].erase(name);
  return error_of([&] { read_profile(json, "x.json"); });
}

TEST(Hardware, a_missing_figure_is_named) {
  EXPECT_EQ(refusal_without("", "name"), "x.json: name is missing; expected a text in quotes");
  EXPECT_EQ(refusal_without("", "kind"), "x.json: kind is missing; expected gpu, tpu or cpu");
  EXPECT_EQ(refusal_without("", "peak"),
            "x.json: peak is missing; expected an object of FLOP/s by type, or a processor");
  EXPECT_EQ(refusal_without("", "memory"), "x.json: memory is missing; expected an object with bytes and bandwidth");
  EXPECT_EQ(refusal_without("/memory", "bytes"),
            "x.json: memory.bytes is missing; expected bytes, from 1 MB to 1 PB, as a whole number");
  EXPECT_EQ(refusal("/peak", Json::object()), "x.json: peak is an object; expected FLOP/s of at least one type");
  EXPECT_EQ(refusal("/price", Json{{"usd_per_hour", 2}}), "x.json: price.kind is missing; expected a text in quotes");
  EXPECT_EQ(refusal("/processor", Json{{"cores", 4}}),
            "x.json: processor.clock is missing; expected Hz, from 1 MHz to 10 GHz, as a whole number");
}

TEST(Hardware, negative_zero_and_absurd_figures_are_refused_with_what_is_possible) {
  const std::string flops = "; expected FLOP/s, from 1 GFLOP/s to 1 EFLOP/s, as a whole number";
  EXPECT_EQ(refusal("/peak/float32", -1), "x.json: peak.float32 is -1" + flops);
  EXPECT_EQ(refusal("/peak/float32", 0), "x.json: peak.float32 is 0" + flops);
  EXPECT_EQ(refusal("/peak/float32", 19.5), "x.json: peak.float32 is 19.5" + flops);  // in TFLOP/s
  EXPECT_EQ(refusal("/peak/float32", 312), "x.json: peak.float32 is 312" + flops);
  EXPECT_EQ(refusal("/peak/fp8", 1'000'000'000'000'000'001), "x.json: peak.fp8 is 1000000000000000001" + flops);
  EXPECT_EQ(refusal("/peak/fp8", UINT64_MAX), "x.json: peak.fp8 is 18446744073709551615" + flops);
  EXPECT_EQ(refusal("/peak/fp8", 1e30), "x.json: peak.fp8 is 1e+30" + flops);
  EXPECT_EQ(refusal("/peak/fp8", nullptr), "x.json: peak.fp8 is null" + flops);
  EXPECT_EQ(refusal("/peak/fp8", "fast"), "x.json: peak.fp8 is \"fast\"" + flops);
  const std::string bandwidth = "; expected bytes/s, from 1 MB/s to 1 PB/s, as a whole number";
  EXPECT_EQ(refusal("/memory/bandwidth", 0), "x.json: memory.bandwidth is 0" + bandwidth);
  EXPECT_EQ(refusal("/memory/bandwidth", 1'000'000'000'000'001),
            "x.json: memory.bandwidth is 1000000000000001" + bandwidth);
  EXPECT_EQ(refusal("/memory/bytes", 80),
            "x.json: memory.bytes is 80; expected bytes, from 1 MB to 1 PB, as a whole number");
  EXPECT_EQ(refusal("/watts", 0), "x.json: watts is 0; expected watts, from 1 to 100,000, as a whole number");
  EXPECT_EQ(refusal("/price", Json{{"usd_per_hour", -2}, {"kind", "own"}, {"date", "2026"}}),
            "x.json: price.usd_per_hour is -2; expected USD, from 0.0001 to 10000");
  EXPECT_EQ(refusal("/price", Json{{"usd_per_hour", 1e-300}, {"kind", "own"}, {"date", "2026"}}),
            "x.json: price.usd_per_hour is 1e-300; expected USD, from 0.0001 to 10000");
  EXPECT_EQ(refusal("/price", Json{{"usd_per_hour", 20000}, {"kind", "own"}, {"date", "2026"}}),
            "x.json: price.usd_per_hour is 20000; expected USD, from 0.0001 to 10000");
  EXPECT_EQ(refusal("/links", Json{{{"name", "wire"}, {"devices", 1}, {"bandwidth", giga}}}),
            "x.json: links[0].devices is 1; expected devices, from 2 to 10,000,000, as a whole number");
  EXPECT_EQ(refusal("/efficiency", Json{{"overhead", 0}}),
            "x.json: efficiency.overhead is 0; expected seconds above 0, up to 1");
}

TEST(Hardware, absurd_measurements_are_refused) {
  const auto operation = [](const Json& work, const Json& rate) {
    return Json{{"operations", {{{"name", "attend"}, {"type", "float32"}, {"work", work}, {"rate", rate}}}}};
  };
  EXPECT_EQ(refusal("/efficiency", operation(5, 7)), "no error");
  EXPECT_EQ(refusal("/efficiency", operation(0, 7)),
            "x.json: efficiency.operations[0].work is 0; expected FLOPs, from 1 to 10¹⁸, as a whole number");
  EXPECT_EQ(refusal("/efficiency", operation(5, -7)),
            "x.json: efficiency.operations[0].rate is -7; expected FLOP/s, up to 1 EFLOP/s, as a whole number");
  Json falling = operation(5, 7);
  falling["operations"].push_back(falling["operations"][0]);
  EXPECT_EQ(refusal("/efficiency", falling),
            "x.json: efficiency.operations[1].work is 5; expected more than the 5 of the attend before");
  EXPECT_EQ(refusal("/efficiency", operation(3600, 1)), "no error");
  EXPECT_EQ(refusal("/efficiency", operation(36000, 1)),
            "x.json: efficiency.operations[0].rate is 1; expected FLOP/s with which 36000 FLOPs take an hour at most");
  Json misspelt = operation(5, 7);
  misspelt["operations"][0]["name"] = "atend";
  EXPECT_EQ(refusal("/efficiency", misspelt),
            "x.json: efficiency.operations[0].name is \"atend\"; expected the name of an operation, such as attend");
  misspelt["operations"][0]["name"] = "nothing_like_it";
  EXPECT_EQ(refusal("/efficiency", misspelt),
            "x.json: efficiency.operations[0].name is \"nothing_like_it\"; expected the name of an operation");
  const auto product = [](std::int64_t n, std::int64_t rate, const char* type = "float32") {
    return Json{{"type", type}, {"m", 1}, {"n", n}, {"k", 64}, {"rate", rate}};
  };
  const auto products = [&](const Json& one, const Json& other) { return Json{{"matmul", {one, other}}}; };
  EXPECT_EQ(refusal("/efficiency", products(product(64, 1'000'000), product(32, giga))), "no error");
  EXPECT_EQ(refusal("/efficiency", products(product(64, giga), product(64, giga, "bfloat16"))), "no error");
  EXPECT_EQ(refusal("/efficiency", products(product(64, 1), product(32, giga))),
            "x.json: efficiency.matmul[0].rate is 1; expected FLOP/s, from 1 MFLOP/s to 1 EFLOP/s, as a whole number");
  EXPECT_EQ(refusal("/efficiency", products(product(64, giga), product(64, 2 * giga))),
            "x.json: efficiency.matmul[1] is of the same type, m, n and k as efficiency.matmul[0]; expected one of "
            "them");
  EXPECT_EQ(refusal("/multiprocessors", 0),
            "x.json: multiprocessors is 0; expected multiprocessors, from 1 to 4,096, as a whole number");
  EXPECT_EQ(refusal("/links", Json{{{"name", "wire"}, {"bandwidth", giga}, {"share", 1.5}}}),
            "x.json: links[0].share is 1.5; expected a share of the bandwidth above 0, up to 1");
  EXPECT_EQ(refusal("/links", Json{{{"name", "wire"}, {"bandwidth", giga}, {"latency", -1}}}),
            "x.json: links[0].latency is -1; expected seconds above 0, up to 1");
}

// small() has 4 TFLOP/s in bfloat16 and 1 in float32.
TEST(Hardware, no_measured_rate_is_above_the_peak_of_its_type) {
  const auto measured = [](const char* type, std::int64_t rate, std::int64_t cold_rate) {
    return Json{
        {"matmul", {{{"type", type}, {"m", 64}, {"n", 64}, {"k", 64}, {"rate", rate}, {"cold_rate", cold_rate}}}}};
  };
  EXPECT_EQ(refusal("/efficiency", measured("bfloat16", 4 * tera, tera)), "no error");
  EXPECT_EQ(refusal("/efficiency", measured("bfloat16", 4 * tera + 1, tera)),
            "x.json: efficiency.matmul[0].rate is 4000000000001; expected at most peak.bfloat16, 4000000000000");
  EXPECT_EQ(refusal("/efficiency", measured("float32", tera, 2 * tera)),
            "x.json: efficiency.matmul[0].cold_rate is 2000000000000; expected at most peak.float32, 1000000000000");
  EXPECT_EQ(refusal("/efficiency", measured("int8", 9 * tera, tera)), "no error");  // whose peak is not known
  EXPECT_EQ(refusal("/efficiency",
                    Json{{"operations", {{{"name", "attend"}, {"type", "float32"}, {"work", 5}, {"rate", 3 * tera}}}}}),
            "x.json: efficiency.operations[0].rate is 3000000000000; expected at most peak.float32, 1000000000000");
  // A processor's peak is that of its base clock.
  Json processor = small();
  processor["kind"] = "cpu";
  processor["efficiency"] = measured("float32", 3 * tera, tera);
  EXPECT_EQ(error_of([&] { read_profile(processor, "x.json"); }), "no error");
  processor["efficiency"] = measured("float32", 11 * tera, tera);
  EXPECT_EQ(error_of([&] { read_profile(processor, "x.json"); }),
            "x.json: efficiency.matmul[0].rate is 11000000000000; expected at most 10 times peak.float32, "
            "1000000000000");
}

// small() has 500 GB/s. What a cache holds may be faster.
TEST(Hardware, nothing_large_goes_through_memory_far_above_its_bandwidth) {
  const auto measured = [](const char* name, std::int64_t bytes, std::int64_t rate) {
    return Json{{name, {{{"bytes", bytes}, {"rate", rate}}}}};
  };
  for (const char* name : {"read", "write"}) {
    EXPECT_EQ(refusal("/efficiency", measured(name, gib, tera)), "no error");
    EXPECT_EQ(refusal("/efficiency", measured(name, gib / 1024, 100 * tera)), "no error");
    EXPECT_EQ(refusal("/efficiency", measured(name, gib, 100 * tera)),
              "x.json: efficiency." + std::string(name) +
                  "[0].rate is 100000000000000; expected at most 2 times memory.bandwidth, 500000000000");
  }
  Json processor = small();  // whose bandwidth was measured as well
  processor["kind"] = "cpu";
  processor["efficiency"] = measured("write", gib, 2 * tera);
  EXPECT_EQ(error_of([&] { read_profile(processor, "x.json"); }), "no error");
}

TEST(Hardware, only_what_was_measured_by_ourselves_has_no_address) {
  EXPECT_EQ(refusal("/sources", Json{{{"for", {"efficiency"}}, {"title", "measured"}}}), "no error");
  EXPECT_EQ(refusal("/sources", Json{{{"for", {"efficiency", "peak"}}, {"title", "measured"}}}),
            "x.json: sources[0].url is missing; expected a text in quotes");
}

TEST(Hardware, figures_that_contradict_each_other_are_refused) {
  const Json node{{"name", "a"}, {"devices", 8}, {"bandwidth", giga}}, network{{"name", "b"}, {"bandwidth", giga}};
  EXPECT_EQ(refusal("/links", Json{node, network}), "no error");
  EXPECT_EQ(refusal("/links", Json{network, node}),
            "x.json: links[0].devices is missing; expected it in all but the last link");
  EXPECT_EQ(refusal("/links", Json{node, node}),
            "x.json: links[1].devices is 8; expected more than the 8 of the link before");
  EXPECT_EQ(refusal("/caches", Json{{{"level", 2}, {"bytes", 4096}}, {{"level", 1}, {"bytes", 4096}}}),
            "x.json: caches[1].level is 1; expected one above the level before, 2");
  EXPECT_EQ(refusal("/efficiency", Json{{"read", {{{"bytes", 9}, {"rate", giga}}, {{"bytes", 9}, {"rate", giga}}}}}),
            "x.json: efficiency.read[1].bytes is 9; expected more than the 9 before");

  Json cpu = small();
  cpu["kind"] = "cpu";
  cpu["processor"] = {{"cores", 4}, {"clock", 2 * giga}, {"vector_bits", 256}, {"vector_units", 2}};
  EXPECT_EQ(error_of([&] { read_profile(cpu, "x.json"); }),
            "x.json: peak.float32 is 1000000000000, but cores, clock and vector units of the processor give "
            "256000000000");
  cpu.erase("peak");
  EXPECT_EQ(read_profile(cpu, "x.json").peak.at(ComputeType::float32), 256 * giga);  // 4 × 2 GHz × 2 × 8 × 2
  cpu["caches"] = {{{"level", 1}, {"bytes", 32768}, {"cores", 8}}};
  EXPECT_EQ(error_of([&] { read_profile(cpu, "x.json"); }),
            "x.json: caches[0].cores is 8; expected at most the processor's 4 cores");
  cpu.erase("caches");
  cpu["processor"]["flops_per_cycle"] = {{"float32", 64}};
  EXPECT_EQ(error_of([&] { read_profile(cpu, "x.json"); }),
            "x.json: processor.flops_per_cycle.float32 is 64; expected no such field: that of float32 follows from the "
            "vector units");
}

TEST(Hardware, fields_that_are_not_known_are_refused) {
  EXPECT_EQ(refusal("/wats", 700), "x.json: wats is 700, which is no field of a profile");
  EXPECT_EQ(refusal("/peak/fp16", tera), "x.json: peak.fp16 is 1000000000000, which is no field of a profile");
  EXPECT_EQ(refusal("/kind", "npu"), "x.json: kind is \"npu\"; expected gpu, tpu or cpu");
  EXPECT_EQ(refusal("/sources", Json{{{"for", {"speed"}}, {"title", "a"}, {"url", "https://a"}}}),
            "x.json: sources[0].for is an array of 1; expected an array with some of peak, memory, processor, caches, "
            "links, watts, price, efficiency");
  EXPECT_EQ(refusal("/sources", Json{{{"for", {"peak"}}, {"title", "a"}, {"url", "a book"}}}),
            "x.json: sources[0].url is \"a book\"; expected an address that begins with https://");
  EXPECT_EQ(refusal("/links", 3), "x.json: links is 3; expected an array");
  EXPECT_EQ(refusal("/aliases", Json{3}), "x.json: aliases is an array of 1; expected an array of texts");
  EXPECT_EQ(error_of([] { read_profile(Json::array(), "x.json"); }),
            "x.json: the file is an array of 0; expected an object");
}

TEST(Hardware, an_unknown_name_suggests_the_nearest) {
  const std::string rest =
      "; `reckon hardware` lists what is known, and a path of a profile has a slash or ends with .json";
  EXPECT_EQ(error_of([] { read_hardware("h100-smx"); }),
            "there is no hardware 'h100-smx' (did you mean h100-sxm?)" + rest);
  EXPECT_EQ(error_of([] { read_hardware("h10:8"); }), "there is no hardware 'h10' (did you mean h100?)" + rest);
  EXPECT_EQ(error_of([] { read_hardware("abacus-of-wood"); }), "there is no hardware 'abacus-of-wood'" + rest);
  EXPECT_THROW(read_hardware("nothing"), UsageError);
}

TEST(Hardware, a_wrong_number_of_devices_is_refused) {
  for (const char* wrong : {"0", "-1", "", "eight", "8x", "1e3", "10000001", "99999999999999999999"}) {
    EXPECT_EQ(error_of([&] { read_hardware(std::string("h100:") + wrong); }),
              std::string("'h100:") + wrong + "' asks for '" + wrong +
                  "' devices; expected a whole number from 1 to 10000000");
  }
  EXPECT_EQ(error_of([] { read_hardware(""); }),
            "no hardware was named; expected a name such as h100, or the path of a profile");
  EXPECT_EQ(error_of([] { read_hardware(":8"); }),
            "no hardware was named; expected a name such as h100, or the path of a profile");
}

class HardwareFileTest : public FolderTest {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
};

TEST_F(HardwareFileTest, a_path_is_read_with_or_without_a_number_of_devices) {
  const std::string path = write("mine.json", small().dump());
  EXPECT_EQ(read_hardware(path).profile.name, "mine");
  EXPECT_EQ(read_hardware(path).devices, 1);
  EXPECT_EQ(read_hardware(path + ":16").devices, 16);
  EXPECT_EQ(read_hardware(write("a:b.json", small().dump())).profile.name, "mine");  // a colon of the path
}

TEST_F(HardwareFileTest, broken_files_are_refused_in_one_sentence) {
  const std::string missing = (folder_ / "none.json").string();
  EXPECT_EQ(error_of([&] { read_hardware(missing + ":4"); }),
            missing + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error_of([&] { read_hardware(folder_.string()); }),
            folder_.string() + ": not a regular file; expected a profile");
  const std::string empty = write("empty.json", "");
  EXPECT_EQ(error_of([&] { read_hardware(empty); }), empty + ": is empty; expected a profile");
  const std::string cut = write("cut.json", "{\"name\": ");
  EXPECT_EQ(error_of([&] { read_hardware(cut); }), cut + ": not JSON from line 1, byte 10 of the file on");
  const std::string twice = write("twice.json", R"({"name": "a", "name": "b"})");
  EXPECT_EQ(error_of([&] { read_hardware(twice); }), twice + ": 'name' is there twice; expected one value of it");
}

// The page has a part that is written by hand, with an example of a profile, and the list, which the program writes.
class HardwarePage : public ::testing::Test {
 protected:
  const std::string page = read_text(project_folder() + "/docs/hardware.md", 1 << 20);
};

TEST_F(HardwarePage, lists_the_devices_that_are_known_today) {
  const std::string mark = "*Written by `reckon hardware --sources --format markdown`.*\n\n";
  const std::size_t at = page.find(mark);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(page.substr(at + mark.size()), render(hardware_document(known_profiles(), true), Format::markdown, {}));
}

TEST_F(HardwarePage, has_an_example_that_can_be_read) {
  const std::string mark = "```json\n";
  const std::size_t from = page.find(mark) + mark.size();
  const Profile profile = read_profile(Json::parse(page.substr(from, page.find("```\n", from) - from)), "the example");
  EXPECT_EQ(profile.name, "my-cluster");
}

}  // namespace
}  // namespace reckon
