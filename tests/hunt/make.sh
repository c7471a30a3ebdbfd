#!/bin/sh
# make, for hunt.mk and ../unit/unit.mk, whose objects are the same: one at a time in a checkout.
# make.sh -f tests/hunt/hunt.mk release
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$top/build"
exec flock "$top/build/making.lock" make -s -C "$top" -j"$(nproc)" "$@"
