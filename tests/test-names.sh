#!/bin/sh
# The tests of a program that uses GLib's test framework, a name a line: test-names.sh PROGRAM
# Newer releases of GLib (2.84, not yet 2.74) list them as comments of TAP.  A program that names
# none is an error: its tests would be lost, and nobody would miss them.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
listed=$("$1" -l)
if ! printf '%s\n' "$listed" | sed -n 's|^\(# \)\{0,1\}/|/|p' | grep .; then
    echo "$1 names no test" >&2
    exit 1
fi
