// Counts how often the views of a layout touch each element of each stored tensor.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "model/stored.h"

namespace reckon::testing_models {

inline std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

// The places in its tensor of a view's elements, in the parameter's order.
inline std::vector<std::int64_t> places(const StoredView& view) {
  std::vector<std::int64_t> all{view.offset};
  for (const StoredAxis& axis : view.axes) {
    std::vector<std::int64_t> next;
    for (const std::int64_t place : all)
      for (std::int64_t i = 0; i < axis.extent; ++i) next.push_back(place + i * axis.stride);
    all = std::move(next);
  }
  return all;
}

// Where a parameter's element at a row-major index lies: "tensor[place]".
inline std::string place_of(const StoredLayout& layout, const std::string& parameter, std::int64_t index) {
  for (const StoredParameter& stored : layout.parameters) {
    if (full_name(stored.key) != parameter) continue;
    for (const StoredView& view : stored.views) {
      const auto all = places(view);
      if (index < static_cast<std::int64_t>(all.size()))
        return view.tensor + "[" + std::to_string(all[static_cast<std::size_t>(index)]) + "]";
      index -= static_cast<std::int64_t>(all.size());
    }
  }
  return "nowhere";
}

inline void expect_each_element_covered_once(const StoredLayout& layout) {
  std::map<std::string, std::vector<int>> touched;
  for (const StoredTensor& tensor : layout.tensors) {
    EXPECT_FALSE(touched.contains(tensor.name)) << tensor.name << " is listed twice";
    touched[tensor.name].assign(static_cast<std::size_t>(product(tensor.shape)), 0);
  }
  std::map<TensorKey, int> found;
  for (const auto* list : {&layout.parameters, &layout.buffers})
    for (const StoredParameter& parameter : *list) {
      EXPECT_EQ(++found[parameter.key], 1) << full_name(parameter.key);
      std::int64_t elements = 0;
      for (const StoredView& view : parameter.views) {
        ASSERT_TRUE(touched.contains(view.tensor)) << view.tensor;
        for (const std::int64_t place : places(view)) {
          ASSERT_GE(place, 0);
          ++touched[view.tensor].at(static_cast<std::size_t>(place));
          ++elements;
        }
      }
      EXPECT_EQ(elements, product(parameter.shape)) << full_name(parameter.key);
    }
  for (const auto& [name, counts] : touched)
    for (const int count : counts) ASSERT_EQ(count, 1) << name;
}

}  // namespace reckon::testing_models
