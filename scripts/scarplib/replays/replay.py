# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp replay`: a trace, a log or a generator on a drive, without a guest.

One scheme is a table; several are compared from one state of the drive, with the report that
guests get.  With --json, and for whatever else is no run to be shown, this process becomes
scarp-replay.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scarplib import scheme_text
from scarplib.build.cache import tree_hash
from scarplib.build.first_answer import first_replay
from scarplib.build.replayer import sources
from scarplib.device_logs import changes, line_log
from scarplib.device_logs.log_file import LogError
from scarplib.drive import start
from scarplib.drive.hints import hint
from scarplib.errors import UserError, printable_lines
from scarplib.option_types import own_file
from scarplib.paths import DEVICES
from scarplib.replays import foreign_traces
from scarplib.replays.command import IN_THOUSANDTHS, thousandths
from scarplib.results import best, instant, ran, replay_words, replayed
from scarplib.results.summary import said_params
from scarplib.results.table import table_text
from scarplib.runs import manifest
from scarplib.runs.folder import draw, new_folder, point_latest
from scarplib.scheme_text import folder_name
from scarplib.version import version

# What makes the state that all schemes start from; the last two belong to the runs, too.
_STATE = ("age", "age-overwrite", "age-pattern", "age-seed", "description", "seed")
_SHARED = ("description", "seed", "params")
# Who waits for a hint has waited for an error before.
_HINT_S = 5
# Options whose values the replayer has in other words.
_DEVICE = ("-d", "--description", "--device")
_IN_THOUSANDTHS = tuple(f"--{name}" for name in IN_THOUSANDTHS)


@dataclass(frozen=True)
class Asked:
    """The command line, as far as it is read here; `rest` is for scarp-replay alone."""

    options: argparse.Namespace
    rest: list[str]


def _has(given: list[str], *names: str) -> bool:
    return any(word in names or word.split("=")[0] in names for word in given)


def _table_of_one(given: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="scarp-replay-") as scratch:
        path = Path(scratch) / "replay.json"
        done = subprocess.run([str(first_replay()), *given, "--json", str(path)], check=False)
        if done.returncode:
            _hint(given)
        # Without a workload an image is saved, and there is nothing to show.
        if done.returncode or not path.is_file():
            return done.returncode
        result = json.loads(path.read_text())
    rate = f"{result['requests_per_s']:,.0f} a second of the drive's time"
    print(f"{replay_words.workload(result)}, {rate}")
    print(table_text({result["scheme"]: replayed.summary(result)}))
    if said := replay_words.no_collection([result]):
        print(f"\n{said}")
    return 0


def _hint(given: list[str]) -> None:
    """Behind what the replayer has refused; it is asked again, as a terminal alone heard it."""
    short = ["--quiet", "--requests", "1", "--warmup", "0", "--json", "/dev/null"]
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            [str(first_replay()), *given, *short],
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=_HINT_S,
            check=False,
        )
        if said := hint(printable_lines(done.stderr.strip())):
            print(f"scarp: {said.removeprefix('; ')}", file=sys.stderr)


def _option_words(options: argparse.Namespace, names: tuple[str, ...]) -> list[str]:
    words = []
    for name in names:
        value = getattr(options, name.replace("-", "_"))
        if value is not None:
            words += [f"--{name}", str(value)]
    return words


