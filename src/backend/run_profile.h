// Where the time of a run goes, op by op: what was measured beside what the program says it cost.
#pragma once

#include "program/program.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace reckon {

class RunProfile {
 public:
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;
  static Time now() { return Clock::now(); }

  struct Event {
    std::string_view operation;
    Scope scope;
    Time begin, end;
    std::int64_t flops, bytes, sent;  // of the lowered program: bytes of memory, and those to other ranks
    std::size_t op;                   // the first of them, in the program that ran
    std::int64_t ops;
  };

  // `op` and the ops − 1 that follow it ran in one region that began at `begin` and has just ended.
  void add(const Program& program, const Op& op, std::int64_t ops, std::int64_t past, Time begin);
  const std::vector<Event>& events() const { return events_; }

 private:
  std::vector<Event> events_;
};

}  // namespace reckon
