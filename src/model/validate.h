// Whether a Model makes sense, however it was made.
#pragma once

#include <reckon/model.h>

namespace reckon {

// Throws a reckon::Error that names the model, the layer and the field, what was found and what was expected.
void validate(const Model& model);

}  // namespace reckon
