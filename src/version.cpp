// The version, as CMake states it.
#include <reckon/reckon.h>

namespace reckon {

const char* version() { return RECKON_VERSION; }

}  // namespace reckon
