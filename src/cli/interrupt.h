// Ctrl-C and SIGTERM: the first asks a command to end with what it has, the second ends the program at once.
#pragma once

#include <atomic>

namespace reckon::cli {

// Set by the first signal; library code is given it to poll.
const std::atomic<bool>& interrupt_flag();
inline bool interrupted() { return interrupt_flag().load(std::memory_order_relaxed); }

// As long as one lives, signals set the flag; before and after, they end the program. So it lives around work that
// polls the flag, and no longer. Signals that the program was started to ignore (nohup) stay ignored.
class InterruptHandler {
 public:
  InterruptHandler();
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;
};

}  // namespace reckon::cli
