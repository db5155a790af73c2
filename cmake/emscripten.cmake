# Toolchain file of the page's modules: Emscripten's own, wherever it is installed.
execute_process(COMMAND em-config EMSCRIPTEN_ROOT OUTPUT_VARIABLE emscripten_root OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
include(${emscripten_root}/cmake/Modules/Platform/Emscripten.cmake)
set(CMAKE_CXX_USE_RESPONSE_FILE_FOR_INCLUDES 0)  # ccache and readers see the whole command
