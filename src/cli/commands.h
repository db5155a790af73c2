// The commands, one file each. Each function adds its command to the program; the command runs when it was parsed.
#pragma once

namespace CLI {
class App;
}

namespace reckon::cli {

using AddCommand = void (*)(CLI::App& program);

void add_count(CLI::App& program);
void add_explain(CLI::App& program);
void add_models(CLI::App& program);
void add_hardware(CLI::App& program);
void add_calibrate(CLI::App& program);
void add_plan(CLI::App& program);
void add_compare(CLI::App& program);
void add_sweep(CLI::App& program);
void add_memory(CLI::App& program);
void add_time(CLI::App& program);
void add_tokenizer(CLI::App& program);
void add_generate(CLI::App& program);
void add_score(CLI::App& program);
void add_logits(CLI::App& program);
void add_quantize(CLI::App& program);
void add_train(CLI::App& program);
void add_report(CLI::App& program);
void add_serve(CLI::App& program);
void add_verify(CLI::App& program);
void add_tokenize(CLI::App& program);
void add_completion(CLI::App& program);
void add_manual(CLI::App& program);

}  // namespace reckon::cli
