#!/bin/sh
# Builds the array's programs on liburing: sh build.sh FOLDER [FIO], with FIO the configured sources
# of the fio that is to load array-fio.so.  CC and CFLAGS are heeded; LDFLAGS of array-ublk, which is
# left out where the kernel's headers do not know of ublk.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
array=$(cd "$(dirname "$0")/.." && pwd)
folder=$1
fio=${2-}
mkdir -p "$folder"
: "${CC:=cc}" "${CFLAGS:=-O2 -g}"
core=$(find "$array" -maxdepth 1 -name '*.c')
uring="$array/uring/uring.c $array/uring/ring.c $array/uring/threads.c $array/uring/keep.c
    $array/uring/drives.c $array/uring/drive_labels.c"
flags="-std=gnu11 -Wall -Wextra -Werror -I$array -I$array/uring"
# shellcheck disable=SC2086
$CC $flags $CFLAGS -o "$folder/array-format" "$array/uring/format.c" "$array/uring/drives.c" "$array/uring/drive_labels.c" $core
if echo '#include <linux/ublk_cmd.h>
#include <sys/ioctl.h>
unsigned long needed(void) { return UBLK_U_CMD_DEL_DEV_ASYNC; }' | $CC -fsyntax-only -x c - 2>/dev/null; then
    # shellcheck disable=SC2086
    $CC $flags $CFLAGS -o "$folder/array-ublk" "$array"/ublk/*.c $uring $core \
        ${LDFLAGS-} -luring -lpthread
fi
if [ -n "$fio" ]; then
    # fio's headers have warnings of their own, and compile as its own sources do.
    # shellcheck disable=SC2086
    $CC $flags -Wno-error -w $CFLAGS -D_GNU_SOURCE -include "$fio/config-host.h" -I"$fio" -shared -fPIC \
        -o "$folder/array-fio.so" "$array/uring/fio.c" $uring $core \
        -luring -lpthread
fi
