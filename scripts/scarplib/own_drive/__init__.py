# SPDX-License-Identifier: GPL-2.0-or-later
"""One's own drive: measured, fitted, and compared with what was fitted.

plan        what is measured: steps of requests, the same for a drive and for a description
on_replayer the plan on a description, in scarp-replay
on_drive    the plan on a block device, by fio; what it refuses is in safety
probe_file  what came out, as JSON
probing     `scarp probe`: which of these it is; fitting: `scarp fit`
outputs     files that both write, and which they may replace
features    what can be read off it
model       a description, as keys
fit         features to keys, and a search for those that cannot be read off
blind       the trial: descriptions drawn by a seed, fitted without looking
"""
