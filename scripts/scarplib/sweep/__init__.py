# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp sweep`: one comparison on many drives and seeds, by Snakemake.

sweep      which cells there are, and one of them run; cell: as Snakemake starts it
cells      Snakemake itself, for `scarp reproduce`, too; Snakefile, cells.smk: its rules
progress   how far the cells are, in guests, and the time left
intervals  means over seeds; page: the report
"""
