# Sourced by the benchmark scripts: the machine's name, one section of docs/benchmarks.md, and OpenBLAS at its best.

machine() {
  local model
  model=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
  printf '%s, %d threads, %s, %s' "${model:-$(uname -m)}" "$(nproc)" "$(uname -sr)" "$(g++ --version | head -n 1)"
}

# section NAME: replaces the section of that name in docs/benchmarks.md by stdin, or adds it, and prints it.
section() {
  local name=$1 file=docs/benchmarks.md text rest
  text=$(cat)
  [[ -f $file ]] || printf '# Benchmarks\n\nEach section is written by the script that it names.\n' > "$file"
  rest=$(awk -v name="$name" '
    /^<!-- begin / { inside = ($3 == name) }
    !inside { print }
    /^<!-- end / { inside = 0 }' "$file")
  printf '%s\n\n<!-- begin %s -->\n%s\n<!-- end %s -->\n' "$rest" "$name" "$text" "$name" > "$file"
  printf '%s\n' "$text"
}

# OpenBLAS takes a processor that it does not know, one newer than itself, for the oldest (Prescott), and multiplies with
# a quarter of its vectors. As a limit, or below a peer, it is to be at its best: then it is told what to take it for.
best_blas() {
  [[ -z ${OPENBLAS_CORETYPE:-} && $(build/bench/bench_blas_core) == Prescott ]] || return 0
  if grep -qw avx512vl /proc/cpuinfo; then
    export OPENBLAS_CORETYPE=SkylakeX
  elif grep -qw avx2 /proc/cpuinfo; then
    export OPENBLAS_CORETYPE=Haswell
  fi
}
