// The page's server: what it answers, what it refuses, and where it listens.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <reckon/error.h>
#include <sys/socket.h>

#include <fstream>
#include <thread>

#include "program_fixture.h"
#include "serve/server.h"
#include "serve/site.h"

namespace reckon {
namespace {

class ServeTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    fs::create_directories(folder_ / "page" / "assets");
    std::ofstream(folder_ / "page" / "index.html") << "<p>page</p>";
    std::ofstream(folder_ / "page" / "assets" / "count-1a2b.wasm") << std::string("\0asm", 4);
    std::ofstream(folder_ / "page" / "a file.txt") << "spaced";
    std::ofstream(folder_ / "secret.txt") << "secret";
  }
  fs::path page() const { return folder_ / "page"; }
};

std::string get(const std::string& path, const std::string& method = "GET") {
  return fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n\r\n", method, path);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// What a server on this port answers to these bytes, until it closes or `length` bytes have come.
std::string talk(int port, const std::string& request, std::size_t length = std::string::npos) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return "refused";
  (void)!::send(socket.number(), request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char buffer[4096];
  while (answer.size() < length) {
    const ssize_t count = ::recv(socket.number(), buffer, sizeof buffer, 0);
    if (count <= 0) break;
    answer.append(buffer, static_cast<std::size_t>(count));
  }
  return answer;
}

TEST_F(ServeTest, AFileIsAnsweredWithItsTypeAndTheHeadersThatThreadsNeed) {
  const Site site(page());
  const std::string index = site.respond(get("/"));
  EXPECT_TRUE(index.starts_with("HTTP/1.1 200 OK\r\n")) << index;
  EXPECT_TRUE(index.ends_with("\r\n\r\n<p>page</p>")) << index;
  EXPECT_TRUE(has(index, "Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_TRUE(has(index, "Content-Length: 11\r\n"));
  EXPECT_TRUE(has(index, "Cross-Origin-Opener-Policy: same-origin\r\n"));
  EXPECT_TRUE(has(index, "Cross-Origin-Embedder-Policy: require-corp\r\n"));
  EXPECT_TRUE(has(index, "Cache-Control: no-cache\r\n"));
  EXPECT_EQ(index, site.respond(get("/index.html?view=train#x")));
  const std::string module = site.respond(get("/assets/count-1a2b.wasm"));
  EXPECT_TRUE(has(module, "Content-Type: application/wasm\r\n"));
  EXPECT_TRUE(has(module, "immutable\r\n"));
  EXPECT_TRUE(has(site.respond(get("/a%20file.txt")), "spaced"));
}

TEST_F(ServeTest, HeadHasTheLengthAndNoBody) {
  const std::string answer = Site(page()).respond(get("/", "HEAD"));
  EXPECT_TRUE(has(answer, "Content-Length: 11\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST_F(ServeTest, NoPathLeadsOutOfTheFolder) {
  const Site site(page());
  for (const char* path : {"/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt",
                           "//secret.txt", "/assets", "/assets/", "/a%2", "/%zz", "secret.txt", "/\\..\\secret.txt"}) {
    const std::string answer = site.respond(get(path));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 404 Not Found\r\n")) << path << ": " << answer;
    EXPECT_FALSE(has(answer, "\r\n\r\nsecret")) << path;
  }
}

TEST_F(ServeTest, WhatIsNoGetIsRefused) {
  const Site site(page());
  EXPECT_TRUE(site.respond(get("/", "POST")).starts_with("HTTP/1.1 405"));
  for (const char* head : {"\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n", "\0\1\2 \3 \4\r\n\r\n"})
    EXPECT_TRUE(site.respond(head).starts_with("HTTP/1.1 400")) << head;
}

TEST_F(ServeTest, AFolderWithoutAPageIsAnError) {
  EXPECT_THROW(Site(folder_ / "nothing"), Error);
  EXPECT_THROW(Site(folder_ / "page" / "assets"), Error);
}

TEST_F(ServeTest, AConnectionTakesSeveralRequestsAndClosesWhenAsked) {
  const Site site(page());
  const Server server("127.0.0.1", 0);
  std::atomic<bool> stop = false;
  std::thread thread([&] { server.run(site, stop); });
  const std::string last = "GET /nowhere HTTP/1.1\r\nConnection: close\r\n\r\n";
  const std::string answers = talk(server.port(), get("/") + get("/a%20file.txt") + last);
  EXPECT_TRUE(has(answers, "<p>page</p>HTTP/1.1 200 OK\r\n")) << answers;
  EXPECT_TRUE(has(answers, "spacedHTTP/1.1 404 Not Found\r\n")) << answers;
  EXPECT_EQ(talk(server.port(), std::string(100'000, 'x')), "");  // a head without an end
  EXPECT_TRUE(has(talk(server.port(), "GET / HTTP/1.0\r\n\r\n"), "<p>page</p>"));
  stop = true;
  thread.join();
}

TEST_F(ServeTest, ALargeFileArrivesWhole) {
  const std::string large(20'000'000, 'L');
  std::ofstream(page() / "large.txt") << large;
  const Site site(page());
  const Server server("127.0.0.1", 0);
  std::atomic<bool> stop = false;
  std::thread thread([&] { server.run(site, stop); });
  EXPECT_TRUE(talk(server.port(), "GET /large.txt HTTP/1.0\r\n\r\n").ends_with("\r\n\r\n" + large));
  stop = true;
  thread.join();
}

TEST_F(ServeTest, APortThatIsTakenGivesTheNextFreeOne) {
  const Server first("127.0.0.1", 0);
  const Server second("127.0.0.1", first.port());
  EXPECT_GT(second.port(), first.port());
  EXPECT_LE(second.port(), first.port() + 100);
  EXPECT_EQ(second.address(), fmt::format("http://127.0.0.1:{}/", second.port()));
}

TEST_F(ServeTest, TheProgramNamesItsAddressAndEndsWhenInterrupted) {
  const pid_t child = start({"serve", "--folder", page(), "--port", "0"});
  ASSERT_GT(child, 0);
  std::string address;
  for (int i = 0; i < 500 && !address.ends_with('\n'); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::ifstream out(folder_ / "stdout");
    address.assign(std::istreambuf_iterator<char>(out), {});
  }
  ASSERT_TRUE(address.starts_with("http://127.0.0.1:")) << address;
  EXPECT_TRUE(has(talk(std::stoi(address.substr(17)), "GET / HTTP/1.0\r\n\r\n"), "<p>page</p>"));
  ::kill(child, SIGINT);
  EXPECT_EQ(end(child).code, 0);
}

TEST_F(ServeTest, WrongUseIsASentence) {
  ::unsetenv("RECKON_PAGE");
  EXPECT_EQ(run({"serve", "--folder", "nowhere"}).err, "reckon: nowhere: there is no such folder\n");
  EXPECT_EQ(run({"serve", "--port", "65536", "--folder", page()}).err,
            "reckon: --port is 65536; expected 0 to 65535\n");
  const Result host = run({"serve", "--host", "no such host", "--folder", page()});
  EXPECT_EQ(host.code, 1);
  EXPECT_TRUE(has(host.err, "no such host: is no host")) << host.err;
  const Result foreign = run({"serve", "--host", "203.0.113.1", "--folder", page()});
  EXPECT_EQ(foreign.code, 1);
  EXPECT_TRUE(has(foreign.err, "203.0.113.1:8017: cannot be listened at")) << foreign.err;
  const Result unbuilt = run({"serve"});
  EXPECT_EQ(unbuilt.code, 2);
  EXPECT_TRUE(has(unbuilt.err, "the page is not built here")) << unbuilt.err;
}

}  // namespace
}  // namespace reckon
