// Reports of what was measured of this machine, and of predictions beside runs.
#pragma once

#include <reckon/model.h>

#include <string>

#include "measure/verify_time.h"
#include "report/document.h"

namespace reckon {

// `path`: where the profile was written.
Document calibration_document(const Profile& profile, const std::string& path);

Document verify_time_document(const Model& model, const TimeVerification& verification);

}  // namespace reckon
