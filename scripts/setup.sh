# Shared by scripts/mmtune and scripts/test: finds the CUDA toolkit, installs what else is missing, builds. Everything
# it says goes to stderr. The caller sets root, the directory of this source tree, and me, its own name.

build=$root/build

say() { echo "$me: $*" >&2; }

fail() {
  say "$1"
  exit "$2"
}

# first_with FILE DIRECTORIES: the first of the directories, one a line, that holds FILE, which may be a pattern.
first_with() {
  echo "$2" | while IFS= read -r directory; do
    for file in "$directory"/$1; do
      if [ -e "$file" ]; then
        echo "$directory"
        exit
      fi
    done
  done | grep .
}

# The places where the loader would find libnvrtc.
loader_directories() {
  echo "${LD_LIBRARY_PATH:-}" | tr : '\n'
  /sbin/ldconfig -p 2> /dev/null | sed -n 's|.*libnvrtc\.so.* => \(.*\)/.*|\1|p'
}

# Sets cuda_include. The program needs cuda.h and nvrtc.h to be built, and libnvrtc to compile kernels; nothing else of
# the toolkit. Where MMTUNE_NVRTC names the library, the program says what is wrong with it.
require_cuda() {
  toolkits=$(printf '%s\n' "${MMTUNE_CUDA_PATH:-}" "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda |
    awk 'NF && !seen[$0]++')
  headers=$(echo "$toolkits" | sed 's|$|/include|'; echo /usr/include)
  libraries=$(echo "$toolkits" | sed 'h; s|$|/lib64|p; g; s|$|/lib|p; g')
  missing=
  cuda_include=$(first_with nvrtc.h "$headers") && [ -e "$cuda_include/cuda.h" ] ||
    missing="the headers cuda.h and nvrtc.h (looked in $(echo $headers))"
  [ -n "${MMTUNE_NVRTC:-}" ] || first_with 'libnvrtc.so*' "$libraries" > /dev/null ||
    first_with 'libnvrtc.so*' "$(loader_directories)" > /dev/null ||
    missing="${missing:+$missing and }libnvrtc (looked in $(echo $libraries) and where the loader searches)"
  [ -z "$missing" ] || fail "CUDA: cannot find $missing; install the CUDA toolkit 12 or 13 \
(https://developer.nvidia.com/cuda-downloads, package cuda-toolkit), or set CUDA_HOME to its directory" 3
}

# require PACKAGE FILE…: remembers the package if neither a program nor a header of this name is there.
require() {
  package=$1
  shift
  for file in "$@"; do
    if command -v "$file" > /dev/null || [ -e "/usr/include/$file" ] || [ -e "/usr/local/include/$file" ]; then
      return
    fi
  done
  packages="$packages $package"
}

install_packages() {
  [ -n "$packages" ] || return 0
  command -v apt-get > /dev/null || fail "missing:$packages (names of Debian's packages); install them and try again" 1
  sudo=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo > /dev/null || fail "missing:$packages; install them as root and try again" 1
    sudo=sudo
  fi
  say "installing$packages"
  apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300"
  { $apt update && $apt install --no-install-recommends $packages; } >&2 ||
    fail "apt-get could not install$packages; see its messages above" 1
}

require_tools() {
  packages=
  require g++ "${CXX:-g++}"
  require cmake cmake
  require ninja-build ninja
  require libfmt-dev fmt/format.h
  require libsqlite3-dev sqlite3.h
  require liblzma-dev lzma.h
  require zlib1g-dev zlib.h
}

# The page of `mmtune report` is made with npm; cmake installs what package-lock.json pins.
require_report() {
  require nodejs node
  require npm npm
}

# has OPTION: whether an earlier run configured it as "yes".
has() {
  grep -q "^$1:BOOL=yes" "$build/CMakeCache.txt" 2> /dev/null
}

# configure TESTS REPORT: yes or no each. Nothing to do where an earlier run configured at least that.
configure() {
  if [ -e "$build/build.ninja" ] && { [ "$1" = no ] || has MMTUNE_BUILD_TESTS; } &&
      { [ "$2" = no ] || has MMTUNE_REPORT_PAGE; }; then
    return
  fi
  tests=$1
  ! has MMTUNE_BUILD_TESTS || tests=yes
  say "configuring in $build"
  mkdir -p "$build"
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMMTUNE_BUILD_TESTS="$tests" \
    -DMMTUNE_UNITY=yes \
    -DMMTUNE_CUDA_INCLUDE_DIR="$cuda_include" > "$build/configure.log" 2>&1 ||
    { cat "$build/configure.log" >&2; fail "cmake failed, see above" 1; }
}

# build_target TARGET: builds it and says how far that is, on a terminal in one line, else ten times in all. What
# compilers say is shown, and what of ninja is at fault.
build_target() {
  terminal=0
  [ ! -t 2 ] || terminal=1
  { status=0; NINJA_STATUS='%f/%t ' ninja -C "$build" "$1" 2>&1 || status=$?; echo "ninja ended with $status"; } |
    awk -v me="$me" -v terminal="$terminal" '
      BEGIN { last = -1 }
      function clear() { if (terminal && shown) printf "\r\033[K"; shown = 0 }
      /^ninja ended with/ { clear(); exit $4 }
      /^ninja: (Entering directory|no work to do|build stopped)/ || /Looking up the commit/ { next }
      /^[0-9]+\/[0-9]+ / {
        split($1, count, "/")
        tenth = int(10 * count[1] / count[2])
        if (terminal) { printf "\r\033[K%s: building %s", me, $1; shown = 1 }
        else if (tenth != last) print me ": building " $1
        last = tenth
        fflush()
        next
      }
      { clear(); print }' >&2 || fail "cannot be built, see above" 1
}
