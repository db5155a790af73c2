// Sessions whose cache has states, which cannot be rewound, or other things than keys and values: a step that is
// cancelled must leave them, and forks go on from one without changing it.
#include <gtest/gtest.h>
#include <reckon/error.h>
#include <reckon/generate.h>
#include <reckon/reckon.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "backend/inspection.h"
#include "compile/compile.h"
#include "family_references.h"
#include "run/engine.h"
#include "run/weights.h"

namespace reckon {
namespace {

using Ids = std::vector<std::int32_t>;
using Row = std::vector<float>;

Engine engine_of(const std::string& type, const EngineOptions& options) {
  const std::filesystem::path folder = family_references::folder() / "tiny" / type;
  const Model model = load_model(folder.string());
  return Engine(model, Weights::load(model, folder), options);
}

Row run(Session& session, const Ids& ids) {
  const std::span<const float> logits = session.run(ids, Logits::last);
  return {logits.begin(), logits.end()};
}

const Ids beginning = {5, 1, 4, 12, 7, 9, 13}, left = {2, 8, 3}, right = {11, 15};

class RecurrentSession : public testing::TestWithParam<std::string> {};

TEST_P(RecurrentSession, ForksGoOnByThemselves) {
  for (const Device device : {Device::cpu, Device::reference}) {
    Engine engine = engine_of(GetParam(), {.device = device, .threads = 2, .sessions = 3, .capacity = 20, .chunk = 4});
    Row expected_left, expected_right;
    {
      Session one = engine.session(), other = engine.session();
      run(one, beginning);
      run(other, beginning);
      expected_left = run(one, left);
      expected_right = run(other, right);
    }
    Session first = engine.session();
    run(first, beginning);
    Session second = first.fork(), third = first.fork();
    EXPECT_EQ(run(second, right), expected_right);
    EXPECT_EQ(run(first, left), expected_left);
    EXPECT_EQ(run(third, left), expected_left);
    // A fork of a fork, when the text that it comes from is gone.
    third.reset();
    Session fourth = second.fork();
    second.reset();
    first.reset();
    first = engine.session();
    run(first, beginning);
    run(first, right);
    EXPECT_EQ(run(fourth, left), run(first, left));
  }
}

// The step is cancelled after each of its ops in turn.
TEST_P(RecurrentSession, ACancelledStepChangesNothing) {
  for (const Device device : {Device::cpu, Device::reference}) {
    std::atomic<bool> cancel = false;
    Inspection inspection;
    int ops = 0, last = -1;
    inspection.observe = [&](const Executable&, const Op&) {
      if (ops++ == last) cancel = true;
    };
    Engine engine = engine_of(GetParam(), {.device = device,
                                           .threads = 1,
                                           .sessions = 3,
                                           .capacity = 20,
                                           .chunk = 20,
                                           .cancel = &cancel,
                                           .inspection = &inspection});
    Session whole = engine.session();
    run(whole, beginning);
    const Row expected = run(whole, left), then = run(whole, right);
    Session session = engine.session();
    run(session, beginning);
    int cancelled = 0;
    for (last = 0; last < 200; last += 7) {
      ops = 0;
      try {
        Session copy = session.fork();
        copy.reset();
        run(session, left);
        break;  // the step has no more ops
      } catch (const Cancelled&) {
        ++cancelled;
      }
      cancel = false;
      EXPECT_EQ(session.length(), std::ssize(beginning));
    }
    cancel = false;
    EXPECT_GT(cancelled, 2);
    if (session.length() == std::ssize(beginning)) {
      last = -1;
      EXPECT_EQ(run(session, left), expected) << "device " << int(device);
    }
    last = -1;
    EXPECT_EQ(run(session, right), then) << "device " << int(device);
  }
}

// Single tokens of several texts are one program: each has its own state.
TEST_P(RecurrentSession, TextsThatRunTogetherHaveTheBitsThatEachHasAlone) {
  Engine engine = engine_of(GetParam(), {.threads = 2, .sessions = 5, .capacity = 20, .chunk = 4});
  std::vector<Session> texts;
  std::vector<Engine::Part> parts;
  std::vector<Row> expected;
  for (std::size_t i = 0; i < 4; ++i) {
    Session alone = engine.session();
    const std::span<const std::int32_t> prompt = std::span(beginning).first(1 + 2 * i);
    alone.run(prompt, Logits::last);
    for (const std::int32_t id : left) expected.push_back(run(alone, {id}));
    texts.push_back(engine.session());
    texts.back().run(prompt, Logits::last);
  }
  for (std::size_t t = 0; t < left.size(); ++t) {
    parts.clear();
    for (Session& text : texts) parts.push_back({text, std::span(left).subspan(t, 1)});
    const std::span<const float> logits = engine.step(parts);
    const std::size_t width = logits.size() / texts.size();
    for (std::size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(Row(logits.begin() + static_cast<std::ptrdiff_t>(i * width),
                    logits.begin() + static_cast<std::ptrdiff_t>((i + 1) * width)),
                expected[i * left.size() + t]);
  }
}

// The small models whose cache has more than keys and values: states, what convolutions and entries wait for, entries,
// latents, and keys of indexers.
std::vector<std::string> with_special_caches() {
  std::vector<std::string> types;
  for (const std::string& type : family_references::found("tiny")) {
    const Model model = load_model((family_references::folder() / "tiny" / type).string());
    Workload workload = workload_of(Phase::decode);
    workload.past = 20;
    const Program program = logical_program(model, workload);
    if (std::any_of(program.tensors.begin(), program.tensors.end(), [](const Tensor& tensor) {
          const Piece piece = tensor.label.piece;
          return tensor.kind == TensorKind::cache && piece != Piece::key_cache && piece != Piece::value_cache;
        }))
      types.push_back(type);
  }
  return types;
}

TEST(RecurrentSessions, AreThoseOfAllTypesWithSpecialCaches) {
  const std::vector<std::string> types = with_special_caches();
  for (const char* type : {"axk2", "deepseek_v2", "deepseek_v32", "deepseek_v4", "doge", "falcon_mamba",
                           "granitemoehybrid", "inkling_text", "lfm2", "mamba2", "minimax", "minimax_m3_vl_text",
                           "olmo_hybrid", "qwen3_next", "recurrent_gemma", "zamba", "zamba2", "zaya"})
    EXPECT_TRUE(std::count(types.begin(), types.end(), type)) << type;
}

INSTANTIATE_TEST_SUITE_P(Families, RecurrentSession, testing::ValuesIn(with_special_caches()),
                         [](const auto& entry) { return family_references::test_name(entry.param); });

}  // namespace
}  // namespace reckon
