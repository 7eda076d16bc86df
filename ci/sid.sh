# Debian unstable, unpacked under build/debian/sid and not installed: the newest compilers, interpreter and OpenCL runtime.
# Sourced after lib.sh, by the scripts that use it; DEBIAN_MIRROR: another archive, or a snapshot of one.

sid=$root/build/debian/sid
sid_mirror=$(debian_mirror)
sid_packages=base-files,bash,coreutils,dash,findutils,grep,sed,gawk,hostname,util-linux,procps,tzdata
sid_packages+=,binutils,gcc-15,gcc-16,clang-23,libc6-dev
sid_packages+=,python3.14,python3.14-dev,python3.14-venv,libpython3.14-dev,ocl-icd-libopencl1,pocl-opencl-icd

# The root; 1, with a sentence: it cannot be had.  Made once, in several minutes: 1.5 GB.
sid_root() {
  local key lock
  mkdir -p "$(dirname "$sid")"
  exec {lock}>"$sid.lock"
  flock "$lock"
  key=$(printf '%s\n' "$sid_mirror $sid_packages" | digest)
  if [[ $(cat "$sid/.made-for" 2>/dev/null) != "$key" ]]; then
    [[ $(uname -m) == x86_64 ]] || { say "Debian unstable is unpacked on x86-64 alone"; return 1; }
    [[ -n $sid_mirror ]] || { say "no archive of Debian is known here: DEBIAN_MIRROR=http://... names one"; return 1; }
    command -v mmdebstrap >/dev/null || apt_install mmdebstrap || { say "mmdebstrap is missing"; return 1; }
    say "Debian unstable in build/debian/sid"
    rm -rf "$sid"
    # a snapshot of the archive is older than its own date of expiry allows
    mmdebstrap --variant=extract --aptopt='Acquire::Check-Valid-Until "false"' "--include=$sid_packages" sid "$sid" \
      "deb $sid_mirror sid main" >"$root/build/debian.log" 2>&1 || { say "no Debian unstable (see build/debian.log)"; return 1; }
    printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n' >"$sid/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' >"$sid/etc/group"
    printf '127.0.0.1 localhost\n' >"$sid/etc/hosts"
    mkdir -p "$sid$root" "$sid/usr/local/bin" "$sid/etc/ssl/certs"
    # what configuring would make, and Debian's pip reads even without a network
    cat "$sid"/usr/share/ca-certificates/mozilla/*.crt >"$sid/etc/ssl/certs/ca-certificates.crt"
    local name
    for name in cc gcc x86_64-linux-gnu-gcc; do ln -sfn /usr/bin/gcc-16 "$sid/usr/local/bin/$name"; done
    printf '%s' "$key" >"$sid/.made-for"
  fi
  flock -u "$lock"
  exec {lock}>&-
}

# sid_run COMMAND...: there, in this folder; the checkout has its own path, and its build/ is build/debian/build: programs
# made there need a newer libc than this machine's.  SID_SHARED=1: the same build/, for a program that only reads it.  SID_PATHS:
# folders that are seen there, too.
sid_run() {
  local how=(--mount)
  [[ $(id -u) == 0 ]] || how+=(--user --map-root-user)
  mkdir -p "$root/build/debian/build"
  # shellcheck disable=SC2016 - the words are the inner shell's
  unshare "${how[@]}" bash -c '
    set -e
    sid=$1 root=$2 folder=$3 paths=$4
    shift 4
    for one in proc sys dev; do mount --rbind "/$one" "$sid/$one"; done
    mount --rbind "$root" "$sid$root"
    if [[ -z ${SID_SHARED:-} ]]; then mount --bind "$root/build/debian/build" "$sid$root/build"; fi
    for one in $paths; do mkdir -p "$sid$one"; mount --rbind "$one" "$sid$one"; done
    exec "$(command -v chroot)" "$sid" /usr/bin/env -i -C "$folder" PATH=/usr/local/bin:/usr/bin:/usr/sbin HOME=/root LANG=C.UTF-8 CDEVICE_NO_APT=1 "$@"
  ' sid "$sid" "$root" "$PWD" "${SID_PATHS:-}" "$@"
}

# The wheels that `sid_python` installs from: what a build and the tests need, for 3.14, by this machine's pip; what has no wheel is
# left out, and what needs it is skipped.  EXTRA: "test", or nothing: pytest alone.
sid_wheels() {
  local to=$root/build/debian/build/wheels-3.14 one glibc platforms=() list=() missing=()
  mapfile -t list < <("$PYTHON" -I - "$root/pyproject.toml" "$@" <<'PY'
import sys
try:
    import tomllib
except ImportError:  # before 3.11
    from pip._vendor import tomli as tomllib
with open(sys.argv[1], "rb") as f:
    table = tomllib.load(f)
extra = table["project"]["optional-dependencies"]["test"] if "test" in sys.argv[2:] else ["pytest>=7"]
print("pip", *table["build-system"]["requires"], *extra, sep="\n")
PY
  )
  mkdir -p "$to"
  local made=$to/.made-for-${1:-pytest}
  if [[ $(cat "$made" 2>/dev/null) == "$(printf '%s\n' "${list[@]}" | digest)" ]]; then return 0; fi
  for glibc in 40 39 38 36 35 34 32 31 28 27 26 24 17; do platforms+=(--platform "manylinux_2_${glibc}_x86_64"); done
  platforms+=(--platform manylinux2014_x86_64)
  local pip=("$PYTHON" -m pip download -q --dest "$to" "${platforms[@]}" --only-binary=:all: --python-version 3.14 --implementation cp)
  say "wheels for 3.14"
  if ! "${pip[@]}" "${list[@]}" >"$root/build/debian-pip.log" 2>&1; then
    for one in "${list[@]}"; do "${pip[@]}" "$one" >>"$root/build/debian-pip.log" 2>&1 || missing+=("$one"); done
    if ((${#missing[@]})); then say "no wheel for 3.14: ${missing[*]} (see build/debian-pip.log)"; fi
  fi
  printf '%s\n' "${list[@]}" | digest | tr -d '\n' >"$made"
}

# sid_script SCRIPT...: one of these scripts there, by Python 3.14, without a network
sid_script() {
  (cd "$root" && sid_run env PYTHON=/usr/bin/python3.14 PIP_NO_INDEX=1 "PIP_FIND_LINKS=$root/build/wheels-3.14" "$@")
}
