#!/usr/bin/env bash
# Kills the processes of a test run when the runner is gone, and removes its folder.
#
#   end-run.sh FOLDER
#
# It waits for the end of its input, whose other end only the runner holds. The environment of each process that a test
# starts names the folder. A failed run has marked its folder with a file `kept`.
set -euo pipefail

cat >/dev/null
mapfile -t processes < <(grep -lzxF "MATTE_TEST_RUN=$1" /proc/[0-9]*/environ 2>/dev/null)
for environ in "${processes[@]}"; do
  kill -KILL "${environ//[^0-9]/}" 2>/dev/null || true
done

# The guards of the servers kill them at the same time; until then they may write to the folder.
for _ in {1..50}; do
  [[ ! -e $1/kept ]] || break
  rm -rf "$1" 2>/dev/null && break
  sleep 0.1
done
