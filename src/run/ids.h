// Token ids from outside are checked once, with one sentence.
#pragma once

#include <fmt/format.h>
#include <reckon/error.h>

#include <cstdint>
#include <span>

#include "files/numbers.h"

namespace reckon {

inline void check_ids(std::span<const std::int32_t> ids, std::int64_t vocab_size) {
  for (const std::int32_t id : ids) {
    if (id >= 0 && id < vocab_size) continue;
    throw UsageError(fmt::format("id {} is outside the vocabulary of {} tokens", id, grouped(vocab_size)));
  }
}

}  // namespace reckon
