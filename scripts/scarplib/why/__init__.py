# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp why`: what commands of a run would have cost, had the drive been another from then on.

asking  the run's log and state, as scarp-why's arguments; what it answers
verdict the rule by which a branch has avoided, moved or delayed what it saved
words   an answer for people
watching the same question again after each change of the engine
"""
