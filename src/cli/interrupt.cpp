#include "cli/interrupt.h"

#include <csignal>

namespace reckon::cli {
namespace {

std::atomic<bool> flag = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may set it");

constexpr int signals[] = {SIGINT, SIGTERM};

void end_at_once() {
  for (const int signal : signals) {
    if (std::signal(signal, SIG_DFL) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

void on_signal(int) {
  flag.store(true, std::memory_order_relaxed);
  end_at_once();
}

}  // namespace

const std::atomic<bool>& interrupt_flag() { return flag; }

InterruptHandler::InterruptHandler() {
  for (const int signal : signals) {
    if (std::signal(signal, on_signal) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

InterruptHandler::~InterruptHandler() { end_at_once(); }

}  // namespace reckon::cli
