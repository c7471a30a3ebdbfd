#!/bin/sh
# Builds the engine with sanitizers and every check, and runs its unit tests.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2046
cc -std=gnu11 -g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined \
   -fno-sanitize-recover=all -DSCARP_CHECKED -I"$top/ftl" \
   $(pkg-config --cflags glib-2.0) -o "$work/test-drive" \
   "$top/tests/unit/test-drive.c" "$top"/ftl/*.c \
   $(find "$top/ftl" -mindepth 2 -name '*.c' ! -path '*/replay/*' | sort) \
   $(pkg-config --libs glib-2.0)
status=0
G_TEST_SRCDIR="$top/tests/qtest" "$work/test-drive" --tap >"$work/tap" 2>&1 || status=$?
cat "$work/tap"
passed=$(grep -c '^ok ' "$work/tap" || true)
failed=$(grep -c '^not ok ' "$work/tap" || true)
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
