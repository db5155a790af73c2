# What tests/neon and tests/wasm_kernels share: the kernels of quantised products and their tests, compiled alone for a
# machine that the rest is not compiled for. Sourced in the project's folder, with `folder` for objects.
need_kernel_headers() {
  local package
  mkdir -p "$folder/headers"
  for package in hwy fmt gtest; do ln -sfn "/usr/include/$package" "$folder/headers/$package"; done
}

kernel_flags=(-std=c++20 -ffunction-sections -fdata-sections -Wall -Wextra -Werror -Iinclude -Isrc -Itests
  -I/usr/src/googletest/googletest -isystem "$folder/headers" -DFMT_HEADER_ONLY
  "-DHWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128|HWY_RVV)")
kernel_sources=(tests/quantised_test.cpp
  src/backend/cpu/{bfloat16,cut,dense,few_rows,finish,gemm,instructions,interleave,no_blas,quantised,scratch}.cpp
  src/backend/cpu/quantised_*.cpp
  src/files/{block_codes,blocks,count,encoding,numbers,super_blocks}.cpp src/ops/activate.cpp
  /usr/src/googletest/googletest/src/gtest-all.cc /usr/src/googletest/googletest/src/gtest_main.cc)

# compile_kernels COMPILER [FLAG…]: the objects, as many at a time as there are processors. Kernels as they are built for
# use; what tests them, quickly.
compile_kernels() {
  local compiler=$1 source jobs=() failed=0
  shift
  need_kernel_headers
  compile() {
    local level=-O1
    if [[ $1 == src/* ]]; then level=-O2; fi
    "$compiler" "$level" "${kernel_flags[@]}" "${@:2}" -c "$1" -o "$folder/$(basename "$1").o"
  }
  for source in "${kernel_sources[@]}"; do
    compile "$source" "$@" &
    jobs+=($!)
    if ((${#jobs[@]} >= $(nproc))); then wait "${jobs[0]}" || failed=1; jobs=("${jobs[@]:1}"); fi
  done
  for source in "${jobs[@]}"; do wait "$source" || failed=1; done
  ((failed == 0))
}

# run_kernel_tests FILTER COMMAND…: none of these may be skipped for want of instructions.
run_kernel_tests() {
  local filter=$1
  shift
  "$@" --gtest_filter="$filter" --gtest_brief=1 | tee "$folder/log"
  if grep -q SKIPPED "$folder/log"; then
    printf '%s: tests were skipped\n' "$0"
    return 1
  fi
}
