#!/usr/bin/env bash
# Installs NVIDIA Triton Inference Server as ordinary files, without containers.
#
#   install.sh TARGET [cpu|gpu]
#
# For the CPU (the default), or for an NVIDIA GPU with a driver for CUDA 13 (580 or newer): then ONNX Runtime's CUDA
# provider and the libraries that it needs are fetched as well, and the configuration `gpu` is served too.
#
# TARGET is created or replaced as a whole, or kept if it already holds this installation. The server comes from a Python
# wheel with only Triton's "python" backend; backends/onnxruntime/model.py replaces the "onnxruntime" backend, so the
# folder models/ works as in the official image.
#
# PYTHON: the interpreter to use, 3.10 to 3.12 with pip (default: the first that fits among python3, python3.12, 3.11,
# 3.10). Its shared library is needed, because Triton's Python stub is linked to it. glibc 2.35 or newer.
set -euo pipefail

die() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=${1:?usage: install.sh TARGET [cpu|gpu]}
processor=${2:-cpu}
[[ $processor == [cg]pu ]] || die "install.sh TARGET [cpu|gpu], not '$processor'"
[[ $(uname -sm) == 'Linux x86_64' ]] || die "Triton's wheel is for Linux on x86-64, not for $(uname -sm): set TRITON_URL to a server elsewhere"

version_of() { "$1" -c 'import sys, pip; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

find_python() {
  local candidate candidates=(python3 python3.12 python3.11 python3.10)
  [[ -z ${PYTHON:-} ]] || candidates=("$PYTHON")
  for candidate in "${candidates[@]}"; do
    case $(version_of "$candidate") in 3.10 | 3.11 | 3.12) echo "$candidate" && return ;; esac
  done
  return 1
}

python=$(find_python) || die 'no Python 3.10, 3.11 or 3.12 with pip found. Debian: apt-get install python3 python3-pip; or set PYTHON'
version=$(version_of "$python")
[[ $processor == cpu || $version != 3.10 ]] || die 'ONNX Runtime for GPUs needs Python 3.11 or 3.12: set PYTHON'
library=libpython$version.so.1.0
library_folder=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR") or "")')
no_library="the shared library $library of $python is missing. Debian: apt-get install libpython$version; pyenv: build Python with --enable-shared"
[[ -e $library_folder/$library ]] || "$python" -c "import ctypes; ctypes.CDLL('$library')" 2>/dev/null || die "$no_library"

# Everything that decides what is installed goes into the stamp; the backend file is small and always copied.
requirements=("$here"/{requirements,openvino,"requirements-$processor"}.txt)
stamp=$({ cat "${requirements[@]}" "$here/install.sh"; echo "$version $library_folder"; } | sha256sum | cut -d' ' -f1)
if [[ -f $target/stamp && $(<"$target/stamp") == "$stamp" ]]; then
  install -m 644 "$here/backends/onnxruntime/model.py" "$target/pytriton/tritonserver/backends/onnxruntime/model.py"
  echo "Triton is installed in $target"
  exit 0
fi

mkdir -p "$(dirname "$target")"
new=$(mktemp -d "$(dirname "$target")/.triton.XXXXXX")
trap 'rm -rf "$new"' EXIT
server=$new/pytriton/tritonserver
backends=$server/backends

[[ $processor == gpu ]] && sizes='1,510 MB, takes 2.3 GB' || sizes='160 MB, takes 340 MB'
echo "installing Triton 2.51.0 for Python $version in $target: fetches about $sizes"
# --target leaves the interpreter's own packages alone; only the lines that name a file and its size are let through.
PIP_USER=0 "$python" -m pip --disable-pip-version-check --no-input install --target "$new" --progress-bar off \
  --require-hashes --only-binary=:all: --no-deps --no-compile --root-user-action=ignore \
  "${requirements[@]/#/--requirement=}" |
  sed -n -E 's/^ *((Downloading|Using cached) [^ ]*\/)?((Downloading|Using cached) )?([^ /]+\.whl) (\(.*\)).*/  fetched \5 \6/p'

stub=$backends/python/triton_python_backend_stub
install -m 755 "$server/python_backend_stubs/$version/triton_python_backend_stub" "$stub"
chmod 755 "$server/bin/tritonserver"
# The stub runs Python isolated, so PYTHONPATH has no effect; this folder is on its search path.
mv "$new"/{numpy,numpy.libs,onnxruntime,openvino} "$backends/python/"
[[ $processor == cpu ]] || mv "$new/nvidia" "$backends/python/"
install -D -m 644 "$here/backends/onnxruntime/model.py" "$backends/onnxruntime/model.py"

is_missing() { ldd "$stub" | grep -q "$library => not found"; }
if is_missing && [[ -e $library_folder/$library ]]; then
  ln -s "$library_folder/$library" "$new/nvidia_pytriton.libs/$library"
fi
if is_missing; then die "$no_library"; fi

echo '  removing what the server does not load'
# The libraries that other Python versions and unused tools would load, a second libpython among them.
loaded=$(ldd "$server/bin/tritonserver" "$new"/nvidia_pytriton.libs/libtritonserver-*.so "$backends/python/libtriton_python.so" "$stub" |
  awk '$2 == "=>" { n = split($1, path, "/"); print path[n] }' | sort -u)
for file in "$new"/nvidia_pytriton.libs/*; do
  grep -qxF "$(basename "$file")" <<<"$loaded" || rm "$file"
done
mkdir "$new/licenses"
for folder in "$new"/*.dist-info; do
  find "$folder" -type f -iname 'LICENSE*' -exec cp {} "$new/licenses/$(basename "$folder" .dist-info).txt" \;
done
cp "$backends/python/onnxruntime/LICENSE" "$new/licenses/onnxruntime.txt"
cp "$backends/python/onnxruntime/ThirdPartyNotices.txt" "$new/licenses/onnxruntime-third-party.txt"
for file in "$new"/openvino-*.dist-info/licenses/licensing/*; do cp "$file" "$new/licenses/openvino-$(basename "$file")"; done
find "$new/pytriton" -mindepth 1 -maxdepth 1 ! -name tritonserver -exec rm -r {} +
rm -rf "$server"/{python_backend_stubs,caches} "${new:?}"/{bin,*.dist-info} \
  "$backends"/python/onnxruntime/{transformers,quantization,datasets,backend,tools} "$backends"/python/numpy/f2py \
  "$backends"/python/openvino/{include,cmake,tools,torch} "$backends"/python/nvidia/*/include
# OpenVINO's core, its CPU plugin, the ONNX reader and their thread library.
find "$backends/python/openvino/libs" -type f ! -name 'libopenvino.so.*' ! -name 'libopenvino_intel_cpu_*' \
  ! -name 'libopenvino_onnx_*' ! -name 'libtbb*' ! -name 'libhwloc*' -delete
find "$backends/python" -type d -name tests -prune -exec rm -r {} +
# Compiled once here, so that a read-only installation starts as fast as a writable one.
"$python" -m compileall -q "$backends"/python/{numpy,onnxruntime,openvino}

# --help exits with 1 even if all is well, so its text is what tells.
help=$("$server/bin/tritonserver" --help 2>&1 || true)
[[ $help == *--model-repository* ]] || die "tritonserver does not start: $help"

echo "$stamp" >"$new/stamp"
chmod 755 "$new"
rm -rf "$target"
mv -T "$new" "$target"
trap - EXIT
echo "Triton is installed in $target ($(du -sh "$target" | cut -f1))"
