# Set-up shared by quickstart.sh and test.sh: system packages, LibTorch, the tests' Python, the build.
# To be sourced by a bash script running in the project's folder with `set -euo pipefail`. Every function
# may be interrupted and called again: what is complete is left alone, what is half done is done again.
#
#   PPPLAN_CACHE   where LibTorch is kept (default: ~/.cache/ppplan), shared by all checkouts
#   PPPLAN_TORCH   folder of a Python torch package to use in place of the cached one
# shellcheck shell=bash

readonly torch_release=2.11
readonly torch_version=2.11.0
readonly torch_requirements=("torch==$torch_version" "numpy<3")
readonly torch_space_gb=8 # 5 installed, 3 downloaded
readonly cache=${PPPLAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ppplan}

say() { printf '== %s\n' "$*"; }

# fail MESSAGE [HINT]
fail() {
  printf 'error: %s\n' "$1" >&2
  if [[ -n ${2:-} ]]; then printf 'hint: %s\n' "$2" >&2; fi
  exit 1
}

# show COMMAND...: prints the command as one could type it, then runs it.
show() {
  printf '$ %s\n' "$(command_line "$@")"
  "$@"
}

# command_line WORD...: the words, quoted only where a shell needs it.
command_line() {
  local word words=()
  for word in "$@"; do
    [[ $word =~ ^[A-Za-z0-9_./:=,+@%-]+$ ]] || word=$(printf '%q' "$word")
    words+=("$word")
  done
  printf '%s' "${words[*]}"
}

# locked FILE COMMAND...: runs the command while no other process holds the file's lock. Not for use in
# a condition: bash would then ignore failures inside the command.
locked() {
  local file=$1
  shift
  mkdir -p "$(dirname "$file")"
  (
    flock -n 9 || {
      say "waiting for another set-up to finish ($file)"
      flock 9
    }
    "$@"
  ) 9>"$file"
}

# ---- system packages ------------------------------------------------------------------------------

# Prints the Debian packages that are missing, one a line. Tools count wherever they come from.
missing_packages() {
  local tool library
  for tool in g++:g++ cmake:cmake ninja:ninja-build ccache:ccache mold:mold; do
    command -v "${tool%%:*}" >/dev/null || printf '%s\n' "${tool##*:}"
  done
  for library in libfmt-dev libyaml-cpp-dev libcli11-dev doctest-dev rapidjson-dev libgloo-dev ca-certificates; do
    [[ $(dpkg-query -W -f='${Status}' "$library" 2>/dev/null) == 'install ok installed' ]] || printf '%s\n' "$library"
  done
  if [[ -z $(usable_python) ]]; then printf '%s\n' python3 python3-venv; fi
}

# Prints the first Python that can make virtual environments and that LibTorch's wheels and the tests' libraries are made for.
usable_python() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import sys, venv, ensurepip
sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
      command -v "$python"
      return
    fi
  done
}

# require_known_system: only releases whose packages are new enough (CMake 3.25) and tried.
require_known_system() {
  local id version name
  # shellcheck source=/dev/null
  read -r id version name < <(. /etc/os-release 2>/dev/null && printf '%s %s %s' "${ID:-unknown}" "${VERSION_ID:-0}" "${PRETTY_NAME:-}") || true
  case $id in
    debian) ((${version%%.*} >= 12)) && return ;;
    ubuntu) ((${version%%.*} >= 24)) && return ;;
  esac
  fail "this script sets up Debian 12, Ubuntu 24.04 and later, but this is ${name:-an unknown system}" \
    "install g++ (C++20), CMake 3.25, Ninja, ccache, fmt, yaml-cpp, CLI11, doctest, RapidJSON and Gloo's headers, then see 'Build by hand' in CONTRIBUTING.md"
}

