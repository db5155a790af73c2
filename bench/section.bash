# Sourced by the benchmark scripts: the machine's name, a section of a document, and OpenBLAS at its best.

# The processor: its name, and its number, for some are called only by their maker's name.
processor() {
  awk -F ': ' '/^model name/ { name = $2 } /^model[ \t]*:/ { model = $2 } /^$/ { exit }
    END { printf "%s", name; if (model != "") printf ", model %s", model }' /proc/cpuinfo
}

machine() { printf '%s, %d threads, %s, %s' "$(processor)" "$(nproc)" "$(uname -sr)" "$(g++ --version | head -n 1)"; }

# section NAME [FILE]: puts stdin, and prints it, where the file (docs/benchmarks.md) has the section of that name
# measured on this processor; without one, behind those of other processors, or at the end.
section() {
  local name=$1 file=${2:-docs/benchmarks.md} text
  text=$(cat)
  [[ -f $file ]] || printf '# Benchmarks\n' > "$file"
  SECTION=$text awk -v name="$name" -v on="$(processor)" '
    function put() { if (!done) printf "%s\n%s\n<!-- end %s -->\n\n", begin, ENVIRON["SECTION"], name; done = 1 }
    BEGIN { begin = sprintf("<!-- begin %s on %s -->", name, on) }
    { lines[NR] = $0; if (index($0, "<!-- begin " name " on ") == 1) last = $0 }
    END {
      for (i = 1; i <= NR; ++i) {
        if (lines[i] ~ /^<!-- begin /) current = lines[i]
        if (current == begin) put(); else print lines[i]
        if (lines[i] ~ /^<!-- end /) {
          if (current == last) put_next = 1
          current = ""
        }
        if (put_next) { if (!done) { print ""; put() } put_next = 0 }
      }
      if (!done) { print ""; put() }
    }' "$file" | cat -s | sed -e '${/^$/d}' > "$file.new"
  mv "$file.new" "$file"
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
