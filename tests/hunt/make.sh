#!/bin/sh
# make, for hunt.mk and ../unit/unit.mk, whose objects are the same: one at a time in a checkout.
# make.sh -f tests/hunt/hunt.mk release
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$top/build"
# What the user's own make was told is not for this one: -i would pass over errors, -w talk in lists.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
exec flock -o "$top/build/making.lock" make -s --no-print-directory -C "$top" -j"$(nproc)" CC=cc "$@"
