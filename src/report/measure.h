// Reports of what was measured of this machine, and of predictions beside runs.
#pragma once

#include <reckon/model.h>

#include <string>

#include "measure/verify_time.h"
#include "report/document.h"

namespace reckon {

// `path`: where the profile was written.
Document calibration_document(const Profile& profile, const std::string& path);

// `tolerance`: how far off, as a share of what was measured, a prediction may be to hold.
Document verify_time_document(const Model& model, const TimeVerification& verification, double tolerance);
std::string tolerance_text(double tolerance);  // "15%"

}  // namespace reckon
