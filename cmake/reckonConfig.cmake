# What find_package(reckon) reads. What the static library calls, whoever links it needs too.
include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(hwy)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/reckonTargets.cmake)
