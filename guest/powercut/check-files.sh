#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What scarp-files was promised is in the mounted folder; another workload's promises say nothing.
exec scarp-files check "$SCARP_DIR" "$SCARP_PROMISES"
