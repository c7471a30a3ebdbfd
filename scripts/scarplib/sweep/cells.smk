# SPDX-License-Identifier: GPL-2.0-or-later
# The rule of a cell, for a Snakefile that says where the SCRIPTS are, which Python module is the
# PROGRAM that makes a cell, which CELLS there are, each with the program's arguments, and in which
# FOLDER.
import shlex

python, scripts = sys.executable, SCRIPTS


# Snakemake's own files go there too.
workdir: str(FOLDER)


rule cell:
    output:
        "{cell}.json",
    params:
        arguments=lambda wildcards, output: shlex.join(CELLS[str(output)]),
    shell:
        "cd {scripts:q} && {python:q} -B -m {PROGRAM} {params.arguments}"
