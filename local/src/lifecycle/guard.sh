#!/bin/sh
# Kills a server's process group when the program that started it is gone.
#
#   guard.sh GROUP [FILE]…
#
# Waits for a line on its input. Only that program holds the other end, so the kernel closes it however the program
# ends. The line `ended` means that the server stopped by itself. FILEs are removed after the kill.
read -r line
[ "$line" = ended ] && exit
kill -9 "-$1"
shift
rm -f "$@"
