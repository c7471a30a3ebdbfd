#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A file is replaced again and again: by then its new contents are on the drive.  What says so is taken
# down outside of the drive.  powercut-own-check.sh is its check; docs/powercut.md runs both.
set -e
scarp-start
for number in $(seq 40); do
    echo "$number" >new
    sync
    mv new value
    sync
    scarp-promise value "$number"
done
