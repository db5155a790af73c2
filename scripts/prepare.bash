# Sourced by ./run, ./test and the benchmarks: installs what is missing, configures and builds. Speaks on stderr only.

say() { printf 'reckon: %s\n' "$*" >&2; }

# need PACKAGE…: installs the Debian packages of these that are not there.
need() {
  command -v dpkg-query > /dev/null || return 0  # no Debian: CMake says what it does not find
  local package missing=()
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  local as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo > /dev/null || ! { [[ -t 0 ]] || sudo -n true 2> /dev/null; }; then
      say "these packages are missing and need root to install: ${missing[*]} (apt-get install ${missing[*]})"
      exit 1
    fi
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq >&2 || say "apt-get update failed; trying with the package lists as they are"
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      "${missing[@]}" >&2; then
    say "apt-get could not install ${missing[*]}"
    exit 1
  fi
}

# need_npm: installs node and npm. By command, not by package: node may be there from elsewhere, and then Debian's npm
# cannot be installed beside it.
need_npm() {
  local packages=()
  command -v node > /dev/null || packages+=(nodejs)
  command -v npm > /dev/null || packages+=(npm)
  if ((${#packages[@]})); then need "${packages[@]}"; fi
}

# need_packages: installs the npm packages of web/package-lock.json, which build and test the page.
need_packages() {
  if [[ web/node_modules/.package-lock.json -nt web/package-lock.json ]]; then return 0; fi
  need_npm
  say "fetching the page's npm packages"
  # Any host may have them: the lock file names their contents, not their address.
  (cd web && npm ci --no-audit --no-fund --loglevel=error) >&2
}

# build PRESET [CMAKE-OPTION…]: configures and builds build/PRESET.
build() {
  local preset=$1 version
  shift
  need g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libcli11-dev libhwy-dev libopenblas-dev \
    libopenmpi-dev openmpi-bin
  version=$(cmake --version | sed -n 's/^cmake version \([0-9]*\.[0-9]*\).*/\1/p')
  if [[ $(printf '%s\n' 3.25 "$version" | sort -V | head -n 1) != 3.25 ]]; then
    say "cmake is $version; 3.25 or newer is needed (Debian 12, Ubuntu 23.04 and newer have it)"
    exit 1
  fi
  # A cache from another place (a moved or copied folder) is of no use.
  local cache=build/$preset/CMakeCache.txt
  if [[ -f $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then rm -r "build/$preset"; fi
  command -v ccache > /dev/null && set -- -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@"
  cmake --preset "$preset" "$@" >&2 && cmake --build --preset "$preset" >&2
}
