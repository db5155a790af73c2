// Where the tests find the project's own files and the built program. Only paths.cpp knows them, so that every other
// test compiles to the same bytes wherever the project lies.
#pragma once

#include <string>

std::string project_folder();
std::string reckon_program();
