// reckon hardware: the devices whose profiles are known, or one of a file.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "time/profile.h"
#include "report/hardware.h"

namespace reckon::cli {
namespace {

struct HardwareOptions {
  std::string filter;
  bool sources = false;
  Output output;
};

void run(const HardwareOptions& asked) {
  std::vector<Profile> found = profiles_with(asked.filter);
  if (found.empty()) found.push_back(read_hardware(asked.filter).profile);
  write_report(hardware_document(found, asked.sources), asked.output);
}

}  // namespace

void add_hardware(CLI::App& program) {
  const auto asked = std::make_shared<HardwareOptions>();
  CLI::App& command = add_command(program, "hardware", "the devices that are known by name",
                                  "  reckon hardware\n"
                                  "  reckon hardware h100 --sources\n"
                                  "  reckon hardware nvidia --format csv\n"
                                  "  reckon hardware ./mine.json",
                                  false);
  command
      .add_option(
          "FILTER", asked->filter,
          "only names and vendors that have this in them; or the path of a profile (with a slash or .json), or `this`")
      ->type_name("");
  command.add_flag("--sources", asked->sources, "where each figure comes from, and what is unsure about it");
  add_output(command, asked->output);
  command.callback([asked] { run(*asked); });
}

}  // namespace reckon::cli
