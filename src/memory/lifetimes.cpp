// A tensor lives from the op that first touches it to the last that does. Iterations that are not looked at lie
// between the second and the third; what they keep for a later repeat is alive from there to the same place in that.
#include "memory/lifetimes.h"

#include "files/checked.h"
#include "program/iterations.h"

#include <algorithm>
#include <limits>

namespace reckon {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

class Timeline {
 public:
  Timeline(const Program& program, const std::vector<std::int64_t>& regions, const std::vector<bool>& held,
           std::int64_t alignment)
      : program_(program),
        alignment_(alignment),
        bodies_(program.repeats.size()),
        begin_(program.ops.size()),
        first_(program.tensors.size()) {
    for (std::size_t r = 0; r < bodies_.size(); ++r) {
      const std::int64_t count = program.repeats[r].count;
      bodies_[r].shown = count < 6 ? count : 4 + count % 2;
    }
    set_times(regions);
    std::size_t lives = 0;
    for (std::size_t id = 0; id < first_.size(); ++id) {
      first_[id] = lives;
      if (held[id]) lives += index(shown(program.tensors[id].repeat));
    }
    first_.push_back(lives);
    found_.lives.resize(lives);
    found_.saved.resize(program.tensors.size());
    for (std::size_t id = 0; id + 1 < first_.size(); ++id) {
      for (std::size_t i = first_[id]; i < first_[id + 1]; ++i) {
        found_.lives[i] = {static_cast<TensorId>(id), static_cast<std::int64_t>(i - first_[id]), never, -1};
      }
    }
  }

  Lifetimes run() {
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      for (TensorId id : program_.ops[i].inputs) touch(id, i);
      for (TensorId id : program_.ops[i].outputs) touch(id, i);
    }
    if (program_.output != no_tensor) touch(from_outside(memory_of(program_, program_.output, -1).id), end_ - 1);
    std::erase_if(found_.lives, [](const Lifetimes::Life& life) { return life.last < 0; });
    for (Lifetimes::Life& life : found_.lives) {
      if (program_[life.id].kind == TensorKind::input) life.first = 0;  // filled before the first op
    }
    for (const Body& body : bodies_) found_.shown.push_back(body.shown);
    add_up();
    return std::move(found_);
  }

 private:
  struct Body {
    std::int64_t shown = 0, begin = 0, length = 0;  // iterations; times of the first, and of each
  };

  const Repeat& repeat(std::int32_t r) const { return program_.repeats[index(r)]; }
  std::int64_t shown(std::int32_t r) const { return r < 0 ? 1 : bodies_[index(r)].shown; }
  std::int64_t hidden(std::int32_t r) const { return r < 0 ? 0 : repeat(r).count - shown(r); }
  std::int64_t time(std::size_t op, std::int64_t step) const {
    const std::int32_t r = program_.ops[op].repeat;
    return begin_[op] + (r < 0 ? 0 : step * bodies_[index(r)].length);
  }

  void set_times(const std::vector<std::int64_t>& regions) {
    for (std::size_t i = 0; i < regions.size();) {
      const std::int32_t r = program_.ops[i].repeat;
      const std::size_t last = r < 0 ? i + 1 : index(repeat(r).last_op);
      // Products outside of bodies may share a region.
      const bool shared = i > 0 && regions[i] == regions[i - 1];
      const std::int64_t begin = shared ? end_ - 1 : end_, length = regions[last - 1] - regions[i] + 1;
      if (r >= 0) bodies_[index(r)] = {shown(r), begin, length};
      for (std::size_t j = i; j < last; ++j) begin_[j] = begin + regions[j] - regions[i];
      end_ = begin + length * shown(r);
      i = last;
    }
  }

  // The place in `lives` of a tensor as seen from outside of its body.
  std::int64_t from_outside(TensorId id) const {
    if (first_[index(id)] == first_[index(id) + 1]) return -1;
    const std::int32_t r = program_[id].repeat;
    return static_cast<std::int64_t>(first_[index(id)]) + (r < 0 || repeat(r).reversed ? 0 : shown(r) - 1);
  }

  void touch(std::int64_t life, std::int64_t time) {
    if (life < 0) return;
    Lifetimes::Life& l = found_.lives[index(life)];
    l.first = std::min(l.first, time);
    l.last = std::max(l.last, time);
  }

