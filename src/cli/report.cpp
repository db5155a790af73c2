// reckon report: a training run as a page.
#include <fmt/format.h>
#include <reckon/error.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "report/training_page.h"
#include "train/metrics.h"

namespace reckon::cli {

void add_report(CLI::App& program) {
  struct Asked {
    std::string run, output;
  };
  const auto asked = std::make_shared<Asked>();
  CLI::App& command = add_command(program, "report", "a page of HTML about a training run",
                                  "  reckon report runs/mini-gpt-1\n"
                                  "  reckon report runs/mini-gpt-1 --output run.html",
                                  false);
  command.add_option("RUN", asked->run, "the folder of the run")->required()->type_name("");
  command.add_option("--output", asked->output, "the page; -: standard output (report.html in the run's folder)")
      ->type_name("FILE");
  command.callback([asked] {
    const std::filesystem::path run = asked->run;
    std::error_code error;
    const bool there = std::filesystem::exists(run / "metrics.jsonl", error);
    if (!error && !there)
      throw Error(fmt::format("{}: {}", run.string(),
                              std::filesystem::exists(run, error)
                                  ? "this is not the folder of a training run: it has no metrics.jsonl"
                                  : "there is no such folder"));
    const std::string output = asked->output.empty() ? (run / "report.html").string() : asked->output;
    const std::vector<nlohmann::ordered_json> metrics = read_metrics(run / "metrics.jsonl");
    if (metrics.empty()) throw Error(fmt::format("{}: metrics.jsonl has no line of a run", run.string()));
    write_file(output, training_page(metrics));
    if (output != "-") write_text(output + "\n");
  });
}

}  // namespace reckon::cli
