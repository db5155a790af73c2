#include "time/reuse.h"

#include <algorithm>
#include <map>

#include "lowering/regions.h"

namespace reckon {
namespace {

double number(Count count) { return static_cast<double>(count); }

// When an op runs, in bytes that were gone through before it.
struct Moment {
  double in_body = 0;     // since the iteration began; outside of bodies, since the run began
  double on_average = 0;  // since the run began, over all iterations
  std::int32_t repeat = -1;
};

class Reuse {
 public:
  explicit Reuse(const Program& program) : program_(program) {
    costs_.reserve(program.ops.size());
    for (const Op& op : program.ops) costs_.push_back(op.operation->cost(program, op));
    set_moments();
    set_touches();
  }

  std::vector<OpTraffic> run() const {
    std::vector<OpTraffic> all(program_.ops.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (costs_[i].launches == 0) continue;
      all[i].read = read_by(i);
      all[i].written = written_by(i);
    }
    return all;
  }

 private:
  double bytes_of(std::size_t op) const { return number(costs_[op].read + costs_[op].written); }
  double size_of(TensorId id) const { return number(bytes(program_[id])); }
  TensorId root(TensorId id) const { return placement(program_, id).root; }
  bool moves(TensorId id) const { return id != no_tensor && program_[id].kind != TensorKind::step; }

  void set_moments() {
    moments_.resize(program_.ops.size());
    double now = 0;
    for (std::size_t i = 0; i < program_.ops.size();) {
      const std::int32_t repeat = program_.ops[i].repeat;
      const std::size_t end =
          repeat < 0 ? i + 1 : static_cast<std::size_t>(program_.repeats[static_cast<std::size_t>(repeat)].last_op);
      double period = 0;
      for (std::size_t j = i; j < end; ++j) period += bytes_of(j);
      const auto count = static_cast<double>(program_.count(repeat));
      double within = 0;
      for (std::size_t j = i; j < end; ++j) {
        moments_[j] = {repeat < 0 ? now : within, now + period * (count - 1) / 2 + within, repeat};
        within += bytes_of(j);
      }
      if (repeat >= 0) periods_[repeat] = period;
      now += period * count;
      i = end;
    }
    total_ = now;
  }

  void set_touches() {
    for (std::size_t i = 0; i < program_.ops.size(); ++i) {
      for (const TensorIds* ids : {&program_.ops[i].inputs, &program_.ops[i].outputs}) {
        for (const TensorId id : *ids) {
          if (!moves(id)) continue;
          std::vector<std::size_t>& touches = touches_[root(id)];
          // A row of a table or of a cache says nothing about the rest.
          const bool most = 2 * bytes_of(i) >= size_of(root(id));
          if (most && (touches.empty() || touches.back() != i)) touches.push_back(i);
        }
      }
    }
    for (const auto& [id, touches] : touches_) {
      const bool lasts = program_[id].kind != TensorKind::activation;
      footprint_ += size_of(id) * (lasts ? static_cast<double>(program_.count(program_[id].repeat)) : 1);
    }
    for (const Repeat& repeat : program_.repeats) {
      for (const auto& [enters, leaves] : repeat.carried) carried_[root(enters)] = root(leaves);
    }
  }

  double capped(double distance, std::size_t op) const {
    return std::max(bytes_of(op), std::min(distance, footprint_));
  }

  double between(std::size_t earlier, std::size_t later) const {
    const Moment &a = moments_[earlier], &b = moments_[later];
    return a.repeat == b.repeat && a.repeat >= 0 ? b.in_body - a.in_body : b.on_average - a.on_average;
  }

  // Since `id` was touched before op i.
  double since(TensorId id, std::size_t i) const {
    const std::vector<std::size_t>& touches = touches_.at(id);
    const auto here = std::lower_bound(touches.begin(), touches.end(), i);
    if (here != touches.begin()) return capped(between(*(here - 1), i), i);
    // What the iteration before handed on.
    const auto carried = carried_.find(id);
    if (carried != carried_.end() && moments_[i].repeat >= 0) {
      const auto found = touches_.find(carried->second);
      if (found != touches_.end() && !found->second.empty() &&
          moments_[found->second.back()].repeat == moments_[i].repeat)
        return capped(moments_[i].in_body + periods_.at(moments_[i].repeat) - moments_[found->second.back()].in_body,
                      i);
    }
    if (program_[id].kind == TensorKind::activation || program_[id].kind == TensorKind::input) return bytes_of(i);
    return capped(touches.empty() ? total_ : total_ - between(i, touches.back()), i);
  }

  // Of the bytes that are no weights, each input has its share by its size.
  std::vector<Traffic> read_by(std::size_t i) const {
    const Op& op = program_.ops[i];
    double parameters = 0, others = 0;
    for (const TensorId id : op.inputs) {
      if (moves(id)) (program_[id].kind == TensorKind::parameter ? parameters : others) += size_of(id);
    }
    const double weights = number(costs_[i].weights), rest = std::max(0.0, number(costs_[i].read) - weights);
    std::vector<Traffic> read;
    for (const TensorId id : op.inputs) {
      if (!moves(id)) continue;
      const bool parameter = program_[id].kind == TensorKind::parameter;
      const double all = parameter ? parameters : others;
      if (all > 0)
        read.push_back({(parameter ? weights : rest) * size_of(id) / all, since(root(id), i), false, parameter});
    }
    return read;
  }

  // A place in the arena was free for about as long as what is written now will live: the next that is free is taken.
  std::vector<Traffic> written_by(std::size_t i) const {
    const Op& op = program_.ops[i];
    double all = 0;
    for (const TensorId id : op.outputs) all += moves(id) ? size_of(id) : 0;
    std::vector<Traffic> written;
    for (const TensorId id : op.outputs) {
      if (!moves(id) || all == 0) continue;
      const TensorId owner = root(id);
      const bool in_place = std::any_of(op.inputs.begin(), op.inputs.end(),
                                        [&](TensorId input) { return moves(input) && root(input) == owner; });
      const std::vector<std::size_t>& touches = touches_.at(owner);
      const double distance = in_place ? since(owner, i) : capped(touches.empty() ? 0 : between(i, touches.back()), i);
      written.push_back({number(costs_[i].written) * size_of(id) / all, distance, in_place, false});
    }
    return written;
  }

  const Program& program_;
  std::vector<Cost> costs_;
  std::vector<Moment> moments_;
  std::map<std::int32_t, double> periods_;
  std::map<TensorId, std::vector<std::size_t>> touches_;  // of each tensor with memory of its own
  std::map<TensorId, TensorId> carried_;                  // what enters a body, and what left the iteration before
  double total_ = 0, footprint_ = 0;
};

}  // namespace

std::vector<OpTraffic> traffic_of(const Program& program) { return Reuse(program).run(); }

}  // namespace reckon
