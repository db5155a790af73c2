// The twin of backend/reference/ in the modules of the page, which never asks for it.
#include <reckon/error.h>

#include "backend/backend.h"

namespace reckon {

std::unique_ptr<Backend> make_reference(bool, Inspection*) { throw Error("this build has no reference backend"); }

}  // namespace reckon
