# SPDX-License-Identifier: GPL-2.0-or-later
"""What leaves the checkout: a tarball, and an installed tree with its pages of the manual."""
