#include "backend/inspection.h"

#include "backend/host_executable.h"
#include "files/numbers.h"
#include "lowering/regions.h"
#include "ops/attend.h"
#include "ops/block_matmul.h"
#include "ops/head_matmul.h"
#include "ops/mixture.h"
#include "ops/project.h"
#include "ops/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>

namespace reckon {
namespace {

// Of ops that run at the same time.
std::string name_of(const Program& program, std::size_t first, std::size_t last) {
  const std::string name = name_of(program.ops[first]);
  return last == first + 1 ? name : fmt::format("{} and {} beside it", name, last - first - 1);
}

std::size_t hash_of(const HostExecutable& executable, TensorId root) {
  const auto* data = reinterpret_cast<const char*>(executable.data(root));
  return std::hash<std::string_view>{}({data, static_cast<std::size_t>(executable.host_bytes(root))});
}

class Watch {
 public:
  explicit Watch(double& sum) : sum_(sum) {}
  ~Watch() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  double& sum_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Of the ops' inputs or outputs, the tensors whose memory they are; parameters have theirs elsewhere.
std::vector<TensorId> roots(const Program& program, std::size_t first, std::size_t last, TensorIds Op::*ids) {
  std::vector<TensorId> found;
  for (std::size_t i = first; i < last; ++i) {
    for (TensorId id : program.ops[i].*ids) {
      if (id == no_tensor || program[id].kind == TensorKind::parameter) continue;
      const TensorId root = placement(program, id).root;
      // Pages lie among those of other layers, masters among the weights: not between fences.
      if (program[root].pages == no_tensor && program[root].label.piece != Piece::master) found.push_back(root);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

std::string name_of(const Op& op) { return fmt::format("{} of {}", op.operation->name, full_name(op.scope)); }

bool counts_bytes(const Operation& operation) {
  static const Operation* const tiled[] = {&project_operation,
                                           &grouped_project_operation,
                                           &head_matmul_operation,
                                           &weight_gradient_operation,
                                           &grouped_weight_gradient_operation,
                                           &attend_operation,
                                           &attend_backward_operation,
                                           &block_matmul_operation,
                                           &block_weight_gradient_operation};
  return std::find(std::begin(tiled), std::end(tiled), &operation) != std::end(tiled);
}

Measured Inspection::done() const {
  Measured sum;
  for (const Measured& stage : done_) sum += stage;
  return sum;
}

void Inspection::add(std::string finding) {
  constexpr std::size_t most = 20;  // the first ones say what is wrong
  if (findings_.size() < most) findings_.push_back(std::move(finding));
}

void Inspection::before(const HostExecutable& executable, std::size_t first, std::size_t last, const Measured& so_far) {
  const Watch watch(seconds_);
  const Program& program = executable.program();
  before_ = so_far;
  for (TensorId root : roots(program, first, last, &Op::inputs)) {
    const auto found = contents_.find(root);
    if (found == contents_.end() || found->second.hash == hash_of(executable, root)) continue;
    add(fmt::format("{} reads {}, which was changed after {} wrote it", name_of(program.ops[first]),
                    full_name(program[root]), name_of(program.ops[found->second.writer])));
    contents_.erase(found);
  }
  outputs_ = roots(program, first, last, &Op::outputs);
  zones_.clear();
  for (TensorId root : outputs_) {
    const std::byte* data = executable.data(root);
    const std::byte* end = data + executable.host_bytes(root);
    zones_.push_back({root, data - HostBuffer::fence, {data - HostBuffer::fence, data}});
    zones_.push_back({root, end, {end, end + HostBuffer::fence}});
  }
}

void Inspection::after(const HostExecutable& executable, std::size_t first, std::size_t last, std::int64_t past,
                       const Measured& so_far, bool tiles) {
  const Watch watch(seconds_);
  if (sabotage_ != nullptr && sabotage_->done) sabotage_->done(executable, first);
  for (std::size_t i = first; observe && i < last; ++i) observe(executable, executable.program().ops[i]);
  check_costs(executable, first, last, past, so_far - before_, tiles);
  check_zones(executable, first);
  for (TensorId root : outputs_) {
    if (executable.in_arena(root)) contents_[root] = {hash_of(executable, root), first};
  }
}

void Inspection::check_costs(const HostExecutable& executable, std::size_t first, std::size_t last, std::int64_t past,
                             const Measured& did, bool tiles) {
  const Program& program = executable.program();
  Count matmul, elementwise, matmul_least, elementwise_least, least, read, written;
  for (std::size_t i = first; i < last; ++i) {
    const Cost cost = cost_at(program, program.ops[i], past);
    matmul += cost.matmul.value();
    elementwise += cost.elementwise.value();
    matmul_least += cost.matmul_least < 0 ? cost.matmul.value() : cost.matmul_least;
    elementwise_least += cost.elementwise_least < 0 ? cost.elementwise.value() : cost.elementwise_least;
    if (!tiles || !counts_bytes(*program.ops[i].operation)) continue;
    least += cost.read_least >= 0 ? cost.read_least : cost.read;
    read += cost.read;
    written += cost.written;
  }
  done_[static_cast<std::size_t>(program.ops[first].stage)] += did;
  const auto compare = [&](const char* what, Count said, std::int64_t found) {
    if (said == found) return;
    add(fmt::format("{} did {} {}, its cost rule says {}", name_of(program, first, last), grouped(found), what,
                    grouped(said)));
  };
  compare("matmul FLOPs", std::clamp<Count>(did.matmul_flops, matmul_least, matmul), did.matmul_flops);
  compare("element-wise FLOPs", std::clamp<Count>(did.elementwise_flops, elementwise_least, elementwise),
          did.elementwise_flops);
  compare("bytes of reading", std::clamp<Count>(did.read, least, read), did.read);
  compare("bytes of writing", written, did.written);
}

void Inspection::check_zones(const HostExecutable& executable, std::size_t first) {
  const auto its_own = [&](const std::byte* at) {
    return std::any_of(outputs_.begin(), outputs_.end(), [&](TensorId root) {
      return at >= executable.data(root) && at < executable.data(root) + executable.host_bytes(root);
    });
  };
  const Program& program = executable.program();
  for (const Zone& zone : zones_) {
    for (std::size_t i = 0; i < zone.bytes.size(); ++i) {
      const std::byte* at = zone.begin + i;
      if (*at == zone.bytes[i] || its_own(at)) continue;
      add(fmt::format("{} wrote to byte {} of its output {}, which has {}", name_of(program.ops[first]),
                      grouped(static_cast<std::int64_t>(at - executable.data(zone.owner))),
                      full_name(program[zone.owner]), grouped(executable.host_bytes(zone.owner))));
      break;
    }
  }
}

}  // namespace reckon
