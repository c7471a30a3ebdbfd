# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp why`: what commands of a run would have cost, had the drive been another from then on.

asking  the question of a command line, and its answer (drive.branches asks scarp-why)
words   an answer for people
watching the same question again after each change of the engine
"""
