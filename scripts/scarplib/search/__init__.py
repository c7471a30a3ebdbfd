# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp search`: which scheme, with which parameters, is best for a load, by one figure."""
