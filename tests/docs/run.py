#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs what README.md and docs/ tell a reader to type, in a clone of its own; prints TAP.

    tests/docs/run.py [--long] [--list] [PAGE[:LINE]...]

Pages begin in the same clean clone; results in out/ stay from one to the next, as they would.
"""

from __future__ import annotations

import argparse
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from documents import CTRL_C, Command, Document, DocumentError, load, unknown_mentions  # noqa: E402

WORK = ROOT / "out" / "docs"
# Against hanging alone: a busy machine must not reach them.
LIMIT_S = {False: 1800, True: 12 * 3600}
# What a guest's prompt looks like, and what says that it is there for the first time.
READY, PROMPT = "exit ends the guest", "# "


def git(*arguments: str, folder: Path = ROOT) -> str:
    command = [
        "git",
        "-C",
        str(folder),
        "-c",
        "user.name=scarp",
        "-c",
        "user.email=scarp@localhost",
    ]
    return subprocess.run([*command, *arguments], check=True, capture_output=True, text=True).stdout


def make_clone(clone: Path) -> None:
    """This checkout as it is, changes that are not committed too, with its history."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    git("clone", "--quiet", "--shared", str(ROOT), str(clone))
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, listed):
        source, target = ROOT / name, clone / name
        target.unlink(missing_ok=True)
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    git("add", "--all", folder=clone)
    git("commit", "--quiet", "--allow-empty", "--message", "the checkout as it is", folder=clone)


def clean(clone: Path) -> None:
    git("checkout", "--quiet", "--force", ".", folder=clone)
    git("clean", "--quiet", "--force", "-d", folder=clone)


def _end(process: subprocess.Popen[str]) -> None:
    # With all that it started: it leads a session of its own.
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class Shell:
    """Runs commands of one document."""

    def __init__(self, clone: Path, tools: Path) -> None:
        self.clone = clone
        tools.mkdir(exist_ok=True)
        # TOOLS: where hidden commands put what a reader has installed.
        path = f"{os.environ['PATH']}:{tools}"
        self.environment = {**os.environ, "TOOLS": str(tools), "PATH": path}
        # A `make` that runs this hands its settings down (ARGS, …), which no reader has.
        settings = re.findall(r"^(\w+) \?=", (ROOT / "Makefile").read_text(), re.MULTILINE)
        for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "SECONDS", *settings):
            self.environment.pop(name, None)

    def _start(self, command: Command, typed: bool) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", command.text],
            cwd=self.clone,
            env=self.environment,
            stdin=subprocess.PIPE if typed else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def run(self, command: Command) -> tuple[int, str]:
        if CTRL_C in command.values:
            return self._run_until(command, command.values[CTRL_C])
        process = self._start(command, typed=False)
        try:
            output, _ = process.communicate(timeout=LIMIT_S[bool(command.long)])
        except BaseException as error:
            _end(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return 1, f"{error.output or ''}\nstopped after {error.timeout:.0f} s"
        return process.returncode, output

    def _run_until(self, command: Command, said: str) -> tuple[int, str]:
        """A command that has no end of its own: Ctrl-C is typed when it has said this."""
        process = self._start(command, typed=True)
        prompt = _Prompt(process, LIMIT_S[bool(command.long)])
        try:
            prompt.until(re.escape(said), "")
            os.killpg(process.pid, signal.SIGINT)
            prompt.rest()
        except EOFError:
            return process.wait() or 1, f"{prompt.all}\nended before it said '{said}'"
        except TimeoutError:
            _end(process)
            return 1, prompt.all
        except BaseException:
            _end(process)
            raise
        # It goes on after an error, and says it.
        wrong = re.search(r"^scarp: error", prompt.all, re.MULTILINE)
        return process.wait() or int(bool(wrong)), prompt.all

    def run_typed(self, command: Command) -> tuple[int, str, dict[int, tuple[int, str]]]:
        """A command with a prompt; status and output of each line typed there, by its number."""
        process = self._start(command, typed=True)
        prompt = _Prompt(process, LIMIT_S[bool(command.long)])
        results: dict[int, tuple[int, str]] = {}
        try:
            prompt.until(re.escape(READY), PROMPT)
            for typed in command.typed:
                prompt.say(f"{typed.text}; echo status=$?")
                if typed.text.strip() == "exit":
                    results[typed.line] = (0, "")
                    break
                # What is typed is echoed, so the status is where a number follows.
                output = prompt.until(r"status=\d+", PROMPT)
                status = re.findall(r"status=(\d+)", output)[-1]
                results[typed.line] = (int(status), output)
            else:
                prompt.say("exit")
            prompt.rest()
        except EOFError:
            pass
        except TimeoutError:
            _end(process)
            return 1, prompt.all, results
        except BaseException:
            _end(process)
            raise
        return process.wait(), prompt.all, results


class _Prompt:
    def __init__(self, process: subprocess.Popen[str], limit_s: float) -> None:
        assert process.stdin and process.stdout
        self.process, self.input, self.output = process, process.stdin, process.stdout
        self.end = time.monotonic() + limit_s
        self.all = ""
        self.seen = 0
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.output, selectors.EVENT_READ)

    def _more(self) -> bool:
        if not self.selector.select(max(0, self.end - time.monotonic())):
            raise TimeoutError("nothing more came")
        data = os.read(self.output.fileno(), 65536)
        self.all += data.decode(errors="replace").replace("\r", "")
        return bool(data)

    def until(self, pattern: str, then: str) -> str:
        """What came up to a pattern and the prompt behind it."""
        while True:
            text = self.all[self.seen :]
            match = re.search(pattern, text)
            if match and then in text[match.end() :]:
                self.seen = len(self.all)
                return text
            if not self._more():
                raise EOFError

    def rest(self) -> None:
        while self._more():
            pass

    def say(self, line: str) -> None:
        self.input.write(line + "\n")
        self.input.flush()


