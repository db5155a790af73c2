// Writes the files that gguf_fuzz begins with into a folder.
#include "gguf_seeds.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

int main(int count, char** arguments) {
  if (count != 2) return std::fputs("usage: gguf_seeds FOLDER\n", stderr), 2;
  const std::filesystem::path folder = arguments[1];
  for (const auto& [name, bytes] : reckon::gguf_seeds())
    if (!(std::ofstream(folder / (name + ".gguf"), std::ios::binary) << bytes)) return 1;
  return 0;
}