def _state(asked: Asked, folder: Path) -> Path:
    """The image that all start from: given, or made here of the description."""
    options = asked.options
    if options.image:
        if options.age:
            raise UserError("--age and --image exclude each other: an image has been aged")
        return Path(options.image)
    path = folder / "drive.img"
    words = _option_words(options, _STATE)
    words += [word for override in options.override for word in ("--override", override)]
    done = subprocess.run(
        [str(first_replay()), "--quiet", *words, "--save", str(path)],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    if done.returncode:
        line = done.stderr.strip().split("\n")[-1]
        raise UserError(line.removeprefix("scarp-replay: ") or "ageing failed")
    return path


@dataclass(frozen=True)
class _Stem:
    """What all columns are until an instant: the first of them, which never changes."""

    scheme: str
    folder: Path
    at_ns: int

    def forks(self, schemes: Iterable[str]) -> dict[str, dict[str, Any]]:
        """As summary.json has them."""
        return {
            scheme: {"stem": self.scheme, "scheme": scheme, "at_ns": self.at_ns}
            for scheme in schemes
            if scheme != self.scheme
        }


def _one_of_several(
    scheme: str, words: list[str], folder: Path, lines: bool, stem: _Stem | None = None
) -> dict[str, Any]:
    """Replay one scheme, with its logs in the folder, which is made; its summary.

    With `lines` a log of the trace's lines, too; with a stem the scheme begins at the instant.
    """
    folder.mkdir()
    if stem:
        instant.write_change(folder, stem.at_ns, scheme)
        words = [*words, *changes.words(folder)]
    if not _silent():
        # What the replayer's progress is of.
        print(f"{scheme}:", file=sys.stderr, flush=True)
    begins = stem.scheme if stem else scheme
    command = [str(first_replay()), *scheme_text.split(begins).words(), *words]
    for option, name in (("json", "replay.json"), ("cmd-log", "cmd.bin"), ("gc-log", "gc.bin"),
                         ("flash-log", "flash.bin")):  # fmt: skip
        command += [f"--{option}", str(folder / name)]
    if lines:
        command += ["--line-log", str(folder / line_log.NAME)]
    done = subprocess.run(command, stderr=subprocess.PIPE if _silent() else None, check=False)
    if done.returncode:
        raise UserError(f"'{scheme}': {_last_said(done.stderr)}")
    if stem:
        instant.check_equal(stem.folder, folder, stem.at_ns)
    try:
        return said_params(replayed.load(folder, scheme).summary, scheme)
    except LogError as error:
        raise UserError(f"results of '{scheme}': {error}") from error


def _last_said(stderr: bytes | None) -> str:
    """The line that ended a replay; warnings that came before it are handed on."""
    if not stderr:
        return "see above"
    *warnings, last = stderr.decode(errors="replace").strip().split("\n")
    for line in warnings:
        print(printable_lines(line), file=sys.stderr)
    return last.removeprefix("scarp-replay: ")


def _check(scheme: str, words: list[str]) -> None:
    """What is wrong with a scheme, or with the options, is said before any of them runs."""
    command = [str(first_replay()), *scheme_text.split(scheme).words(), *words, "--quiet"]
    command += ["--json", "/dev/null", "--requests", "1", "--warmup", "0"]
    done = subprocess.run(
        command, capture_output=True, text=True, errors="surrogateescape", check=False
    )
    if done.returncode:
        said = done.stderr.strip().removeprefix("scarp-replay: ")
        raise UserError(said if f"'{scheme}'" in said else f"'{scheme}': {said}")


def check_compared(options: argparse.Namespace, description: str) -> None:
    """What would be refused of a comparison is said, without the time that ageing takes.

    options: what read_replay() has read, with `schemes`.
    """
    if not _has(options.rest, "--format", "-f"):
        _check_traces(options.rest)
    words = ["--description", description, *_option_words(options, ("seed", "params"))]
    words += [word for override in options.override for word in ("--override", override)]
    for scheme in options.schemes:
        _check(scheme, [*words, *options.rest])


def _silent() -> bool:
    """Without a terminal there is no progress, and what the replayer says is an error."""
    return not sys.stderr.isatty()


@contextlib.contextmanager
def _fresh(wanted: Path | None) -> Iterator[Path]:
    """A folder for results; of replays that did not end nothing stays in it.

    If none has ended, the same command finds the folder as it was.
    """
    was_there = wanted is not None and wanted.exists()
    folder = new_folder("replay", wanted)
    try:
        yield folder
    except BaseException:
        columns = [path for path in folder.iterdir() if path.is_dir()]
        ended = [path for path in columns if (path / "replay.json").is_file()]
        for path in columns:
            if path not in ended:
                shutil.rmtree(path)
        if not ended:
            (folder / "drive.img").unlink(missing_ok=True)
        if not ended and not was_there:
            # Of its parents nobody knows whose they are.
            folder.rmdir()
        raise


def _columns(
    asked: Asked, folder: Path, words: list[str]
) -> tuple[dict[str, dict[str, Any]], _Stem | None]:
    """Replay each scheme; the summaries, and the stem if there is an instant."""
    options = asked.options
    schemes: dict[str, dict[str, Any]] = {}
    stem: _Stem | None = None
    for scheme in options.schemes:
        into = folder / folder_name(scheme)
        schemes[scheme] = _one_of_several(scheme, words, into, bool(_traces(asked.rest)), stem)
        if options.at and not stem:
            column = schemes[scheme]
            at_ns = instant.at_ns(options.at, column["begin_ns"], column["end_ns"])
            stem = _Stem(scheme, into, at_ns)
    return schemes, stem


def _compare(asked: Asked) -> int:
    options = asked.options
    if options.scheme:
        raise UserError("--scheme: excludes --schemes")
    own = next((scheme for scheme in options.schemes if ":" in scheme), None)
    if own and options.params:
        raise UserError(f"--params: excludes parameters in --schemes, as '{own}' has them")
    if not options.description and not options.image:
        raise UserError("--description is missing: a file of devices/")
    for name in ("--trace", "--cmd-log", "--gc-log", "--flash-log", "--line-log", "--save"):
        if _has(asked.rest, name):
            raise UserError(f"{name}: excludes --schemes; each scheme's logs are in its folder")
    if _has(asked.rest, "--job"):
        raise UserError("--job: excludes --schemes")
    began = time.monotonic()
    shared = _option_words(options, _SHARED)
    overrides = [word for override in options.override for word in ("--override", override)]
    with _fresh(options.out) as folder:
        state = _state(asked, folder)
        words = ["--image", str(state), *shared, *overrides, *asked.rest]
        for scheme in options.schemes:
            _check(scheme, words)
        schemes, stem = _columns(asked, folder, words)
    point_latest(folder)
    results = [
        json.loads((folder / folder_name(scheme) / "replay.json").read_text())
        for scheme in options.schemes
    ]
    if _silent():
        # On a terminal the replayer has said them itself.
        for line in results[0]["warnings"]:
            print(f"scarp: {line}", file=sys.stderr)
    notes = replay_words.notes(results)
    _write(asked, folder, state, schemes, results[0], notes, stem)
    print(replay_words.workload(results[0]))
    print(table_text(schemes))
    if said := replay_words.no_collection(results):
        print(f"\n{said}")
    if ranked := best.words(schemes):
        print("\n" + "\n".join(ranked))
    draw(folder)
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    print(f"\nResults: {shown}/  (report.html, summary.json, a folder for each column)")
    print(f"Took {time.monotonic() - began:.0f} s in all.")
    return 0


BESIDES = """
Several schemes:
  --schemes=A,B,...                    each of them, from one state of the drive; with a report.
                                       With parameters of its own: NAME:KEY=VALUE:...
  --out=DIR                            where its results go (out/<time>-replay)
  --at=T                               the first scheme until T, then each its own: start,
                                       start+SECONDS, or Nns of the drive's clock

As the other commands call them:
  --device=FILE                        --description
  --set=GROUP.KEY=VALUE,...            --override, of several keys at once

`scarp schemes` lists the schemes, `scarp keys` what --override may say.
"""


def _help() -> str:
    """The replayer's own options, and those of this command."""
    said = subprocess.run([first_replay(), "--help"], capture_output=True, text=True, check=True)
    return said.stdout.replace("scarp-replay", "scarp replay").rstrip() + "\n" + BESIDES


def _check_one(scheme: str | None) -> None:
    if scheme and "," in scheme:
        raise UserError(f"--scheme: '{scheme}' is not one scheme; several are: --schemes {scheme}")
    if scheme and ":" in scheme:
        words = " ".join(scheme_text.parse("--scheme", scheme).words())
        raise UserError(f"--scheme: '{scheme}': of one scheme that is: {words}")


def _check_age(options: argparse.Namespace) -> None:
    """How a drive is to be aged that is not: it would be measured as it is."""
    for name in ("age_overwrite", "age_pattern", "age_seed"):
        if getattr(options, name) is None:
            continue
        option = f"--{name.replace('_', '-')}"
        if options.image:
            raise UserError(f"{option}: excludes --image: an image has been aged")
        # A sweep gives each cell a seed, of ageing, too.
        if name != "age_seed" and options.age in (None, "0"):
            raise UserError(f"{option}: needs --age, from 1 to 1000")


def _traces(words: list[str]) -> list[Path]:
    """Files among the replayer's words: its traces, and what options name."""
    return [path for word in words if not word.startswith("-") and (path := Path(word)).is_file()]


def _check_traces(words: list[str]) -> None:
    """Those that would be refused, and what can be done about it."""
    for path in _traces(words):
        if said := foreign_traces.help_for(path):
            raise UserError(f"{path}: {said}")


def _write(
    asked: Asked,
    folder: Path,
    state: Path,
    schemes: dict[str, dict[str, Any]],
    result: dict[str, Any],
    notes: list[str],
    stem: _Stem | None,
) -> None:
    options = asked.options
    workload: str = result["workload"]
    said = [["image", start.said(state, folder)]]
    said += [[name, v] for name in ("seed", "params") if (v := getattr(options, name))]
    files = {"image": state}
    if options.description:
        files["device"] = Path(options.description)
        said.append(["description", start.said(files["device"], folder)])
    said += [["override", override] for override in options.override]
    if Path(workload).is_file():
        files["workload"] = Path(workload)
    whole = {
        "schema": replayed.SCHEMA,
        "job": Path(workload).name,
        "device": Path(options.description or options.image).name,
        "schemes": schemes,
        # With an instant each column begins as the first one.
        **({"columns": dict.fromkeys(schemes, stem.scheme)} if stem else {}),
        **(instant.said(options.at, stem.forks(schemes)) if stem else {}),
        "replayed": {key: result[key] for key in ("trace", *replay_words.CHANGES)},
        "notes": notes,
        "start": said,
        "ran": ran.words(
            state, files.get("device"), options.override, schemes, replay_words.workload(result)
        ),
        "manifest": {
            "scarp": version(),
            "engine": tree_hash(sources()),
            "inputs": {name: manifest.file_hash(path) for name, path in sorted(files.items())},
            "settings": {"schemes": options.schemes, "arguments": asked.rest},
        },
    }
    (folder / "summary.json").write_text(json.dumps(whole, indent=1) + "\n")
    ran.keep_command(folder)


def in_the_replayers_words(given: list[str]) -> list[str]:
    """--device and --set are what all other commands have; a drive may be named."""
    words: list[str] = []
    rest = iter(given)
    for word in rest:
        name, equals, value = word.partition("=")
        if name.startswith("-d") and name != "-d":
            name, equals, value = "-d", "=", word.removeprefix("-d")
        if name not in (*_DEVICE, *_IN_THOUSANDTHS, "--set"):
            words.append(word)
            continue
        if not equals:
            value = next(rest, "")
        if not value:
            raise UserError(f"{name}: needs a value")
        if name in _IN_THOUSANDTHS:
            words += [name, thousandths(value)]
        elif name in _DEVICE:
            words += ["--description", str(own_file("--description", DEVICES)(value))]
        else:
            words += [word for key in value.split(",") for word in ("--override", key)]
    return words


def main(options: argparse.Namespace) -> int:
    """Which of the three it is; `options` as replays/command.py reads them."""
    given = in_the_replayers_words(options.typed)
    asked = Asked(options, options.rest)
    _check_age(options)
    if options.schemes:
        if not _has(given, "--format", "-f"):
            _check_traces(asked.rest)
        if _has(given, "--json", "-j"):
            raise UserError("--json: excludes --schemes, whose folders have a replay.json each")
        return _compare(asked)
    if options.out:
        raise UserError("--out: needs --schemes")
    if options.at:
        raise UserError("--at: needs --schemes, the first of which is the stem")
    if _has(given, "--help", "-h", "-?", "--help-all"):
        print(_help(), end="")
        return 0
    _check_one(options.scheme)
    if not _has(given, "--format", "-f"):
        _check_traces(asked.rest)
    if not given or _has(given, "--json", "-j", "--list"):
        os.execv(first_replay(), ["scarp-replay", *given])
    return _table_of_one(given)
