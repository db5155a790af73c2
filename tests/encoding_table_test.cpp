// The table of encodings: what is predicted of each follows its own rates, and what does not fit says so.
#include <gtest/gtest.h>
#include <reckon/reckon.h>

#include <fstream>
#include <memory>

#include "folder_fixture.h"
#include "measure/encoding_table.h"
#include "report/encoding_table.h"

namespace reckon {
namespace {

// A processor that waits for nothing but products, which are as fast in float32 as 1 GFLOP/s, twice that in q8_0 and
// eight times in q4_k.
Profile by_blocks() {
  Profile profile;
  profile.name = profile.title = "by-blocks";
  profile.kind = DeviceKind::cpu;
  constexpr std::int64_t giga = 1'000'000'000;
  profile.peak = {{ComputeType::float32, giga}};
  profile.memory_bytes = 64 * giga;
  profile.memory_bandwidth = 1'000'000 * giga;
  Efficiency efficiency;
  efficiency.matmul = {{ComputeType::float32, 1, 256, 256, giga},
                       {ComputeType::int8, 1, 256, 256, 2 * giga, 0, DType::q8_0},
                       {ComputeType::int8, 1, 256, 256, 8 * giga, 0, DType::q4_k}};
  efficiency.read = efficiency.write = {{1, 1'000'000 * giga}};
  efficiency.threads = 1;
  profile.efficiency = efficiency;
  return profile;
}

class EncodingTables : public FolderTest {
 protected:
  EncodingTable table(std::int64_t memory) {
    const fs::path config = folder_ / "config.json";
    std::ofstream(config) << R"({"model_type": "llama", "vocab_size": 256, "hidden_size": 256,
      "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
      "max_position_embeddings": 64})";
    const auto loaded = LoadedModel::random(load_model(config.string()), 1);
    const ModelExport model = ModelExport::to_gguf(loaded->model(), loaded->weights());
    EncodingTableOptions options;
    options.encodings = {DType::q8_0, DType::q4_k, DType::q5_0};
    options.engine.threads = 1;
    options.profile = by_blocks();
    options.memory = memory;
    Pool pool(1);
    return encoding_table(loaded, model, model.pairs(), {}, options, pool, [](auto, auto, auto) {});
  }
};

TEST_F(EncodingTables, PredictEachEncodingByTheRateThatWasMeasuredOfIt) {
  const EncodingTable found = table(0);
  ASSERT_EQ(found.rows.size(), 4u);
  EXPECT_EQ(found.unpredicted, "");
  // Query and output 256 x 256, key and value 128 x 256, three of 512 x 256; the head.
  const double flops = 2 * (2 * (2 * 256 * 256 + 2 * 128 * 256 + 3 * 512 * 256) + 256 * 256);
  const auto seconds = [&](std::size_t row) { return 1 / found.rows[row].predicted.value(); };
  EXPECT_NEAR(seconds(0) - seconds(1), flops * (1 - 1 / 2.0) / 1e9, 1e-3 * seconds(0));
  EXPECT_NEAR(seconds(1) - seconds(2), flops * (1 / 2.0 - 1 / 8.0) / 1e9, 1e-3 * seconds(0));
  EXPECT_NEAR(seconds(3), seconds(2), 1e-3 * seconds(2));  // 5.5 bits are nearer to 4.5 than to 8.5
}

TEST_F(EncodingTables, SayWhatDoesNotFit) {
  const EncodingTable all = table(std::int64_t{1} << 40);
  for (const EncodingRow& row : all.rows) EXPECT_TRUE(row.fits) << row.encoding;
  const EncodingTable some = table(all.rows[1].needed);
  EXPECT_FALSE(some.rows[0].fits);
  EXPECT_TRUE(some.rows[1].fits);
  EXPECT_FALSE(table(all.rows[1].needed - 1).rows[1].fits);
  const auto json = encoding_table_document("model", some).json["encodings"];
  EXPECT_EQ(json[0]["fits"], false);
  EXPECT_EQ(json[1]["fits"], true);
}

}  // namespace
}  // namespace reckon
