# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp new`: a policy of one's own, which compiles and runs before it is changed.

new        the file, and its lines of registration; *.c.in: what the file begins as
"""
