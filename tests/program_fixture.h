// A test that runs the built program in a folder of its own and reads what it says.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "folder_fixture.h"
#include "paths.h"

extern char** environ;

namespace reckon {
using Json = nlohmann::json;

struct Result {
  int code = -1;  // or −signal, where one ended it
  std::string out, err;
};

class ProgramTest : public FolderTest {
 protected:
  // Reports in symbols, as wide as in a pipe, wherever the tests run.
  ProgramTest() {
    ::setenv("LC_ALL", "C.UTF-8", 1);
    ::unsetenv("COLUMNS");
  }

  // With the text of a file on standard input, if one is named.
  Result run(std::vector<std::string> arguments, const fs::path& input = {}) const {
    const pid_t child = start(std::move(arguments), input);
    return child > 0 ? end(child) : Result{};
  }

  // With standard output on a terminal of this kind (TERM); `out` is what that showed, where lines end in "\\r\\n".
  Result run_on_terminal(std::vector<std::string> arguments, const std::string& kind) const {
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return {};
    const std::string name = ::ptsname(terminal);
    const int held = ::open(name.c_str(), O_RDWR | O_NOCTTY);  // so that it can be read before the program opens it
    const char* const usual = std::getenv("TERM");
    const std::string before = usual != nullptr ? usual : "";
    ::setenv("TERM", kind.c_str(), 1);
    const pid_t child = start(std::move(arguments), {}, name);
    usual != nullptr ? ::setenv("TERM", before.c_str(), 1) : ::unsetenv("TERM");
    std::string out;
    std::thread reader([&] {
      char buffer[4096];
      for (ssize_t count; (count = ::read(terminal, buffer, sizeof buffer)) > 0;)
        out.append(buffer, static_cast<std::size_t>(count));
    });
    Result result = child > 0 ? end(child) : Result{};
    ::close(held);  // the last: the reader is told that there is no more
    reader.join();
    ::close(terminal);
    result.out = out;
    return result;
  }

  pid_t start(std::vector<std::string> arguments, const fs::path& input = {}, const fs::path& output = {}) const {
    arguments.insert(arguments.begin(), reckon_program());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const fs::path out = output.empty() ? folder_ / "stdout" : output, err = folder_ / "stderr";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (!input.empty()) posix_spawn_file_actions_addopen(&actions, 0, input.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    // A shell starts what it puts into the background with SIGINT ignored; the program is to be as a person starts it.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    pid_t child = 0;
    const int failed =
        ::posix_spawn(&child, arguments.front().c_str(), &actions, &attributes, pointers.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failed == 0 ? child : -1;
  }

  Result end(pid_t child) const {
    int status = 0;
    ::waitpid(child, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return {code, text_of(folder_ / "stdout"), text_of(folder_ / "stderr")};
  }

  // Waits until the program catches SIGINT (signal 2 is bit 1 of SigCgt): it is at work, and can be interrupted.
  static void wait_until_it_catches_signals(pid_t child) {
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
      const std::string text = text_of("/proc/" + std::to_string(child) + "/status");
      const std::size_t mask = text.find("SigCgt:");
      ASSERT_NE(mask, std::string::npos) << "it ended before it was interrupted";
      if ((std::stoull(text.substr(mask + 7, 20), nullptr, 16) & 2) != 0) return;
    }
  }

  Json json(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--format", "json"});
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    return Json::parse(result.out, nullptr, false);
  }

  // One sentence on stderr, behind notes on the model if it has any; nothing on stdout.
  void expect_complaint(const std::vector<std::string>& arguments, int code, const std::string& part) const {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(result.out, "");
    std::string sentence = result.err;
    while (sentence.starts_with("reckon: note: ")) sentence.erase(0, sentence.find('\n') + 1);
    EXPECT_TRUE(sentence.starts_with("reckon: ")) << result.err;
    EXPECT_EQ(std::count(sentence.begin(), sentence.end(), '\n'), 1) << result.err;
    EXPECT_NE(sentence.find(part), std::string::npos) << result.err;
  }
};

}  // namespace reckon
