#!/bin/sh
# Checks whether this machine has what `make up` and `make test` need, and names all that is missing at once.
#
#   local/preflight.sh              exit code 0: all is there; 1: a message on stderr says what is not
#   local/preflight.sh --packages   prints the missing things' Debian packages instead, for unattended installation
#
# PYTHON chooses the interpreter (default: the first that fits among python3, python3.12, python3.11, python3.10). Only
# the shell itself and the programs looked for are used.
set -u

missing=''
packages=''

# lacks WHAT DEBIAN_PACKAGES FEDORA_PACKAGES WHAT_TO_DO
lacks() {
  missing="$missing
  - $1
      Debian/Ubuntu: ${2:--}   Fedora: ${3:--}
      $4"
  packages="$packages $2"
}

has() { command -v "$1" >/dev/null 2>&1; }

# at_least VERSION MAJOR MINOR
at_least() {
  major=${1%%.*}
  rest=${1#*.}
  minor=${rest%%[!0-9]*}
  case $major in '' | *[!0-9]*) return 1 ;; esac
  [ "$major" -gt "$2" ] || { [ "$major" -eq "$2" ] && [ "${minor:-0}" -ge "$3" ]; }
}

system="$(uname -s 2>/dev/null) $(uname -m 2>/dev/null)"
[ "$system" = 'Linux x86_64' ] ||
  lacks "Linux on x86-64 (this is $system)" '' '' 'Use such a machine: the inference server exists for no other here.'

glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null)
at_least "${glibc#glibc }" 2 35 ||
  lacks "glibc 2.35 or newer (this is ${glibc:-another C library})" '' '' \
    'Use Debian 12, Ubuntu 22.04, Fedora 36 or newer.'

node=$(node --version 2>/dev/null)
at_least "${node#v}" 20 0 ||
  lacks "Node 20 or newer (found: ${node:-none})" nodejs nodejs \
    'Where the package is older than 20, take Node from nodejs.org.'
has npm || lacks 'npm' npm nodejs-npm 'It comes with Node from nodejs.org.'

python=''
for candidate in ${PYTHON:-python3 python3.12 python3.11 python3.10}; do
  version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
  found="${found:-}${found:+, }$candidate is ${version:-not there}"
  case $version in 3.10 | 3.11 | 3.12) python=$candidate && break ;; esac
done
if [ -z "$python" ]; then
  lacks "Python 3.10, 3.11 or 3.12 ($found)" 'python3 python3-pip' 'python3.12 python3-pip' \
    'If it has a name of its own, name it: PYTHON=/opt/python3.11/bin/python3'
else
  "$python" -m pip --version >/dev/null 2>&1 ||
    lacks "pip for $python ($version)" python3-pip python3-pip "Or run: $python -m ensurepip --user"
  "$python" -c '
import ctypes, os, sys, sysconfig
name = "libpython%d.%d.so.1.0" % sys.version_info[:2]
if not os.path.exists(os.path.join(sysconfig.get_config_var("LIBDIR") or "", name)):
    ctypes.CDLL(name)' 2>/dev/null ||
    lacks "libpython$version.so.1.0, the shared library of $python" "libpython$version" python3-libs \
      'A Python built from source needs --enable-shared.'
fi

has make || lacks 'make' make make 'Install the package.'
has bash || lacks 'bash' bash bash 'Install the package.'

if [ "${1:-}" = --packages ]; then
  printf '%s\n' "$packages"
elif [ -n "$missing" ]; then
  printf 'This machine lacks:%s\n' "$missing" >&2
  exit 1
fi
