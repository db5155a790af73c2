// Text as tests look at it: what an error says, the lines of a report.
#pragma once

#include <reckon/error.h>

#include <sstream>
#include <string>
#include <vector>

namespace reckon {

// What the error that a call throws says.
template <class Kind = Error, class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Kind& error) {
    return error.what();
  }
  return "no error";
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace reckon
