# The packages that the library uses, for a compiler that cannot use those of this machine: their headers alone, through
# a folder of links. The system's whole include folder would bring the headers of another C library with it.
set(headers ${CMAKE_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${headers})
foreach(header fmt/format.h nlohmann/json.hpp hwy/highway.h)
  find_path(place_of_${header} ${header} PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  cmake_path(GET header PARENT_PATH folder)
  file(CREATE_LINK ${place_of_${header}}/${folder} ${headers}/${folder} SYMBOLIC)
endforeach()
foreach(package fmt::fmt nlohmann_json::nlohmann_json hwy::hwy)
  add_library(${package} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${package} SYSTEM INTERFACE ${headers})
endforeach()
# fmt without what nobody here formats: locales, and numbers of 128 bits with a point. Its own functions are compiled here.
target_compile_definitions(fmt::fmt INTERFACE "FMT_STATIC_THOUSANDS_SEPARATOR=','" FMT_USE_LONG_DOUBLE=0)
add_library(fmt_functions STATIC cmake/fmt.cpp)
target_link_libraries(fmt_functions PRIVATE fmt::fmt)
target_link_libraries(fmt::fmt INTERFACE $<LINK_ONLY:fmt_functions>)
