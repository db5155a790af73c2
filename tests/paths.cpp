// The paths that CMake knows.
#include "paths.h"

std::string project_folder() { return RECKON_SOURCE_DIR; }
std::string reckon_program() { return RECKON_PROGRAM; }
