# The page's WebAssembly modules, in place of the program.
set(CMAKE_CXX_COMPILE_OPTIONS_PIC "")  # what is linked statically needs no tables of addresses

# em++ calls for acorn when it links; Debian's lies where only Debian's own node looks.
set_property(DIRECTORY PROPERTY RULE_LAUNCH_LINK "${CMAKE_COMMAND} -E env NODE_PATH=/usr/share/nodejs:$ENV{NODE_PATH}")

# Kernels are to be fast; everything else small. (At -Os and -Oz em++ forbids inlining, even of accessors, and goes on to
# where -O3 follows; that makes modules both larger and slower, so the preset allows it again. -Oz then inlines only what
# gets smaller by it: a quarter less than -Os, and hardly slower.)
# What only hands work to kernels is no kernel. Those that training a plain network does not need are vectors as well,
# but not unrolled further; where activations are computed, -O3 would write each loop once for every question in it.
file(GLOB kernel_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/backend/cpu/*.cpp)
list(FILTER kernel_sources EXCLUDE REGEX "/(backend|dense|executable|launch|limits|scratch).cpp$")
set(trains "/(adamw|attend|attend_backward|cross_entropy|elementwise|embed|gemm|norm|rope|training_vectors|vectors)[.]cpp$")
foreach(source ${kernel_sources})
  set(level -Os)
  if(source MATCHES "${trains}")
    set(level -O3)
  elseif(source MATCHES "/(activate|finish)[.]cpp$")
    set(level -O2)
  endif()
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${level};-finline-functions;-msimd128" SKIP_PRECOMPILE_HEADERS ON)
endforeach()

# The large headers are compiled once for all files that have the same flags. (With the time of that in it, ccache would
# take the result for another one each time.)
target_compile_options(reckon_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
foreach(part core run)
  target_precompile_headers(reckon_${part}_speaking PRIVATE <algorithm> <functional> <map> <optional> <string> <vector> <fmt/format.h> <nlohmann/json.hpp>)
  target_precompile_headers(reckon_${part} REUSE_FROM reckon_${part}_speaking)
endforeach()

# add_module(NAME FOLDER FUNCTIONS [SOURCE…]): NAME.js, an ES module for a worker, and NAME.wasm, from these sources and
# wasm.cpp in the folder, whose functions wasm.js beside it makes one of JavaScript.
function(add_module name folder functions)
  add_executable(${name} ${folder}/wasm.cpp ${ARGN})
  target_link_libraries(${name} PRIVATE reckon_library reckon_run_flags fmt::fmt)
  set_target_properties(${name} PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/wasm.js)
  target_link_options(${name} PRIVATE --no-entry --post-js ${CMAKE_SOURCE_DIR}/${folder}/wasm.js
    -sEXPORTED_FUNCTIONS=${functions},_malloc,_free -sEXPORTED_RUNTIME_METHODS=FS -sFORCE_FILESYSTEM
    -sMODULARIZE -sEXPORT_ES6 -sENVIRONMENT=web,worker -sWASM_BIGINT -sALLOW_MEMORY_GROWTH)
endfunction()

# Once more for size: the linker's own pass stops while there is still something to gain.
find_program(wasm_opt wasm-opt NO_CMAKE_FIND_ROOT_PATH REQUIRED)
function(shrink name)
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND ${wasm_opt} --enable-exception-handling --enable-mutable-globals --enable-sign-ext --enable-simd
            $<$<BOOL:${RECKON_THREADS}>:--enable-threads> ${ARGN} --low-memory-unused --strip-debug --strip-producers
            ${name}.wasm -o ${name}.wasm
    COMMAND_EXPAND_LISTS)
endfunction()

# Running: tokenizers, training, generating. `run` leaves what only rarer families have, and the reference, which attention
# maps are read off, to `run-more`, which the page fetches where that is needed. Each may hold what the page made, so that
# their handles are told apart.
set(one_rank src/passes/one_rank.cpp)
function(add_run name first_handle)
  add_module(${name} src/page _ask,_array_data,_array_size ${one_rank} ${ARGN})
  target_compile_definitions(${name} PRIVATE RECKON_FIRST_HANDLE=${first_handle})
  target_link_options(${name} PRIVATE -sMAXIMUM_MEMORY=4GB)
  shrink(${name} -Os)
endfunction()
set(less src/network/less.cpp)
# Of the presets, run has those that are trained in a browser.
set(run_presets ${CMAKE_BINARY_DIR}/generated/run_presets.cpp)
add_custom_command(
  OUTPUT ${run_presets}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_SOURCE_DIR}/src/model/presets -DENDING=json -DOUTPUT=${run_presets}
          -DHEADER=model/presets.h -DTYPE=Preset -DFUNCTION=presets "-DONLY=^(mini-gpt.*|gpt2)$" -P ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
  DEPENDS src/model/presets/mini-gpt.json src/model/presets/mini-gpt-small.json src/model/presets/gpt2.json cmake/embed_files.cmake
  VERBATIM)
set(run_less ${less} ${run_presets} src/network/run_less.cpp src/backend/cpu/no_rarer.cpp src/backend/no_reference.cpp)
set(first_of_more 4294967296)  # web/src/engine/run-modules.ts knows it too
if(RECKON_THREADS)
  # clang 14 takes what passes an exception to its handler for one place of all threads, Emscripten 3.1.6's library for
  # one of each: no exception would ever be caught. So that part of the library is compiled again, to agree. (Two
  # threads that throw at the same moment may take each other's handler; a pool ends with the first error anyway.)
  enable_language(C)
  set(unwind ${EMSCRIPTEN_ROOT_PATH}/system/lib/libunwind)
  add_run(run-threads 1 ${unwind}/src/Unwind-wasm.c ${run_less})
  add_run(run-more-threads ${first_of_more} ${unwind}/src/Unwind-wasm.c)
  foreach(name run-threads run-more-threads)
    target_link_options(${name} PRIVATE -sPTHREAD_POOL_SIZE=Module.threads-1
      --pre-js ${CMAKE_SOURCE_DIR}/src/page/wasm_threads.js --js-library ${CMAKE_SOURCE_DIR}/src/page/wasm_thread_count.js)
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS
      ${CMAKE_SOURCE_DIR}/src/page/wasm_threads.js ${CMAKE_SOURCE_DIR}/src/page/wasm_thread_count.js)
  endforeach()
  set_source_files_properties(${unwind}/src/Unwind-wasm.c PROPERTIES
    COMPILE_OPTIONS "-Os;-pthread;-fwasm-exceptions;-w;-I${unwind}/include"
    COMPILE_DEFINITIONS "_Thread_local=;__USING_WASM_EXCEPTIONS__;_LIBUNWIND_DISABLE_VISIBILITY_ANNOTATIONS;NDEBUG")
  return()
endif()
add_run(run 1 ${run_less})
add_run(run-more ${first_of_more})

# What both modules with commands have of the command line.
set(files program options output sizes predict_options time_questions run_text run_options interrupt model_file count)
list(TRANSFORM files REPLACE "(.+)" "src/cli/\\1.cpp")
add_library(page_cli OBJECT ${files})
target_include_directories(page_cli SYSTEM PUBLIC src/cli/small)  # in place of CLI11
target_link_libraries(page_cli PRIVATE reckon_core reckon_run_flags fmt::fmt)

# add_commands(NAME COMMAND…): a module that is the command line with these commands.
function(add_commands name)
  set(files ${ARGN})
  list(REMOVE_ITEM files count)
  list(TRANSFORM files REPLACE "(.+)" "src/cli/\\1.cpp")
  add_module(${name} src/cli _report ${files})
  target_link_libraries(${name} PRIVATE page_cli)
  list(TRANSFORM ARGN REPLACE "(.+)" "COMMAND(\\1)" OUTPUT_VARIABLE commands)
  list(JOIN commands " " commands)
  target_compile_definitions(${name} PRIVATE "RECKON_COMMANDS=${commands}")
  target_link_options(${name} PRIVATE -Oz -sMALLOC=emmalloc)
endfunction()
add_commands(count count)  # what the first view cannot wait for, and as JSON alone
target_sources(count PRIVATE src/cli/small/render.cpp src/cli/small/count_document.cpp src/cli/small/less.cpp ${less} ${one_rank})
shrink(count -Oz --converge)
add_commands(more count models explain hardware compare sweep memory time)
