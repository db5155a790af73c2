// The list of devices.
#pragma once

#include <vector>

#include "time/profile.h"
#include "report/document.h"

namespace reckon {

// `sources`: with the notes and sources of each.
Document hardware_document(const std::vector<Profile>& profiles, bool sources);

}  // namespace reckon