def masked(line: str) -> str:
    """A line of output without what depends on the guest's packages: numbers and their units."""
    return re.sub(r"\s+", " ", re.sub(r"[\d.,:-]*\d( (ns|µs|ms|s)\b)?", "#", line)).strip()


def missing_sample(sample: list[str], output: str) -> str | None:
    """The first line of a document's sample that the output does not have, in this order."""
    lines = iter([masked(line) for line in output.splitlines()])
    for line in sample:
        wanted = masked(line)
        if wanted and wanted != "…" and wanted not in lines:
            return line
    return None


class Tap:
    def __init__(self) -> None:
        self.number = self.failed = 0

    def say(self, good: bool, name: str, trouble: str = "", note: str = "") -> None:
        self.number += 1
        self.failed += not good
        print(f"{'' if good else 'not '}ok {self.number} - {name}{note}")
        if not good:
            for line in trouble.splitlines()[-40:]:
                print(f"# {line}")
        sys.stdout.flush()


def run_command(shell: Shell, command: Command, tap: Tap) -> None:
    name = f"{command.where}: {command.text}"
    if command.typed:
        status, output, results = shell.run_typed(command)
        tap.say(status == 0, name, output)
        for typed in command.typed:
            status, said = results.get(typed.line, (1, "the prompt was gone"))
            tap.say(status == 0, f"{typed.where}: {typed.text}", said)
        return
    began = time.monotonic()
    status, output = shell.run(command)
    seconds = f" ({time.monotonic() - began:.0f} s)"
    if command.given and status == 0:
        return
    tap.say(status == 0, name + seconds, f"{name}\n{output}\nexit status {status}")
    if command.sample and status == 0:
        line = missing_sample(command.sample, output)
        trouble = f"the document shows a line that did not come:\n{line}\nbut\n{output}"
        tap.say(line is None, f"{command.where}: its output is as the document shows it", trouble)


def run_document(document: Document, long: bool, tap: Tap, clone: Path) -> None:
    chosen = [c for c in document.commands if (long or not c.long) and not c.runs_all]
    if all(command.given for command in chosen):
        return
    clean(clone)
    shell = Shell(clone, WORK / "tools")
    for command in chosen:
        run_command(shell, command, tap)


def pages_test(tap: Tap) -> None:
    result = unittest.TestResult()
    unittest.defaultTestLoader.discover(str(HERE), "test_*.py").run(result)
    trouble = "\n".join(text for _, text in result.failures + result.errors)
    tap.say(
        result.wasSuccessful() and result.testsRun >= 8,
        "links, patches, and make without Python",
        trouble,
    )


def matches(page: str, command: Command) -> bool:
    return page in (command.document, command.where)


def chosen_of(document: Document, pages: list[str]) -> Document:
    """The commands that were asked for, behind what a reader would have run before them."""
    commands = document.commands
    if pages and document.name not in pages:
        asked = [i for i, command in enumerate(commands) if command.where in pages]
        before = max(asked, default=0)
        commands = [
            command
            for i, command in enumerate(commands)
            if i in asked or (i < before and (command.given or not command.long))
        ]
    return Document(document.name, commands)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="all commands, which takes hours")
    parser.add_argument("--list", action="store_true", help="only say what would be run")
    parser.add_argument(
        "pages",
        nargs="*",
        metavar="PAGE[:LINE]",
        help="README.md, docs/replay.md, … or one command",
    )
    arguments = parser.parse_args()
    try:
        documents = load(ROOT)
    except DocumentError as error:
        print(f"not ok 1 - {error}\n1..1")
        return 1
    for page in arguments.pages:
        if not any(matches(page, command) for d in documents for command in d.commands):
            parser.error(
                f"{page}: no command there; pages are {', '.join(d.name for d in documents)}"
            )
    chosen = [chosen_of(document, arguments.pages) for document in documents]
    if arguments.list:
        for document in chosen:
            for command in document.commands:
                kind = "long" if command.long else "fast"
                for each in (command, *command.typed):
                    print(f"{each.where}: {kind}{' given' if each.given else ''}: {each.text}")
        return 0
    tap = Tap()
    print("TAP version 13")
    pages_test(tap)
    wrong = unknown_mentions(documents)
    tap.say(not wrong, "every command in running text is in a block, too", "\n".join(wrong))
    clone = WORK / "scarp"
    try:
        make_clone(clone)
    except subprocess.CalledProcessError as error:
        tap.say(False, "a clone of this checkout", error.stderr)
        chosen = []
    for document in chosen:
        run_document(document, arguments.long, tap, clone)
    print(f"1..{tap.number}")
    if not tap.failed:
        shutil.rmtree(WORK)
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
