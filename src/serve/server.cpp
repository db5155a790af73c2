#include "serve/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <reckon/error.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <list>
#include <memory>
#include <string_view>
#include <vector>

namespace reckon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t largest_head = 16 * 1024;  // bytes of a request, which has no body
constexpr std::size_t most_connections = 256;
constexpr auto patience = std::chrono::seconds(30);  // with a connection that says nothing

struct Connection {
  Descriptor socket;
  std::string received, sending;
  std::size_t sent = 0;
  bool closing = false;  // once all is sent
  Clock::time_point heard = Clock::now();

  bool has_more() const { return sent < sending.size(); }
};

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses find(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (code != 0) throw Error(fmt::format("{}: is no host: {}", host, ::gai_strerror(code)));
  return {found, ::freeaddrinfo};
}

void set_non_blocking(int socket) { ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK); }

// Errno says why there is none.
Descriptor listen_at(const addrinfo& address) {
  Descriptor listener(::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, address.ai_protocol));
  if (!listener) return listener;
  const int on = 1;
  ::setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(listener.number(), address.ai_addr, address.ai_addrlen) != 0 || ::listen(listener.number(), 64) != 0) {
    const int code = errno;
    listener = Descriptor(-1);
    errno = code;
    return listener;
  }
  set_non_blocking(listener.number());
  return listener;
}

int port_of(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// Answers all requests that have come whole. False: the connection is over.
bool answer(Connection& connection, const Site& site) {
  while (!connection.closing) {
    const std::size_t end = end_of_head(connection.received);
    if (end == std::string::npos) return connection.received.size() <= largest_head;
    const std::string_view head = std::string_view(connection.received).substr(0, end);
    connection.sending += site.respond(head);
    connection.closing = !stays_open(head);
    connection.received.erase(0, end);
  }
  return true;
}

// False: the browser has gone.
bool receive(Connection& connection, const Site& site) {
  char buffer[4096];
  const ssize_t count = ::recv(connection.socket.number(), buffer, sizeof buffer, 0);
  if (count < 0) return would_block();
  if (count == 0) return false;
  connection.heard = Clock::now();
  if (connection.closing) return true;  // what comes behind the last request is not read
  connection.received.append(buffer, static_cast<std::size_t>(count));
  return answer(connection, site);
}

bool send(Connection& connection) {
  while (connection.has_more()) {
    const ssize_t count = ::send(connection.socket.number(), connection.sending.data() + connection.sent,
                                 connection.sending.size() - connection.sent, MSG_NOSIGNAL);
    if (count < 0) return would_block();
    connection.sent += static_cast<std::size_t>(count);
    connection.heard = Clock::now();
  }
  connection.sending.clear();
  connection.sent = 0;
  return !connection.closing;
}

}  // namespace

Server::Server(const std::string& host, int port) : host_(host) {
  constexpr int tries = 100;
  for (int next = port; next <= std::min(port + tries, 65535); ++next) {
    const Addresses addresses = find(host, next);
    socket_ = listen_at(*addresses);
    if (socket_) break;
    if (errno != EADDRINUSE || port == 0) throw file_error(fmt::format("{}:{}", host, next), "cannot be listened at");
  }
  if (!socket_) throw Error(fmt::format("{}: the ports {} to {} are all taken", host, port, port + tries));
  port_ = port_of(socket_);
}

std::string Server::address() const {
  const bool six = host_.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}/", six ? "[" : "", host_, six ? "]" : "", port_);
}

void Server::run(const Site& site, const std::atomic<bool>& stop) const {
  std::list<Connection> connections;
  std::vector<pollfd> waiting;
  while (!stop.load(std::memory_order_relaxed)) {
    waiting.clear();
    const bool room = connections.size() < most_connections;
    waiting.push_back({socket_.number(), static_cast<short>(room ? POLLIN : 0), 0});
    for (const Connection& connection : connections)
      // A browser that does not take what it asked for is not asked for more.
      waiting.push_back({connection.socket.number(), static_cast<short>(connection.has_more() ? POLLOUT : POLLIN), 0});
    ::poll(waiting.data(), waiting.size(), 200);  // milliseconds; a signal, and what is overdue, are seen by then
    std::size_t i = 1;
    for (auto it = connections.begin(); it != connections.end(); ++i) {
      const short events = waiting[i].revents;
      bool lives = (events & (POLLERR | POLLNVAL)) == 0 && Clock::now() - it->heard < patience;
      if (lives && (events & (POLLIN | POLLHUP)) != 0) lives = receive(*it, site);
      if (lives && it->has_more()) lives = send(*it);
      it = lives ? std::next(it) : connections.erase(it);
    }
    if ((waiting.front().revents & POLLIN) != 0) {
      Descriptor accepted(::accept(socket_.number(), nullptr, nullptr));
      if (accepted) {
        set_non_blocking(accepted.number());
        connections.push_back({std::move(accepted), {}, {}});
      }
    }
  }
}

}  // namespace reckon
