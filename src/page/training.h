// A training run of the page, with its folder and the lines of metrics that nobody has seen yet.
#pragma once

#include <memory>
#include <vector>

#include "page/page.h"
#include "train/run.h"

namespace reckon::page {

struct Training {
  std::unique_ptr<RunFolder> folder;
  std::unique_ptr<Run> run;
  std::vector<Json> lines;
  bool finished = false;
};

}  // namespace reckon::page
