// What `plan` says where no layout of the devices divides: which option or number is at fault, and what would do.
#pragma once

#include <optional>

#include "engines/engine.h"
#include "time/search.h"

namespace reckon::cli {

constexpr std::int64_t most_devices = 100'000;

// On nodes with as many devices each: the most that divide all of them.
Job launch_of(const Search& search, const Workload& workload);

// The best of all, whatever an engine can do.
Search of_any_engine(Search search);

// No layout divides: what is at fault.
[[noreturn]] void complain_of_division(const Search& search, const std::optional<Launcher>& engine);

}  // namespace reckon::cli
