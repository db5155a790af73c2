// What sets one network apart from another, in words.
#pragma once

#include <reckon/model.h>

#include <string>
#include <string_view>
#include <vector>

namespace reckon {

// A clause for each of the first things that `model` has otherwise than `other`, whose name in them is `named`: "its
// activation is gelu, arcee's relu2". Empty where what differs is none of what is told apart.
std::vector<std::string> differences(const Model& model, const Model& other, std::string_view named,
                                     std::size_t most = 3);

}  // namespace reckon
