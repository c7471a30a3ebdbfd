#!/bin/sh
# Builds scarp-array: sh build.sh PROGRAM [compiler options].
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
top=$(cd "$(dirname "$0")/../../.." && pwd)
program=$1
shift
libraries="glib-2.0 zlib libzstd"
mkdir -p "$(dirname "$program")"
# The engine is all of ftl/ but the rooms of programs, which have a main.c, and rerun, which two of them share.  The
# replayer's checks of options and errors are used here, too.
programs=$(echo "! -path $top/ftl/rerun/*"; find "$top/ftl" -name main.c | sed 's|\(.*\)/main\.c|! -path \1/*|')
set -f
# shellcheck disable=SC2086
sources=$(find "$top/ftl" -name '*.c' \( $programs -o -path '*/replay/options.c' -o -path '*/replay/refused.c' \)
          find "$top/guest/array" -maxdepth 1 -name '*.c'; find "$top/guest/array/sim" -name '*.c')
# shellcheck disable=SC2046,SC2086
cc -std=gnu11 -O2 -flto=auto -g -Wall -Wextra -Werror -I"$top/ftl" "$@" $(pkg-config --cflags $libraries) \
   -o "$program" $sources $(pkg-config --libs $libraries)
