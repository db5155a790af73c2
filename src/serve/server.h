// Answers browsers: one thread that waits for all connections at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "files/descriptor.h"
#include "serve/site.h"

namespace reckon {

class Server {
 public:
  // Listens at `host` (a name or an address; this machine alone by default) and `port`, or where that is taken at the
  // next free one of the hundred that follow; 0: any. An Error where none is free, or the host is not this machine's.
  Server(const std::string& host, int port);

  int port() const { return port_; }
  std::string address() const;  // "http://127.0.0.1:8017/"

  // Until `stop` is set, by another thread or a signal.
  void run(const Site& site, const std::atomic<bool>& stop) const;

 private:
  std::string host_;
  int port_ = 0;
  Descriptor socket_{-1};
};

}  // namespace reckon
