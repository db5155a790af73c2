# find_package(OpenMPI): the library as OpenMPI::OpenMPI, the folder of its header as MPI_INCLUDE. For the build, and for
# programs that link the installed library. CMake's own FindMPI would also link MPI's C++ bindings, which nothing calls.
find_path(MPI_INCLUDE mpi.h PATH_SUFFIXES mpi openmpi openmpi-x86_64)
find_library(MPI_LIBRARY mpi PATH_SUFFIXES openmpi openmpi/lib)
mark_as_advanced(MPI_INCLUDE MPI_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenMPI REQUIRED_VARS MPI_LIBRARY MPI_INCLUDE)
if(OpenMPI_FOUND AND NOT TARGET OpenMPI::OpenMPI)
  add_library(OpenMPI::OpenMPI UNKNOWN IMPORTED)
  set_target_properties(OpenMPI::OpenMPI PROPERTIES IMPORTED_LOCATION "${MPI_LIBRARY}")
endif()