setup_system_packages() {
  case $(uname -sm) in
    'Linux x86_64' | 'Linux aarch64') ;;
    *) fail "PyTorch's wheels serve Linux on x86_64 and aarch64, but this is $(uname -sm)" ;;
  esac
  require_known_system
  local missing
  mapfile -t missing < <(missing_packages)
  if ((${#missing[@]} == 0)); then return; fi
  if ((EUID != 0)); then
    fail "these system packages are missing: ${missing[*]}" "sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  say "installing system packages: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! install_packages "${missing[@]}" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    fail "the system packages could not be installed" "read the lines above, or the whole of $log"
  fi
  rm -f "$log"
}

install_packages() {
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  # An earlier run may have been interrupted inside dpkg.
  dpkg --configure -a && "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "$@"
}

# ---- LibTorch -------------------------------------------------------------------------------------

# Sets torch_folder (of the Python package, headers and libraries inside) and torch_python.
setup_torch() {
  if [[ -n ${PPPLAN_TORCH:-} ]]; then
    use_given_torch
    return
  fi
  local environment=$cache/torch-$torch_version
  if ! is_stamped "$environment" "${torch_requirements[*]}"; then
    locked "$environment.lock" make_torch_environment "$environment"
  fi
  torch_folder=$(site_packages "$environment")/torch
  torch_python=$environment/bin/python
}

use_given_torch() {
  torch_folder=${PPPLAN_TORCH%/}
  local find_it="name the folder that \"python3 -c 'import torch; print(torch.__path__[0])'\" prints, or unset PPPLAN_TORCH"
  [[ -f $torch_folder/version.py && -f $torch_folder/lib/libtorch_cpu.so ]] ||
    fail "PPPLAN_TORCH: $torch_folder is no torch package" "$find_it"
  local version
  version=$(sed -n "s/^__version__ = '\([^']*\)'.*/\1/p" "$torch_folder/version.py")
  [[ $version == "$torch_release".* ]] ||
    fail "PPPLAN_TORCH: $torch_folder is PyTorch $version, but ppplan is built with $torch_release" "$find_it"
  # The Python that the package was installed for: that of its environment, or one of its version.
  local library=${torch_folder%/*/torch}
  torch_python=${library%/lib*/*}/bin/python3
  if [[ ! -x $torch_python ]]; then torch_python=$(command -v "${library##*/}" || true); fi
}

# Called with the lock held. Another process may have finished while this one waited.
make_torch_environment() {
  local environment=$1
  if is_stamped "$environment" "${torch_requirements[*]}"; then return; fi
  if torch_is_whole "$environment"; then
    say "LibTorch $torch_version found in $environment"
  else
    remove_environment "$environment"
    require_space "$cache" "$torch_space_gb"
    say "downloading PyTorch $torch_version into $environment (3 GB; takes 5 GB there)"
    make_environment "$environment" "$(usable_python)" "${torch_requirements[@]}"
    torch_is_whole "$environment" || fail "PyTorch was installed but does not start" "$environment/bin/python -c 'import torch'"
  fi
  stamp "$environment" "${torch_requirements[*]}"
}

# torch_is_whole ENVIRONMENT: pip's last step was reached and the libraries load.
torch_is_whole() {
  local packages
  packages=$(site_packages "$1")
  [[ -f $packages/torch/lib/libtorch_cpu.so && -f $packages/torch-$torch_version.dist-info/INSTALLER ]] &&
    "$1/bin/python" -c "import numpy, torch; assert torch.__version__.split('+')[0] == '$torch_version'" >/dev/null 2>&1
}

# ---- Python environments --------------------------------------------------------------------------

# site_packages ENVIRONMENT: its folder of packages; empty when there is none.
site_packages() {
  local folder
  for folder in "$1"/lib/python3.*/site-packages; do
    if [[ -d $folder ]]; then printf '%s' "$folder"; fi
  done
}

# A stamp is written last and holds what was asked for: without it an environment is not complete.
is_stamped() { [[ -x $1/bin/python && -f $1/ppplan.stamp && $(<"$1/ppplan.stamp") == "$2" ]]; }
stamp() { printf '%s\n' "$2" >"$1/ppplan.stamp.new" && mv "$1/ppplan.stamp.new" "$1/ppplan.stamp"; }

# make_environment FOLDER PYTHON PIP_ARGUMENT...
make_environment() {
  local environment=$1 python=$2
  shift 2
  [[ -n $python ]] || fail "no Python between 3.11 and 3.14 with the venv module was found" "install python3 and python3-venv"
  "$python" -m venv "$environment"
  # pip unpacks beside the result: /tmp may be small.
  mkdir -p "$environment/tmp"
  TMPDIR=$environment/tmp "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$@" ||
    fail "pip could not install $*" "check the network and the lines above, then run the same command again"
  rm -rf "$environment/tmp"
}

remove_environment() {
  [[ -e $1 ]] || return 0
  [[ -f $1/pyvenv.cfg || -z $(ls -A "$1") ]] || fail "$1 is in the way and was not made by this script" "move it, or set PPPLAN_CACHE to another folder"
  say "removing $1, which an earlier run left unfinished"
  rm -rf -- "$1"
}

# require_space FOLDER GB
require_space() {
  mkdir -p "$1"
  local free_kb
  free_kb=$(df -Pk "$1" | awk 'NR == 2 {print $4}')
  ((free_kb >= $2 * 1000 * 1000)) ||
    fail "$1 needs $2 GB, but only $((free_kb / 1000 / 1000)) GB are free" "free some space, set PPPLAN_CACHE to a folder on a larger disk, or PPPLAN_TORCH to a PyTorch $torch_release you have"
}

# setup_peers REQUIREMENTS: sets peers_python, an environment that sees the torch of setup_torch and
# holds the other libraries that tests compare with.
setup_peers() {
  [[ -n $torch_python ]] || fail "no Python was found for PPPLAN_TORCH=$PPPLAN_TORCH" "use the torch of a virtual environment, or unset PPPLAN_TORCH"
  local wanted environment
  wanted=$(printf 'torch %s\n' "$torch_folder" && cat "$1")
  environment=$cache/peers-$(sha256sum <<<"$wanted" | cut -c1-12)
  if ! is_stamped "$environment" "$wanted"; then
    locked "$environment.lock" make_peers_environment "$environment" "$1" "$wanted"
  fi
  # shellcheck disable=SC2034  # for the caller
  peers_python=$environment/bin/python
}

make_peers_environment() {
  local environment=$1 requirements=$2 wanted=$3
  if is_stamped "$environment" "$wanted"; then return; fi
  remove_environment "$environment"
  require_space "$cache" 1
  say "making the tests' Python environment $environment"
  make_environment "$environment" "$torch_python" --no-deps -r "$requirements"
  dirname "$torch_folder" >"$(site_packages "$environment")/torch.pth"
  "$environment/bin/python" -c 'import torch' || fail "the tests' Python does not load torch from $torch_folder"
  stamp "$environment" "$wanted"
}

# ---- build ----------------------------------------------------------------------------------------

# How many compilers fit: one a core, 2 GB of memory each (LibTorch's headers are large).
job_count() {
  local memory_gb limit jobs
  memory_gb=$(awk '/^MemAvailable/ {print int($2 / 1000 / 1000)}' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || true)
  if [[ $limit =~ ^[0-9]+$ ]] && ((limit / 1000000000 < memory_gb)); then memory_gb=$((limit / 1000000000)); fi
  jobs=$((memory_gb / 2))
  if ((jobs > $(nproc))); then jobs=$(nproc); fi
  printf '%d' "$((jobs > 0 ? jobs : 1))"
}

# configure PRESET [CMAKE_ARGUMENT...]
configure() {
  local command=(cmake --preset "$1" -DPPPLAN_TORCH="$torch_folder" "${@:2}")
  printf '$ %s\n' "$(command_line "${command[@]}")"
  "${command[@]}" >/dev/null # what it found is of no interest; what is wrong goes to standard error
}

# compile PRESET [TARGET...]: all targets when none is named.
compile() {
  local preset=$1
  shift
  show cmake --build --preset "$preset" --parallel "$(job_count)" ${1:+--target "$@"}
}
