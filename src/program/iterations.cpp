#include "program/iterations.h"

#include <reckon/error.h>

namespace reckon {
namespace {

const Repeat* find(const Program& program, std::int32_t repeat) {
  return repeat < 0 ? nullptr : &program.repeats[static_cast<std::size_t>(repeat)];
}

// Whether what leaves a body lies in the memory of what enters it.
bool in_place(const Program& program, TensorId entering, TensorId leaving) {
  while (leaving != entering && leaving != no_tensor) leaving = program[leaving].storage;
  return leaving == entering;
}

}  // namespace

Meaning meaning(const Program& program, TensorId id, std::int32_t repeat) {
  const Repeat* body = find(program, repeat);
  if (body == nullptr) return {id};
  if (body->count > 1) {
    for (const auto& [entering, leaving] : body->carried) {
      if (id == entering) return {leaving, true, body->reversed ? 1 : -1, entering};
    }
    // A backward body means by what entered the forward body the same as that did in its iteration.
    if (body->root != repeat) {
      for (const auto& [entering, leaving] : find(program, body->root)->carried) {
        if (id == entering) return {leaving, true, -1, entering};
      }
    }
  }
  const Repeat* made_in = find(program, program[id].repeat);
  return {id, made_in != nullptr && made_in->root == body->root};
}

Meaning memory_of(const Program& program, TensorId id, std::int32_t repeat) {
  if (id == no_tensor) return {no_tensor};
  Meaning found = meaning(program, id, repeat);
  for (;;) {
    if (found.shift != 0 && in_place(program, found.first, found.id)) found = {found.first};
    const Tensor& tensor = program[found.id];
    if (tensor.storage == no_tensor) break;
    const Meaning next = meaning(program, tensor.storage, found.each ? tensor.repeat : -1);
    if (found.shift != 0 && next.shift != 0) throw Error("a tensor is carried through a body two iterations at a time");
    found.id = next.id;
    found.each = next.each;
    if (next.shift != 0) found = next;
  }
  if (found.shift != 0) found.first = memory_of(program, found.first, -1).id;
  return found;
}

std::int64_t last_run(const Repeat& repeat) { return repeat.reversed ? 0 : repeat.count - 1; }

}  // namespace reckon
