#!/bin/sh
# Kills a server's process group when the program that started it is gone.
#
#   guard.sh GROUP [FILE]…
#
# It waits for a line on its input, whose other end only that program holds: however the program ends, the kernel closes
# it. The line `ended` means that the server has stopped by itself. FILEs are what a killed server leaves behind.
read -r line
[ "$line" = ended ] && exit
kill -9 "-$1"
shift
rm -f "$@"
