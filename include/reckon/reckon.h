// The front door: read a model, count it.
#pragma once

#include <reckon/count.h>
#include <reckon/error.h>
#include <reckon/ledger.h>
#include <reckon/model.h>
#include <reckon/workload.h>

#include <string>

namespace reckon {

// A preset's name, a folder with config.json, a config.json, or a .safetensors file beside one.
Model load_model(const std::string& name_or_path);

// The number of unique parameters: a tied tensor counts once.
Count count_parameters(const Model& model);

// Every parameter, FLOP and byte of the workload, read off the program that computes it.
Ledger count(const Model& model, const Workload& workload = {});

const char* version();

}  // namespace reckon