  void touch(TensorId id, std::size_t op) {
    if (id == no_tensor) return;
    const std::int32_t r = program_.ops[op].repeat, steps = static_cast<std::int32_t>(shown(r));
    const Meaning memory = memory_of(program_, id, r);
    if (memory.each && program_[memory.id].repeat != r) found_.saved[index(memory.id)] = true;
    const bool held = first_[index(memory.id)] != first_[index(memory.id) + 1];
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t k = (r >= 0 && repeat(r).reversed ? steps - 1 - step : step) + memory.shift;
      if (memory.shift != 0 && (k < 0 || k >= steps)) {
        touch(from_outside(memory.first), time(op, step));
      } else if (!memory.each) {
        touch(from_outside(memory.id), time(op, step));
      } else if (held) {
        touch(static_cast<std::int64_t>(first_[index(memory.id)]) + k, time(op, step));
      }
    }
  }

  // Where the iterations that are not looked at lie in the body at that time.
  std::int64_t gap(std::int64_t time) const {
    for (std::size_t r = 0; r < bodies_.size(); ++r) {
      const Body& body = bodies_[r];
      if (time < body.begin || time >= body.begin + body.shown * body.length) continue;
      return body.begin + (program_.repeats[r].reversed ? body.shown - 2 : 2) * body.length;
    }
    return never;
  }

  // Instances of a tensor in iterations that are not looked at, alive together from one time up to another.
  struct Unseen {
    std::int64_t from = 0, to = 0, instances = 0;
  };
  // Those that go with a tensor's second life; none with its others.
  Unseen unseen(const Lifetimes::Life& life) const {
    const std::int64_t missing = hidden(program_[life.id].repeat);
    if (life.iteration != 1 || missing == 0) return {};
    const std::int64_t from = gap(life.first), to = gap(life.last);
    return from < to && to != never ? Unseen{from, to, missing} : Unseen{};
  }

  void add_up() {
    std::vector<std::int64_t> change(index(end_) + 1);
    const auto add = [&](std::int64_t first, std::int64_t last, std::int64_t size) {
      change[index(first)] = checked_add(change[index(first)], size, "the arena");
      change[index(last)] = checked_add(change[index(last)], -size, "the arena");
    };
    for (const Lifetimes::Life& life : found_.lives) {
      const std::int64_t size = padded(static_cast<std::int64_t>(bytes(program_[life.id])), alignment_);
      add(life.first, life.last + 1, size);
      if (const auto [from, to, instances] = unseen(life); instances > 0)
        add(from, to, checked_multiply(instances, size, "the arena"));
    }
    std::vector<std::int64_t> live(index(end_));
    std::int64_t sum = 0;
    for (std::size_t t = 0; t < live.size(); ++t) live[t] = sum = checked_add(sum, change[t], "the arena");
    find_kept();
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      const std::int64_t last = shown(program_.ops[i].repeat) - 1;
      const auto at = [&](std::int64_t step) { return live[index(time(i, std::clamp<std::int64_t>(step, 0, last)))]; };
      found_.live.push_back({at(0), at(1), at(last - 1), at(last)});
      if (const std::int64_t most = found_.live.back().most(); most > found_.peak) {
        found_.peak = most;
        found_.peak_op = i;
      }
    }
    find_alive(live);
  }

  // What is alive where the peak is.
  void find_alive(const std::vector<std::int64_t>& live) {
    found_.alive.resize(program_.tensors.size());
    if (program_.ops.empty()) return;
    const std::int32_t r = program_.ops[found_.peak_op].repeat;
    std::int64_t step = 0;
    while (step + 1 < shown(r) && live[index(time(found_.peak_op, step))] < found_.peak) ++step;
    const std::int64_t at = time(found_.peak_op, step);
    found_.peak_step = step < 2 ? step : step + hidden(r);
    for (const Lifetimes::Life& life : found_.lives) {
      if (life.first <= at && at <= life.last) ++found_.alive[index(life.id)];
      if (const Unseen others = unseen(life); others.from <= at && at < others.to)
        found_.alive[index(life.id)] += others.instances;
    }
  }

  void find_kept() {
    const auto backward = std::find_if(program_.ops.begin(), program_.ops.end(),
                                       [](const Op& op) { return op.stage == Stage::backward; });
    if (backward == program_.ops.end()) return;
    const std::int64_t between = time(index(backward - program_.ops.begin()), 0);
    for (const Lifetimes::Life& life : found_.lives) {
      if (life.first >= between || life.last < between) continue;
      const std::int64_t size = padded(static_cast<std::int64_t>(bytes(program_[life.id])), alignment_);
      const std::int64_t alike = life.iteration == 1 ? 1 + hidden(program_[life.id].repeat) : 1;
      found_.kept = checked_add(found_.kept, checked_multiply(alike, size, "the arena"), "the arena");
    }
  }

  const Program& program_;
  std::int64_t alignment_;
  std::vector<Body> bodies_;
  std::vector<std::int64_t> begin_;  // of each op, in its first iteration
  std::int64_t end_ = 0;
  std::vector<std::size_t> first_;  // of each tensor, in `lives`
  Lifetimes found_;
};

}  // namespace

std::int64_t Live::most() const { return std::max({first, second, before_last, last}); }

std::int64_t Live::at(std::int64_t step, std::int64_t steps) const {
  if (step == 0) return first;
  if (step == steps - 1) return last;
  return steps < 4 ? second : second + (before_last - second) / (steps - 3) * (step - 1);
}

Lifetimes find_lifetimes(const Program& program, const std::vector<std::int64_t>& regions,
                         const std::vector<bool>& held, std::int64_t alignment) {
  return Timeline(program, regions, held, alignment).run();
}

}  // namespace reckon
