// This machine's profile, what it predicts, and predictions beside runs. Nothing here depends on how fast a machine is.
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/reckon.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <numeric>

#include "compile/compile.h"
#include "files/processor.h"
#include "measure/calibrate.h"
#include "measure/probe.h"
#include "measure/samples.h"
#include "measure/verify_time.h"
#include "model/load.h"
#include "network/parameter_types.h"
#include "ops/matmul.h"
#include "program/builder.h"
#include "program_fixture.h"
#include "report/measure.h"
#include "time/reuse.h"
#include "time/roofline.h"

namespace reckon {
namespace {

TEST(Processor, IsDescribedByTheSystemsFiles) {
  const std::string cpuinfo =
      "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: A processor: fast\n\nprocessor\t: 1\n";
  EXPECT_EQ(cpuinfo_field(cpuinfo, "model name"), "A processor: fast");
  EXPECT_EQ(cpuinfo_field(cpuinfo, "vendor_id"), "GenuineIntel");
  EXPECT_EQ(cpuinfo_field(cpuinfo, "flags"), "");
  EXPECT_EQ(cache_size("48K"), 49152);
  EXPECT_EQ(cache_size("260M"), 260 * 1048576);
  EXPECT_EQ(cache_size("4096"), 4096);
  EXPECT_EQ(cache_size("many"), 0);
  EXPECT_EQ(cache_size("3X"), 0);
  EXPECT_EQ(listed_processors("0-3,8,10-11"), 7);
  EXPECT_EQ(listed_processors("5"), 1);
  EXPECT_EQ(listed_processors("3-1"), 0);
  EXPECT_EQ(listed_processors("a"), 0);
  EXPECT_FALSE(describe_processor().name.empty());
}

// Of a network whose embedding has pushed its matrices out of the caches, AdamW's steps are those of memory.
TEST(LeastWaiting, IsTheMedianWithinANetworkAndTheLeastOfAll) {
  LeastWaiting<std::string> times;
  times.add_network({{"adamw", {11, 12, 30}}, {"rope", {5}}});
  times.add_network({{"adamw", {1, 4, 5}}, {"norm", {2}}});
  times.add_network({{"adamw", {3, 20, 30}}, {"rope", {6}}});
  EXPECT_EQ(times.seconds(), (std::map<std::string, double>{{"adamw", 4}, {"norm", 2}, {"rope", 5}}));
}

// A processor that computes everything in no time and reads 1 TB/s of what it went through less than 2 MiB ago, and
// 1 GB/s of anything else.
Profile only_memory() {
  Profile profile;
  profile.name = "slow-memory";
  profile.title = "a processor";
  profile.kind = DeviceKind::cpu;
  constexpr std::int64_t fast = 1'000'000'000'000'000'000;
  profile.peak = {{ComputeType::float32, fast}};
  profile.memory_bytes = std::int64_t{1} << 34;
  profile.memory_bandwidth = 1'000'000'000;
  Efficiency efficiency;
  efficiency.matmul = {{ComputeType::float32, 1, 64, 64, fast}};
  const std::vector<Efficiency::Transfer> transfers = {{(1 << 21) - 1, 1'000'000'000'000}, {1 << 21, 1'000'000'000}};
  efficiency.read = efficiency.write = transfers;
  efficiency.threads = 1;
  profile.efficiency = efficiency;
  return profile;
}

double decode_seconds(const char* preset, const Profile& profile) {
  Workload workload = workload_of(Phase::decode);
  workload.past = 8;
  return time_program(compile(find_preset(preset), workload, cpu_target).lowered, {profile, 1}).total();
}

TEST(OnAProcessor, WeightsThatDoNotFitACacheComeFromMemory) {
  // 4 bytes of each of the 124,439,808 − 1,024·768 parameters that a token reads: all but the table of positions, of
  // which it reads a row; everything else is small.
  const double gpt2 = decode_seconds("gpt2", only_memory());
  EXPECT_NEAR(gpt2, 4.0 * (124'439'808 - 1024 * 768) / 1e9, 0.01);
  // mini-gpt's 525,568 bytes of weights, and all it goes through beside, fit.
  const double mini = decode_seconds("mini-gpt", only_memory());
  EXPECT_GT(mini, 525'568 / 1e12 * 0.99);
  EXPECT_LT(mini, 2 * 525'568 / 1e12);
}

// y = (x·Aᵀ)·Bᵀ with x of 2 × 4 and matrices of 8 × 4 and 16 × 8, float32.
Program two_products() {
  Program empty;
  empty.workload.tokens = 2;
  empty.workload.past = 0;
  Builder builder(std::move(empty));
  const TensorId x = builder.tensor(TensorKind::input, "x", {1, 2, 4}, DType::float32);
  const TensorId a = builder.parameter({Block::feed_forward, Part::up}, Piece::weight, {8, 4});
  const TensorId b = builder.parameter({Block::feed_forward, Part::down}, Piece::weight, {16, 8});
  const TensorId hidden = linear(builder, x, a, no_tensor, "hidden");
  builder.program().output = linear(builder, hidden, b, no_tensor, "y");
  return compile(builder.finish(), cpu_target).lowered;
}

TEST(Reuse, IsWhatWasGoneThroughSinceATensorWasTouched) {
  // First product: reads 32 + 128 bytes and writes 64; second: reads 64 + 512 and writes 128. A run goes through 928.
  const std::vector<OpTraffic> traffic = traffic_of(two_products());
  ASSERT_EQ(traffic.size(), 2u);
  ASSERT_EQ(traffic[0].read.size(), 2u);
  EXPECT_DOUBLE_EQ(traffic[0].read[1].bytes, 128);
  // Weights were last read in the run before: 928 bytes ago, all of it different memory: 32 + 128 + 64 + 512 + 128.
  EXPECT_DOUBLE_EQ(traffic[0].read[1].distance, 864);
  EXPECT_DOUBLE_EQ(traffic[1].read[1].bytes, 512);
  EXPECT_DOUBLE_EQ(traffic[1].read[1].distance, 864);
  // What the first made is read by the second right after; an op goes through its own bytes at least.
  EXPECT_DOUBLE_EQ(traffic[1].read[0].bytes, 64);
  EXPECT_DOUBLE_EQ(traffic[1].read[0].distance, 704);
}

TEST(OnAProcessor, AProductTakesAsLongAsWasMeasuredAndAnOverheadMore) {
  Profile profile = only_memory();
  profile.efficiency->matmul = {{ComputeType::float32, 2, 8, 4, 1000}, {ComputeType::float32, 2, 16, 8, 4000}};
  profile.efficiency->overhead = 0.5;
  const Timing timing = time_program(two_products(), {profile, 1});
  ASSERT_EQ(timing.ops.size(), 2u);
  EXPECT_NEAR(timing.ops[0].seconds(), 2.0 * 2 * 8 * 4 / 1000 + 0.5, 1e-6);
  EXPECT_NEAR(timing.ops[1].seconds(), 2.0 * 2 * 16 * 8 / 4000 + 0.5, 1e-6);
}

TEST(OnAProcessor, SizesBeyondThoseMeasuredAreTakenForTheNearest) {
  // The second product has 2 rows and a matrix of 16 × 8: wider and deeper than both, and of the first one's rows.
  Profile profile = only_memory();
  profile.efficiency->matmul = {{ComputeType::float32, 2, 8, 4, 1000}, {ComputeType::float32, 64, 8, 4, 9000}};
  EXPECT_NEAR(time_program(two_products(), {profile, 1}).ops[1].seconds(), 2.0 * 2 * 16 * 8 / 1000, 1e-6);
}

TEST(OnAProcessor, BetweenMeasuredProductsTheNearestOnEachSideAloneCount) {
  // The second product has 2 rows and a matrix of 16 × 8, by logarithms halfway between 8 × 8 and 32 × 8. That products
  // of one row are slow says nothing about it, however near they are.
  Profile profile = only_memory();
  constexpr ComputeType type = ComputeType::float32;
  profile.efficiency->matmul = {{type, 2, 8, 8, 1000}, {type, 2, 32, 8, 3000}, {type, 1, 16, 8, 10}};
  EXPECT_NEAR(time_program(two_products(), {profile, 1}).ops[1].seconds(), 2.0 * 2 * 16 * 8 / 2000, 1e-6);
  // Halfway between 1 and 4 rows; of those with 4 the deepest, 4, is the nearest.
  profile.efficiency->matmul = {{type, 1, 16, 8, 1000}, {type, 4, 16, 2, 10}, {type, 4, 16, 4, 3000}};
  EXPECT_NEAR(time_program(two_products(), {profile, 1}).ops[1].seconds(), 2.0 * 2 * 16 * 8 / 2000, 1e-6);
}

TEST(OnAProcessor, AProductWaitsForAMatrixFromMemoryAsLongAsWasMeasured) {
  // The first product's 128 bytes of weights were last read 864 bytes ago, which is memory here; over and over they
  // come from a cache.
  Profile profile = only_memory();
  profile.efficiency->read = profile.efficiency->write = {{600, 1'000'000'000'000}, {800, 1'000'000}};
  profile.efficiency->matmul = {{ComputeType::float32, 2, 8, 4, 1000, 500}};
  EXPECT_NEAR(time_program(two_products(), {profile, 1}).ops[0].seconds(), 2.0 * 2 * 8 * 4 / 500, 1e-6);
  profile.efficiency->read = profile.efficiency->write = {{600, 1'000'000'000'000}, {900, 1'000'000'000'000}};
  EXPECT_NEAR(time_program(two_products(), {profile, 1}).ops[0].seconds(), 2.0 * 2 * 8 * 4 / 1000, 1e-6);
}

// y = x·Aᵀ with x of 2 × 32 and A of 16 × 32, whose rows are one block each.
Program product_with(DType dtype) {
  Program empty;
  empty.workload.tokens = 2;
  empty.workload.past = 0;
  empty.workload.precision.weights = dtype;
  Builder builder(std::move(empty));
  const TensorId x = builder.tensor(TensorKind::input, "x", {1, 2, 32}, DType::float32);
  const TensorId a = builder.parameter({Block::feed_forward, Part::up}, Piece::weight, {16, 32});
  builder.program().output = linear(builder, x, a, no_tensor, "y");
  return compile(builder.finish(), cpu_target).lowered;
}

TEST(OnAProcessor, AProductWithBlocksTakesAsLongAsWasMeasuredOfItsEncodingOrTheNearest) {
  Profile profile = only_memory();
  using Point = Efficiency::Matmul;
  profile.efficiency->matmul = {Point{ComputeType::float32, 2, 16, 32, 500},
                                Point{ComputeType::int8, 2, 16, 32, 1000, 0, DType::q4_0},
                                Point{ComputeType::int8, 2, 16, 32, 4000, 0, DType::q8_0}};
  constexpr double flops = 2.0 * 2 * 16 * 32;
  const auto timed = [&](DType dtype) { return time_program(product_with(dtype), {profile, 1}); };
  EXPECT_NEAR(timed(DType::float32).total(), flops / 500, 1e-6);
  EXPECT_NEAR(timed(DType::q4_0).total(), flops / 1000, 1e-6);
  EXPECT_NEAR(timed(DType::q8_0).total(), flops / 4000, 1e-6);
  // 5.5 bits are nearer to 4.5 than to 8.5.
  const Timing nearest = timed(DType::q5_0);
  EXPECT_NEAR(nearest.total(), flops / 1000, 1e-6);
  EXPECT_EQ(nearest.assumptions.front(), "products with q5_0 are as fast as with q4_0");
  // A profile that was measured before there were such.
  profile.efficiency->matmul.resize(1);
  const Timing older = timed(DType::q4_0);
  EXPECT_NEAR(older.total(), flops / 500, 1e-6);
  EXPECT_EQ(older.assumptions.front(), "slow-memory has no rates for products with q4_0: those of float32 are taken");
}

TEST(OnAProcessor, AProductWaitsForBlocksFromMemoryAsLongAsWasMeasuredOfBlocks) {
  // 16 blocks of 18 bytes, read from memory; that float32 waits for nothing there is no matter.
  Profile profile = only_memory();
  profile.efficiency->read = profile.efficiency->write = {{300, 1'000'000'000'000}, {400, 1'000'000}};
  using Point = Efficiency::Matmul;
  profile.efficiency->matmul = {Point{ComputeType::float32, 2, 16, 4, 500, 500},
                                Point{ComputeType::int8, 2, 16, 32, 1000, 250, DType::q4_0}};
  const Program program = product_with(DType::q4_0);
  EXPECT_NEAR(time_program(program, {profile, 1}).ops.back().seconds(), 2.0 * 2 * 16 * 32 / 250, 1e-3);
}

TEST(ProfileOfAProcessor, SaysInWhichBlocksAMatrixLies) {
  Profile profile = only_memory();
  profile.efficiency->matmul.push_back({ComputeType::int8, 1, 64, 64, 1'000'000, 0, DType::q6_k});
  auto json = Json::parse(profile_json(profile).dump());
  EXPECT_EQ(json["efficiency"]["matmul"][1]["blocks"], "q6_k");
  EXPECT_FALSE(json["efficiency"]["matmul"][0].contains("blocks"));
  EXPECT_EQ(read_profile(json, "profile"), profile);
  json["efficiency"]["matmul"][1]["blocks"] = "q9";
  try {
    read_profile(json, "profile");
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("one of q2_k"), std::string::npos) << error.what();
  }
}

// All on one backend, which keeps matrices in blocks in another order: each has its own, though all have one name.
TEST(ProbedProducts, MultiplyWithTheirOwnMatrixAfterOthersOfTheSameName) {
  const std::shared_ptr<Backend> backend = make_backend(Device::cpu, 1);
  for (const DType type : {DType::float32, DType::q8_0, DType::q4_k})
    for (const std::int64_t n : {64, 256}) {
      const std::shared_ptr<const Weights> matrix = chain_matrices({type, 2, n, 256}, 0);
      const auto probe = probe_chain(backend, {type, 2, n, 256}, 0, matrix);
      const std::int64_t before = backend->measured().matmul_flops;
      probe->time();
      EXPECT_EQ(backend->measured().matmul_flops - before, 2 * 2 * n * 256) << encoding_of(type).name << ", " << n;
    }
}

class CalibrateTest : public ProgramTest {
 protected:
  // Of this machine, measured in a moment: the networks and products that are small.
  std::string quick_profile() {
    const std::string file = (folder_ / "quick.json").string();
    const Result result = run({"calibrate", "--quick", "--rounds", "1", "--threads", "1", "--output", file});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_NE(result.out.find("1 thread"), std::string::npos) << result.out;
    return file;
  }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
};

TEST_F(CalibrateTest, WhatItWritesReadsBackAndPredicts) {
  const std::string file = quick_profile();
  const Profile profile = read_hardware(file).profile;
  EXPECT_EQ(profile.name, "this");
  EXPECT_EQ(profile.title, describe_processor().name);
  EXPECT_EQ(read_profile(Json::parse(profile_json(profile).dump()), "again"), profile);
  ASSERT_TRUE(profile.efficiency);
  EXPECT_EQ(profile.efficiency->threads, 1);
  EXPECT_GT(profile.efficiency->overhead, 0);
  EXPECT_GT(profile.efficiency->matmul.size(), 10u);
  for (const DType blocks : {DType::q8_0, DType::q4_0, DType::q4_k, DType::q6_k, DType::mxfp4})
    EXPECT_TRUE(std::any_of(profile.efficiency->matmul.begin(), profile.efficiency->matmul.end(),
                            [&](const Efficiency::Matmul& point) { return point.blocks == blocks; }))
        << encoding_of(blocks).name;
  Workload in_blocks = workload_of(Phase::decode);
  in_blocks.past = 4;
  in_blocks.parameter_types = layer_matrices_as(find_preset("mini-gpt"), DType::q4_0);
  const Program decoding = compile(find_preset("mini-gpt"), in_blocks, cpu_target).lowered;
  EXPECT_TRUE(time_program(decoding, {profile, 1}).assumptions.empty());
  // Every op of the step of a small network that computes something and is no product was measured.
  Workload workload = workload_of(Phase::train);
  workload.batch = 2;
  workload.tokens = 16;
  for (const char* preset : {"gpt2", "mini-gpt"}) {
    const Program step = compile(find_preset(preset), workload, cpu_target).lowered;
    for (const Op& op : step.ops) {
      const Cost cost = op.operation->cost(step, op);
      if (!cost.matmul.empty() && op.operation->name != "attend" && op.operation->name != "attend_backward") continue;
      if (cost.matmul.value() + cost.elementwise.value() == 0) continue;
      EXPECT_TRUE(std::any_of(profile.efficiency->operations.begin(), profile.efficiency->operations.end(),
                              [&](const Efficiency::Operation& point) { return point.name == op.operation->name; }))
          << op.operation->name;
    }
    EXPECT_TRUE(time_program(step, {profile, 1}).assumptions.empty());
  }
}

TEST_F(CalibrateTest, VerifiesTheTimeOfEachPhaseAndItsSharesAddUp) {
  const std::string file = quick_profile();
  const Result result = run({"verify", "mini-gpt", "--random", "1", "--time", "--on", file, "--rounds", "2",
                             "--threads", "1", "--batch", "2", "--format", "json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["schema"], "reckon.verify-time/1");
  EXPECT_EQ(json["threads"], 1);
  EXPECT_EQ(json["calibrated"], "before");
  ASSERT_EQ(json["phases"].size(), 3u);
  const char* const names[] = {"prefill", "decode", "train"};
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& phase = json["phases"][i];
    EXPECT_EQ(phase["phase"], names[i]);
    EXPECT_GT(phase["predicted_seconds"].get<double>(), 0);
    EXPECT_LE(phase["measured_least"].get<double>(), phase["measured_seconds"].get<double>());
    EXPECT_GE(phase["measured_most"].get<double>(), phase["measured_seconds"].get<double>());
    double predicted = 0, measured = 0, seconds = 0;
    for (const Json& operation : phase["operations"]) {
      predicted += operation["predicted_share"].get<double>();
      measured += operation["measured_share"].get<double>();
      seconds += operation["predicted_seconds"].get<double>();
      EXPECT_GT(operation["calls"].get<int>(), 0) << operation["operation"];
    }
    EXPECT_NEAR(predicted, 1, 1e-9);
    EXPECT_NEAR(measured, 1, 1e-9);
    EXPECT_NEAR(seconds / phase["predicted_seconds"].get<double>(), 1, 1e-9);
  }
  // mini-gpt's context is 32: a prompt of half of it, and 16 tokens behind it, of which the program is at the middle.
  EXPECT_EQ(json["phases"][0]["tokens"], 16);
  EXPECT_EQ(json["phases"][1]["past"], 24);
  EXPECT_EQ(json["phases"][1]["batch"], 2);
  EXPECT_EQ(json["phases"][2]["tokens"], 32);

  const Result one = run({"verify", "mini-gpt", "--random", "1", "--time", "--phase", "decode", "--on", file,
                          "--rounds", "1", "--threads", "1"});
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_NE(one.out.find("ratio"), std::string::npos);
  EXPECT_EQ(one.out.find("prefill"), std::string::npos);
  const Result other = run({"verify", "mini-gpt", "--random", "1", "--time", "--on", file, "--threads", "2"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("was measured with 1 thread, and this run has 2"), std::string::npos) << other.err;
}

// Predicted in 1 s: measured in 1/1.15 s it is just within 15%, in 1/1.2 s and in 1/0.8 s not.
TEST(VerifyTime, SaysWhichPhasesAreWithinTheTolerance) {
  TimeVerification verification;
  verification.profile = only_memory();
  verification.rounds = 1;
  const auto add = [&](Phase phase, double seconds) {
    TimedPhase timed;
    timed.phase = phase;
    timed.predicted = 1;
    timed.measured = {seconds, seconds, seconds};
    verification.phases.push_back(timed);
  };
  add(Phase::prefill, 1 / 1.149);
  add(Phase::decode, 1 / 1.2);
  add(Phase::train, 1 / 0.8);
  const Model model = find_preset("mini-gpt");
  const Document document = verify_time_document(model, verification, 0.15);
  EXPECT_EQ(document.json["tolerance"], 0.15);
  EXPECT_EQ(document.json["holds"], false);
  EXPECT_EQ(document.json["phases"][0]["holds"], true);
  EXPECT_EQ(document.json["phases"][1]["holds"], false);
  EXPECT_EQ(document.json["phases"][2]["holds"], false);
  const Table& table = std::get<Table>(document.parts[1]);
  EXPECT_EQ(table.columns.back().title, "within 15%");
  EXPECT_EQ(table.rows[0].back().text, "yes");
  EXPECT_EQ(table.rows[1].back().text, "no");
  EXPECT_EQ(verify_time_document(model, verification, 0.25).json["holds"], true);
}

// A processor that needs a second for each op: far off on any machine.
TEST_F(CalibrateTest, FailsBeyondATolerance) {
  Profile profile = only_memory();
  profile.efficiency->overhead = 1;
  write("slow.json", profile_json(profile).dump());
  const std::vector<std::string> asked{
      "verify",   "mini-gpt", "--time",    "--phase", "decode", "--on", (folder_ / "slow.json").string(),
      "--rounds", "1",        "--threads", "1"};
  const Result plain = run(asked);
  EXPECT_EQ(plain.code, 0) << plain.err;
  EXPECT_NE(plain.out.find("within 15%"), std::string::npos) << plain.out;
  std::vector<std::string> strict = asked;
  strict.insert(strict.end(), {"--tolerance", "20%"});
  const Result failed = run(strict);
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.out.find("within 20%"), std::string::npos) << failed.out;
  EXPECT_NE(failed.err.find("the prediction of decode is not within 20% of what was measured"), std::string::npos)
      << failed.err;
  for (const char* wrong : {"0", "-5%", "many", "15 percent", "101%", "nan"}) {
    strict.back() = wrong;
    EXPECT_EQ(run(strict).code, 2) << wrong;
  }
  EXPECT_EQ(run({"verify", "mini-gpt", "--tolerance", "15%"}).code, 2);
}

TEST_F(CalibrateTest, ThisIsTheMachineThatWasMeasured) {
  ::setenv("XDG_CONFIG_HOME", (folder_ / "config").c_str(), 1);
  EXPECT_EQ(this_machine_path(), folder_ / "config" / "reckon" / "this.json");
  try {
    read_hardware("this");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("`reckon calibrate`"), std::string::npos) << error.what();
  }
  Profile profile = only_memory();
  profile.name = "this";
  profile.title = "Some other processor";
  write("config/reckon/this.json", profile_json(profile).dump());
  try {
    read_hardware("this");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("another machine, with a processor 'Some other processor'"),
              std::string::npos)
        << error.what();
  }
  profile.title = describe_processor().name;
  write("config/reckon/this.json", profile_json(profile).dump());
  EXPECT_EQ(read_hardware("THIS").profile, profile);
  ::unsetenv("XDG_CONFIG_HOME");
}

TEST(MeasuredProfile, RefusesRowsAndThreadsThatCannotBe) {
  const auto refused = [](const char* field, const Json& value) {
    Json json = Json::parse(profile_json(only_memory()).dump());
    json["efficiency"]["operations"] = {
        {{"name", "attend"}, {"type", "float32"}, {"rows", 4}, {"sequences", 2}, {"work", 8}, {"rate", 16}}};
    read_profile(json, "mine.json");
    (std::string(field) == "threads" ? json["efficiency"] : json["efficiency"]["operations"][0])[field] = value;
    try {
      read_profile(json, "mine.json");
      return false;
    } catch (const Error& error) {
      return std::string(error.what()).find(field) != std::string::npos;
    }
  };
  EXPECT_TRUE(refused("rows", 0));
  EXPECT_TRUE(refused("rows", "four"));
  EXPECT_TRUE(refused("sequences", -1));
  EXPECT_TRUE(refused("sequences", nullptr));
  EXPECT_TRUE(refused("work", 0));
  EXPECT_TRUE(refused("rate", 1.5));
  EXPECT_TRUE(refused("threads", 0));
  EXPECT_TRUE(refused("threads", 1'000'000));
}

TEST_F(CalibrateTest, RefusesWhatMakesNoSense) {
  EXPECT_EQ(run({"calibrate", "--rounds", "0"}).code, 2);
  EXPECT_EQ(run({"calibrate", "--threads", "none"}).code, 2);
  EXPECT_EQ(run({"verify", "mini-gpt", "--random", "1", "--phase", "decode"}).code, 2);
  EXPECT_EQ(run({"verify", "mini-gpt", "--random", "1", "--on", "this"}).code, 2);
  EXPECT_EQ(run({"verify", "mini-gpt", "--random", "1", "--time", "--against", "reference"}).code, 2);
  EXPECT_EQ(run({"verify", "mini-gpt", "--random", "1", "--time", "--device", "reference"}).code, 2);
  EXPECT_EQ(run({"verify", "mini-gpt", "--random", "1", "--time", "--train", "--phase", "decode"}).code, 2);
  const Result vendor = run({"verify", "mini-gpt", "--random", "1", "--time", "--on", "xeon-8480"});
  EXPECT_EQ(vendor.code, 2);
  EXPECT_NE(vendor.err.find("was not measured by `reckon calibrate`"), std::string::npos) << vendor.err;
}

}  // namespace
}  // namespace reckon
