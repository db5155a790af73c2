// The kernels, one per operation, each in the file of its operation's name.
#pragma once

#include "backend/cpu/launch.h"

namespace reckon {

void run_embed(const Launch&);
void run_add(const Launch&);
void run_scale(const Launch&);
void run_softcap(const Launch&);
void run_norm(const Launch&);
void run_rope(const Launch&);
void run_append(const Launch&);
void run_attend(const Launch&);
void run_last(const Launch&);
void run_join(const Launch&);
void run_head_matmul(const Launch&);
void run_route(const Launch&);
void run_dispatch(const Launch&);
void run_grouped_project(const Launch&);
void run_combine(const Launch&);

// An op's attributes and extra operands as the epilogue of its products.
Epilogue epilogue_of(const Op& op, std::span<const View> inputs);

}  // namespace reckon
