#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Files are replaced, appended to, written in place and deleted by three processes.  Each is made
# durable, and what was promised by that is taken down.  docs/powercut.md runs it.
set -e
scarp-start
scarp-files work "$SCARP_DIR" 150 1
