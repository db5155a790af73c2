// Beam search: the most likely continuations, side by side. A beam is a session; its first child goes on with it, and
// further ones are forks, which share its pages.
#include "run/generate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "run/logits.h"

namespace reckon {
namespace {

struct Beam {
  std::size_t parent = 0;  // its place among those that ran before
  std::vector<std::int32_t> ids;
  double sum = 0;          // Σ ln p
  std::int64_t node = -1;  // of the tree
};

struct Finished {
  Continuation continuation;
  std::int64_t node;
};

struct Candidate {
  double sum;
  int beam;  // its place among the running ones
  std::int32_t id;
};

bool goes_before(const Candidate& a, const Candidate& b) {
  if (a.sum != b.sum) return a.sum > b.sum;
  return a.beam != b.beam ? a.beam < b.beam : a.id < b.id;
}

class Search {
 public:
  Search(Engine& engine, const Generation& generation, std::int64_t limit)
      : engine_(engine), generation_(generation), limit_(limit), running_(1) {
    sessions_.push_back(engine.session());
  }

  std::span<const float> begin(std::span<const std::int32_t> prompt) { return sessions_[0].run(prompt, Logits::last); }

  // Takes the logits of all running beams; the best continuations run on.
  void step(std::span<const float> logits) {
    rank(logits);
    std::vector<Beam> next;
    const bool last = length() + 1 == limit_;
    const auto beams = static_cast<std::size_t>(generation_.beams);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (i >= beams && (last || next.size() == beams)) break;
      Beam beam = child(candidates_[i]);
      const bool end = is_end(candidates_[i].id);
      const bool stopped = !end && generation_.ends_beam && generation_.ends_beam(beam.ids);
      if (!end && !stopped && !last) {
        if (next.size() == beams) continue;
        grow(beam, std::nullopt);
        next.push_back(std::move(beam));
      } else if (i < beams) {
        finish(std::move(beam), end, stopped);
      }
    }
    std::swap(running_, next);
    take_sessions();
  }

  bool done() const {
    if (running_.empty()) return true;
    if (finished_.size() < static_cast<std::size_t>(generation_.beams)) return false;
    if (generation_.beam_stop == BeamStop::full) return true;
    // Σ ln p only falls. Divided by a power above 0 of the length it is highest at the greatest length, by one below 0
    // at the least.
    const bool longest = generation_.beam_stop == BeamStop::impossible && generation_.length_penalty > 0;
    return score(running_.front().sum, longest ? limit_ : length()) <= finished_.back().continuation.score;
  }

  // The last token of each; or all of its text, where that has outgrown what is cached.
  std::span<const float> run(std::span<const std::int32_t> prompt) {
    const bool anew = sessions_[0].outgrown(sessions_[0].length() + 1);
    std::vector<std::vector<std::int32_t>> texts;
    std::vector<Engine::Part> parts;
    texts.reserve(running_.size());
    for (std::size_t b = 0; b < running_.size(); ++b) {
      const std::vector<std::int32_t>& ids = running_[b].ids;
      texts.emplace_back();
      if (anew) {
        sessions_[b].reset();
        texts.back().assign(prompt.begin(), prompt.end());
      }
      texts.back().insert(texts.back().end(), anew ? ids.begin() : ids.end() - 1, ids.end());
      parts.push_back({sessions_[b], texts.back()});
    }
    return engine_.step(parts);
  }

  void stop() {
    for (const Beam& beam : running_) {
      add({beam.ids, Ending::stopped, {}, beam.sum, score(beam.sum, length()), sessions_[0].length()}, beam.node);
    }
  }

  std::vector<Continuation> take_best(BeamTree* tree) {
    finished_.resize(std::min(finished_.size(), static_cast<std::size_t>(generation_.best)));
    std::vector<Continuation> best;
    for (Finished& one : finished_) {
      best.push_back(std::move(one.continuation));
      if (tree != nullptr) tree->best.push_back(one.node);
    }
    if (tree != nullptr) tree->nodes = std::move(nodes_);
    return best;
  }

 private:
  std::int64_t length() const { return static_cast<std::int64_t>(running_.front().ids.size()); }

  double score(double sum, std::int64_t n) const {
    return n == 0 ? 0 : sum / std::pow(static_cast<double>(n), generation_.length_penalty);
  }

  bool is_end(std::int32_t id) const {
    return std::find(generation_.stop_ids.begin(), generation_.stop_ids.end(), id) != generation_.stop_ids.end();
  }

