# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of a report that answers questions: every command over time, to zoom in and to click.

columns  how columns of numbers get into a page, and page.js reads them there
bins     what a page shows of very many commands, and which of them it keeps one by one
served   where each command was served, which only a replay of its log tells
section  the page's part itself, with page.js, page.css and the plotting library in it

All of it needs numpy, which the venv has.
"""
