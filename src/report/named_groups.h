// Groups of ranks as reports name them.
#pragma once

#include <cstdint>

#include "report/document.h"
#include "time/step.h"

namespace reckon {

struct NamedGroup {
  Group group;
  const char* name;
};
inline constexpr NamedGroup named_groups[] = {{Group::tensor, "tensor"},
                                              {Group::context, "context"},
                                              {Group::expert, "expert"},
                                              {Group::pipeline, "pipeline"},
                                              {Group::data, "data"}};

// Bytes by the names of groups.
inline OrderedJson by_group_json(const ByGroup& bytes) {
  OrderedJson json;
  for (const NamedGroup& named : named_groups) json[named.name] = static_cast<std::int64_t>(of(bytes, named.group));
  return json;
}

}  // namespace reckon
