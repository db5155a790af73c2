// reckon serve: the page, for a browser on this machine.
#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "serve/server.h"
#include "serve/site.h"

namespace reckon::cli {
namespace {

namespace fs = std::filesystem;

struct ServeOptions {
  std::string folder;
  std::string host = "127.0.0.1";
  std::int64_t port = 8017;
};

// --folder, $RECKON_PAGE, or share/reckon/page beside the bin/ that the program is installed in.
fs::path page_folder(const ServeOptions& asked) {
  if (!asked.folder.empty()) return asked.folder;
  if (const char* named = std::getenv("RECKON_PAGE"); named != nullptr && *named != '\0') return named;
  std::error_code problem;
  const fs::path program = fs::read_symlink("/proc/self/exe", problem);
  fs::path installed = program.parent_path().parent_path() / "share" / "reckon" / "page";
  if (!problem && fs::exists(installed / "index.html", problem)) return installed;
  throw UsageError(
      "the page is not built here; `./run serve` in reckon's source folder builds it and serves it, and --folder names "
      "one that is built");
}

void run(const ServeOptions& asked) {
  const Site site(page_folder(asked));
  const InterruptHandler handler;
  const Server server(asked.host, static_cast<int>(asked.port));
  if (asked.port != 0 && server.port() != asked.port)
    note(fmt::format("port {} is taken; the next free one is {}", asked.port, server.port()));
  write_text(fmt::format("{}\n", server.address()));
  if (asked.host != "127.0.0.1" && asked.host != "localhost" && asked.host != "::1")
    note(
        "others who reach this machine can open the page; it takes nothing and sends nothing, but browsers allow it "
        "threads and storage only over https or at localhost");
  say("Open it in a browser. Ctrl-C ends it.\n");
  server.run(site, interrupt_flag());
}

}  // namespace

void add_serve(CLI::App& program) {
  const auto asked = std::make_shared<ServeOptions>();
  CLI::App& command = add_command(program, "serve", "the page: the same counts, training and sampling in the browser",
                                  "  reckon serve                     on this machine alone; its address is printed\n"
                                  "  reckon serve --port 9000\n"
                                  "  reckon serve --host 0.0.0.0      for others in the network too\n"
                                  "  reckon serve --folder web/dist   a page that was built elsewhere",
                                  false);
  command.add_option("--host", asked->host, "where to listen (127.0.0.1)")->type_name("HOST");
  expect_whole(
      *command.add_option("--port", asked->port, "the next free one where it is taken; 0: any (8017)")->type_name("N"),
      0, 65535);
  command.add_option("--folder", asked->folder, "the built page ($RECKON_PAGE, or what is installed with reckon)")
      ->type_name("FOLDER");
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
