#!/bin/sh
# The hunt: random drives, schemes and hosts, by the number of a scenario (docs/laws.md).
# run.sh [release|checked] [options of the hunt; --help names them]: checked has sanitizers and every law after every event.
# SPDX-License-Identifier: GPL-2.0-or-later
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
build=release
case ${1:-} in
    release | checked) build=$1; shift ;;
esac
make -s -C "$top" -f tests/hunt/hunt.mk -j"$(nproc)" "$build" >&2
exec "$top/build/hunt/$build/hunt" "$@"