  // Enough that, if all that can end do, as many as there are beams are left to run on.
  void rank(std::span<const float> logits) {
    const std::size_t wanted =
        std::max<std::size_t>(2, 1 + generation_.stop_ids.size()) * static_cast<std::size_t>(generation_.beams);
    const auto vocab_size = static_cast<std::size_t>(engine_.model().vocab_size);
    candidates_.clear();
    for (std::size_t b = 0; b < running_.size(); ++b) {
      const auto row = logits.subspan(b * vocab_size, vocab_size);
      const double base = running_[b].sum - log_sum_exp(row);
      best_tokens(row, static_cast<std::int64_t>(wanted), ranked_);
      for (const Ranked& token : ranked_) {
        candidates_.push_back({base + static_cast<double>(token.score), static_cast<int>(b), token.id});
      }
    }
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(std::min(wanted, candidates_.size()));
    std::partial_sort(candidates_.begin(), end, candidates_.end(), goes_before);
    candidates_.erase(end, candidates_.end());
  }

  Beam child(const Candidate& candidate) const {
    Beam beam = running_[static_cast<std::size_t>(candidate.beam)];
    beam.parent = static_cast<std::size_t>(candidate.beam);
    beam.ids.push_back(candidate.id);
    beam.sum = candidate.sum;
    return beam;
  }

  // Its last token becomes a node.
  void grow(Beam& beam, std::optional<double> score_there) {
    const Beam& parent = running_[beam.parent];
    const std::int64_t node = std::ssize(nodes_);
    nodes_.push_back(
        {parent.node, std::ssize(parent.ids), beam.ids.back(), beam.sum - parent.sum, beam.sum, score_there});
    beam.node = node;
  }

  void finish(Beam beam, bool end, bool stopped) {
    const std::int64_t n = length() + 1;
    grow(beam, score(beam.sum, n));
    if (end) beam.ids.pop_back();
    const Ending cut = n < generation_.tokens ? Ending::context : Ending::length;
    const Ending ending = end ? Ending::end_of_text : stopped ? Ending::stopped : cut;
    add({std::move(beam.ids), ending, {}, beam.sum, score(beam.sum, n), 0}, beam.node);
  }

  void add(Continuation hypothesis, std::int64_t node) {
    const auto place =
        std::upper_bound(finished_.begin(), finished_.end(), hypothesis.score,
                         [](double wanted, const Finished& other) { return wanted > other.continuation.score; });
    finished_.insert(place, {std::move(hypothesis), node});
    if (finished_.size() > static_cast<std::size_t>(generation_.beams)) finished_.pop_back();
  }

  // Each running beam takes its parent's session, or a fork of it where an earlier one has done so.
  void take_sessions() {
    std::vector<bool> wanted(sessions_.size(), false);
    for (const Beam& beam : running_) wanted[beam.parent] = true;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i]) sessions_[i].reset();
    }
    std::vector<Session> next;
    std::vector<std::size_t> heir(sessions_.size(), running_.size());  // the first child of each
    for (const Beam& beam : running_) {
      std::size_t& first = heir[beam.parent];
      const bool taken = first < running_.size();
      if (!taken) first = next.size();
      next.push_back(taken ? next[first].fork() : std::move(sessions_[beam.parent]));
    }
    sessions_ = std::move(next);
  }

  Engine& engine_;
  const Generation& generation_;
  std::int64_t limit_;              // tokens of the longest hypothesis
  std::vector<Beam> running_;       // the best first
  std::vector<Session> sessions_;   // of each running one
  std::vector<Finished> finished_;  // the best first
  std::vector<BeamNode> nodes_;
  std::vector<Candidate> candidates_;
  std::vector<Ranked> ranked_;
};

}  // namespace

Generated beam_search(Engine& engine, std::span<const std::int32_t> prompt, const Generation& generation,
                      BeamTree* tree) {
  validate(generation, engine, prompt);
  Generated result;
  const auto length = static_cast<std::int64_t>(prompt.size());
  Search search(engine, generation, std::min(generation.tokens, engine.options().capacity - length + 1));

  try {
    std::span<const float> logits = timed(result.pace.prefill_seconds, [&] { return search.begin(prompt); });
    result.pace.prefill_tokens = length;
    for (;;) {
      const bool done = timed(result.pace.decode_seconds, [&] {
        search.step(logits);
        return search.done();
      });
      if (done) break;
      logits = timed(result.pace.decode_seconds, [&] { return search.run(prompt); });
      result.pace.decode_tokens += 1;
    }
  } catch (const Cancelled&) {
    search.stop();
  }
  result.continuations = search.take_best(tree);
  return result;
}

}  // namespace reckon
