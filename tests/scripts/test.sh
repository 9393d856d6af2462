#!/bin/sh
# test.sh FOLDER: tests scripts/mmtune with a cmake and a ninja that only pretend, in that folder: from a path with
# spaces, from another working directory, through a link, with a toolkit in a path with spaces, and where the build fails.
set -eu
scripts=$(CDPATH= cd -- "$(dirname -- "$0")/../../scripts" && pwd)
rm -rf "$1"
mkdir -p "$1"
work=$(CDPATH= cd -- "$1" && pwd)
tree="$work/a source tree"
toolkit="$work/a toolkit"
mkdir -p "$tree" "$toolkit/include" "$toolkit/lib64" "$work/bin" "$work/elsewhere"
cp -r "$scripts" "$tree"
touch "$toolkit/include/cuda.h" "$toolkit/include/nvrtc.h" "$toolkit/lib64/libnvrtc.so"
ln -s "$tree/scripts/mmtune" "$work/elsewhere/link"

# The build: its program prints its arguments in brackets.
cat > "$work/bin/cmake" << 'END'
#!/bin/sh
while [ "$1" != -B ]; do shift; done
mkdir -p "$2" && touch "$2/build.ninja"
END
cat > "$work/bin/ninja" << 'END'
#!/bin/sh
[ ! -e "$2/missing" ] || { echo "ninja: Entering directory" && echo "ninja: error: 'file.cpp', missing" && exit 1; }
[ ! -e "$2/broken" ] || { echo "1/2 Building" && echo "file.cpp:1: error: pretended" && exit 3; }
printf '#!/bin/sh\nprintf "[%%s]" "$@"\n' > "$2/mmtune" && chmod +x "$2/mmtune"
echo "ninja: Entering directory" && echo "1/2 Building" && echo "2/2 Linking"
END
chmod +x "$work/bin/cmake" "$work/bin/ninja"

# expect STATUS OUTPUT COMMAND…: what the command returns and prints.
expect() {
  status=0
  printed=$(cd "$work/elsewhere" && shift 2 && PATH="$work/bin:$PATH" CUDA_HOME=$toolkit MMTUNE_CUDA_PATH= CDPATH=/ \
    "$@" 2> "$work/said") || status=$?
  [ "$status $printed" = "$1 $2" ] || { echo "$3: $status $printed" && cat "$work/said" && exit 1; }
}

expect 0 '[show][two words]' "$tree/scripts/mmtune" show 'two words'
grep -q '^scripts/mmtune: configuring' "$work/said"
grep -q '^scripts/mmtune: building 2/2$' "$work/said"
expect 0 '[show]' './link' show
expect 0 '[show]' "../a source tree/scripts/mmtune" show
# What only a report needs is asked for where one is wanted.
printf '#!/bin/sh\n' > "$work/bin/node" && cp "$work/bin/node" "$work/bin/npm" && chmod +x "$work/bin/node" "$work/bin/npm"
expect 0 '[report]' "$tree/scripts/mmtune" report
grep -q '^scripts/mmtune: configuring' "$work/said"
echo 'MMTUNE_REPORT_PAGE:BOOL=yes' > "$tree/build/CMakeCache.txt"
expect 0 '[report]' "$tree/scripts/mmtune" report
! grep -q configuring "$work/said" || exit 1
touch "$tree/build/broken"
expect 1 '' "$tree/scripts/mmtune" show
grep -q 'error: pretended' "$work/said"
touch "$tree/build/missing"
expect 1 '' "$tree/scripts/mmtune" show
grep -q "error: 'file.cpp', missing" "$work/said"
! grep -q Entering "$work/said" || exit 1
