// Texts that several tests read.
#pragma once

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "paths.h"

namespace test {

// From the folder of the project; empty if there is no such file.
inline std::string text_file(const std::string& name) {
  std::ifstream file(project_folder() + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// About 100 kB of prose, tables and formulas: the documents of the project itself.
inline std::string real_text() {
  std::string text;
  for (const char* name : {"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/counting.md",
                           "docs/explain-mini-gpt.md", "docs/json.md"}) {
    text += text_file(name);
  }
  return text;
}

// The text of 1.1 MB that the golden tokenizer was trained on; it is not part of the project, and empty where it is not
// at hand beside it.
inline std::string shakespeare() { return text_file("../shared/data/shakespeare.txt"); }

// Words, marks, scripts, white space of every kind and broken UTF-8, thrown together.
inline std::string hard_text(std::mt19937& random, std::size_t parts) {
  static const std::vector<std::string> pool = {" ",
                                                "  ",
                                                "\n",
                                                "\n\n",
                                                "\r\n",
                                                "\t",
                                                "\u00A0",
                                                "\u2003",
                                                "\u3000",
                                                "\u0085",
                                                "a",
                                                "the",
                                                "It's",
                                                "'LL",
                                                "'s",
                                                "'",
                                                "\u00E9t\u00E9",
                                                "e\u0301",
                                                "東京",
                                                "です",
                                                "\u0623\u0644",
                                                "12",
                                                "3456789",
                                                "½",
                                                "²",
                                                ".",
                                                "...",
                                                "/",
                                                "//",
                                                "\n/",
                                                "<|x|>",
                                                "<a b>",
                                                "<",
                                                "🙂",
                                                "👩‍👩‍👧",
                                                "\xFF",
                                                "\xC3",
                                                "\xE2\x80",
                                                "\x80",
                                                "CamelCase",
                                                "ǅ",
                                                "ſ",
                                                "_",
                                                "-",
                                                "\x01",
                                                std::string(1, '\0')};
  std::string text;
  for (std::size_t i = 0; i < parts; ++i) text += pool[random() % pool.size()];
  return text;
}

}  // namespace test
