# What find_package(reckon) reads. The static library calls fmt, so whoever links it needs that too.
include(CMakeFindDependencyMacro)
find_dependency(fmt)
include(${CMAKE_CURRENT_LIST_DIR}/reckonTargets.cmake)
