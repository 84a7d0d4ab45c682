#!/usr/bin/env bash
# Kills the Python stubs of a tritonserver that has ended, and removes its shared memory.
#
#   end-stubs.sh SERVER
#
# SERVER is the process id of the server, which leads the process group of its stubs. A stub whose server is killed
# during inference often hangs in its own exit and keeps 150 MB. The parent-death signal of Linux does not help: it is
# sent when the thread that forked the stub ends, and that thread may end before the server does.
set -euo pipefail

server=$1
started=

# A zombie counts as ended: its parent may never collect it. Another process with the server's number means that the
# group has no member left.
is_running() {
  local stat fields
  { read -r stat <"/proc/$server/stat"; } 2>/dev/null || return 1
  read -ra fields <<<"${stat##*) }"
  : "${started:=${fields[19]}}"
  [[ ${fields[19]} == "$started" ]] || exit 0
  [[ ${fields[0]} != [ZX] ]]
}

# A pipe without data: waiting on it takes no process, unlike sleep.
exec {empty}<> <(:)
while is_running; do read -rt 1 -u "$empty" || true; done

# Other programs of the group are the caller's, such as the rest of a pipe.
list_stubs() {
  local path stat fields
  for path in /proc/[0-9]*/stat; do
    { read -r stat <"$path"; } 2>/dev/null || continue
    read -ra fields <<<"${stat##*) }"
    [[ ${fields[2]} == "$server" && $stat == *'(triton_python_b'* && ${fields[0]} != Z ]] || continue
    echo "${stat%% *}"
  done
}
for _ in {1..50}; do
  mapfile -t stubs < <(list_stubs)
  ((${#stubs[@]})) || break
  kill -KILL "${stubs[@]}" 2>/dev/null || true
  read -rt 0.1 -u "$empty" || true
done
rm -f "/dev/shm/matte_${server}_"*
