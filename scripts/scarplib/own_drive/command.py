# SPDX-License-Identifier: GPL-2.0-or-later
"""`scarp probe` and `scarp fit`, as the command line has them."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

from scarplib import whole_file
from scarplib.build.replayer import ensure_replay
from scarplib.errors import UserError, of_system, printable
from scarplib.option_types import Parser, integer, one_scheme
from scarplib.own_drive import cited, features, figures, fio_json, on_guest, on_replayer
from scarplib.own_drive.fit_options import fit_options
from scarplib.own_drive.plan import MIB, Plan, span_of
from scarplib.own_drive.probe_file import Probe, load

# How files begin that this command writes, and may write anew.
FITTED = "# Fitted to"
FIT = '{\n "schema": "scarp-fit-1"'
COMPARED = '{\n "schema": "scarp-compared-1"'
BLIND = '{\n "schema": "scarp-blind-1"'


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _check_out(key: str, path: Path, *others: Path) -> None:
    """Said before the work, not after it.  `others` are files that must stay."""
    if not path.parent.is_dir():
        raise UserError(f"{key}: '{path.parent}' is no folder")
    try:
        # Of no name: whether it can be written to shows in no other way.
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise UserError(f"{key}: '{path.parent}' cannot be written to: {error.strerror}") from error
    if path.resolve() in [one.resolve() for one in others]:
        raise UserError(f"{key}: '{path}' is another file of this command, too")
    try:
        seen = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{key}: '{path}': {error.strerror}") from error
    if stat.S_ISDIR(seen.st_mode):
        raise UserError(f"{key}: '{path}' is a folder, not a file")
    if stat.S_ISLNK(seen.st_mode):
        raise UserError(f"{key}: '{path}' is a link, which would be replaced; name its file")
    if not stat.S_ISREG(seen.st_mode):
        raise UserError(f"{key}: '{path}' is no regular file, and would be replaced")
    if any(one.exists() and one.samefile(path) for one in others):
        raise UserError(f"{key}: '{path}' is another file of this command, too")


def _check_ours(key: str, path: Path, *begins: str) -> None:
    """Only what this command wrote itself may be replaced."""
    try:
        with path.open("rb") as stream:
            head = stream.read(max(map(len, begins))).decode(errors="replace")
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{key}: '{path}': {error.strerror}") from error
    if not head.startswith(begins):
        raise UserError(f"{key}: '{path}' exists, and is not of this command; name another file")


def _check_same_description(path: Path, drive: Path, guest: bool) -> None:
    """A description's probe replaces none of a device or of another description."""
    if not path.exists():
        return
    source = load(path).source
    named = printable(str(source.get("name") or "another drive"))
    wanted = on_guest.KIND if guest else "description"
    if (source.get("kind"), source.get("name")) != (wanted, drive.name):
        where = ", in a guest" if source.get("kind") == on_guest.KIND else ""
        raise UserError(
            f"--out: '{path}' is a probe of {named}{where}, not "
            f"of {drive.name}{', in a guest' if guest else ''}; name another file"
        )


# ---- scarp probe ---------------------------------------------------------------------------------


def probe_parser() -> Parser:
    """Of `scarp probe`."""
    parser = Parser(
        prog="scarp probe",
        description="Measures a drive by a plan: a description in the replayer, in seconds, or a "
        "block device, which loses its data.",
    )
    parser.add_argument(
        "drive", type=Path, help="a description (….ini), a block device, or an empty file"
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="FILE",
        default=Path("probe.json"),
        help="the result (default: probe.json)",
    )
    parser.add_argument(
        "--seed",
        type=integer("--seed", 1, 2**31),
        default=1,
        metavar="N",
        help="of the addresses (default: 1)",
    )
    parser.add_argument(
        "--mib",
        type=integer("--mib", 32, 2**24),
        metavar="N",
        help="how much of the drive (default: all of a description, 2048 of a device)",
    )
    parser.add_argument(
        "--held-out", action="store_true", help="also loads that `scarp fit` does not look at"
    )
    of = parser.add_argument_group("a description")
    of.add_argument(
        "--scheme",
        type=one_scheme,
        metavar="NAME[:KEY=VALUE…]",
        help="GC scheme (default: baseline)",
    )
    of.add_argument(
        "--set",
        metavar="GROUP.KEY=VALUE",
        action="append",
        default=[],
        help="a key of the description; may be given several times",
    )
    of.add_argument(
        "--guest",
        action="store_true",
        help="as the kernel of a guest has it, not in the replayer: minutes",
    )
    of = parser.add_argument_group("a block device")
    of.add_argument(
        "--destroy",
        metavar="SERIAL",
        help="the device's serial number, as it says it itself: its data may be overwritten",
    )
    of.add_argument(
        "--minutes",
        type=integer("--minutes", 1, 10000),
        metavar="N",
        help="what does not fit into so much time is left out (default: 30)",
    )
    return parser


def probe_main(given: list[str]) -> int:
    """`scarp probe`."""
    options = probe_parser().parse_args(given)
    _check_out("--out", options.out, options.drive)
    if options.drive.suffix != ".ini":
        if options.scheme or options.set or options.guest:
            raise UserError("--scheme, --set, --guest: are of a description; a device is as it is")
        from scarplib.own_drive import on_drive

        status = on_drive.main(options)
        # Of what is no drive, such as a file in RAM, not all can be read off.
        with contextlib.suppress(UserError):
            if not status and not (found := load(options.out)).left_out:
                print(_features_text(found))
        return status
    if options.destroy or options.minutes:
        raise UserError("--destroy, --minutes: are of a device; nothing of a description is lost")
    _check_same_description(options.out, options.drive, options.guest)
    found = _probed(options)
    found.source |= {
        "name": options.drive.name,
        "set": options.set,
        "scheme": options.scheme or "baseline",
        "host": platform.machine(),
    }
    found.write(options.out)
    print(_features_text(found))
    print(f"\n{options.out}: {len(found.results)} steps")
    return 0


def _probed(options: argparse.Namespace) -> Probe:
    """A description's, by the replayer in seconds or by a guest's block device in minutes."""
    with tempfile.TemporaryDirectory(prefix="scarp-probe-") as scratch:
        keys, scheme = tuple(options.set), options.scheme or "baseline"
        drive = on_replayer.Replayed(ensure_replay(), options.drive, Path(scratch), keys, scheme)
        size = drive.logical_bytes()
        span = span_of(options.drive, size, options.mib)
        if not options.guest:
            return on_replayer.probe(
                drive, Plan(span, options.seed), size=size, held_out=options.held_out, say=_say
            )
    return on_guest.probe(
        on_guest.InGuest(options.drive, span // MIB, keys, scheme, options.seed, options.held_out)
    )


def _features_text(found: Probe) -> str:
    """What can be read off."""
    seen = features.read_off(found)
    times = " ".join(f"{one / 1000:.1f}" for one in seen.reads_ns)
    programs = " ".join(f"{one / 1000:.0f}" for one in seen.programs_ns)
    rows = [
        ("page", f"{seen.page} bytes"),
        ("mapping unit", f"{seen.unit} bytes" if seen.unit else "does not show"),
        ("stripe", f"{seen.stripe} bytes"),
        ("dies that work at once", str(seen.dies)),
        ("channels", str(seen.channels)),
        ("command without flash", f"{seen.base_ns / 1000:.1f} µs"),
        ("read of flash", f"{times} µs"),
        ("program", f"{programs} µs"),
        ("write buffer", f"about {seen.buffer / MIB:.1f} MiB" if seen.buffer else "none"),
        ("flush waits for data", "yes" if seen.flush_waits else "no"),
        ("reads suspend programs", "yes" if seen.suspends else "no"),
        ("reads go first", "yes" if seen.reads_first else "no"),
        (
            "mapping in RAM",
            f"of about {seen.map_cached / MIB:.0f} MiB" if seen.map_cached else "all",
        ),
    ]
    return "\n".join(f"{name:24}{value}" for name, value in rows)


# ---- scarp fit -----------------------------------------------------------------------------------


def fit_main(given: list[str]) -> int:
    """`scarp fit`; in an environment with SciPy."""
    options = fit_options(given)
    if options.check or options.beside:
        return _compare(options)
    out = options.out or Path("blind.json" if options.blind else "mydrive.ini")
    inputs = [options.input] if options.input else []
    _check_out("--out", out, *inputs)
    _check_ours("--out", out, BLIND if options.blind else FITTED)
    memory = out.with_suffix(".tried.jsonl")
    if not options.blind:
        _check_out("--out", memory, *inputs, out)
    if options.json:
        _check_out("--json", options.json, *inputs, out, memory)
        _check_ours("--json", options.json, FIT, COMPARED)
    # What needs SciPy.
    from scarplib.own_drive import blind, fit

    cores = options.cores or os.cpu_count() or 1
    search = fit.Search(options.seed, cores, 60 * options.minutes, None, _say)
    if options.blind:
        done = blind.trials(
            list(range(options.first, options.first + options.blind)),
            ensure_replay(),
            search,
            out,
            options.mib * MIB,
            print,
            options.guests,
        )
        print(blind.summary(done))
        return 0
    probe = load(options.input)
    search.memory = memory
    try:
        found = fit.fit(probe, ensure_replay(), search)
    except KeyboardInterrupt:
        if memory.exists():
            _say(f"{memory}: what was tried; the same command goes on with it")
        raise
    head = f"{FITTED[2:]} {options.input.name} by `scarp fit`; docs/your-drive.md."
    with whole_file.writing("--out", out) as stream:
        stream.write(found.model.text(head))
    if options.json:
        _write_json(options.json, found.json())
    print(_keys_text(found))
    print()
    _print(found.figures)
    print(f"\n{out}: {found.tried} candidates tried")
    if not fit.of_all(probe):
        part, whole = probe.span // MIB, probe.source["bytes"] // MIB
        print(
            f"{options.input.name} is of {part} of {whole} MiB: "
            "how the drive collects does not show, and blocks, spare and erases do not follow"
        )
    judged = [one for one in found.figures if one.bound is not None]
    held = sum(one.held for one in judged)
    if 2 * held < len(judged):
        print(
            f"this is not like the drive: {held} of {len(judged)} figures are within their bounds"
        )
    return 0


def _write_json(path: Path, found: dict[str, Any]) -> None:
    with whole_file.writing("--json", path) as stream:
        stream.write(json.dumps(found, indent=1) + "\n")


def _compare(options: argparse.Namespace) -> int:
    """--check and --beside."""
    if options.json:
        _check_out("--json", options.json, options.input, options.check or options.beside)
        _check_ours("--json", options.json, FIT, COMPARED)
    compared = _check(options) if options.check else _beside(options)
    if options.json:
        found = {"schema": "scarp-compared-1", "figures": figures.for_programs(compared)}
        _write_json(options.json, found)
    _print(compared, wide=options.beside is not None)
    return 0


def _keys_text(found: object) -> str:
    from scarplib.own_drive.fit import Fit

    assert isinstance(found, Fit)
    lines = [f"{'key':32}{'value':>22}  how"]
    for name, key in found.model.keys.items():
        how = key.how
        if key.interval:
            how += f", {key.interval[0]:,.0f} to {key.interval[1]:,.0f}"
        if key.note:
            how += f": {key.note}"
        lines.append(f"{name:32}{key.value:>22}  {how}")
    return "\n".join(lines)


def _check(options: argparse.Namespace) -> list[figures.Figure]:
    description, other, scheme = options.input, options.check, options.scheme
    probe = load(other)
    if _is_json(description):
        raise UserError(f"{description}: is JSON; --check takes a description (….ini) and a probe")
    with tempfile.TemporaryDirectory(prefix="scarp-check-") as scratch:
        drive = on_replayer.Replayed(ensure_replay(), description, Path(scratch), scheme=scheme)
        size = drive.logical_bytes()
        if size < probe.span:
            raise UserError(f"{description}: has {size} bytes; {other} is of {probe.span}")
        held_out = any(name.startswith("held-") for name in probe.results)
        found = on_replayer.probe(
            drive,
            Plan(probe.span, probe.seed),
            known=probe.known,
            size=size,
            held_out=held_out,
            say=_say,
        )
    return figures.compare(probe, found)


def _print(compared: list[figures.Figure], wide: bool = False) -> None:
    print(figures.table(compared))
    print()
    print(figures.verdict(compared, wide))


def _is_fios(table: Path) -> bool:
    """JSON, by its name or by how it begins; the rest is a table."""
    return table.suffix == ".json" or _is_json(table)


def _is_json(table: Path) -> bool:
    try:
        with table.open("rb") as stream:
            return stream.read(64).lstrip().startswith(b"{")
    except OSError as error:
        raise UserError(f"{table}: {error.strerror}") from error


def _beside(options: argparse.Namespace) -> list[figures.Figure]:
    compared: list[figures.Figure] = []
    table: Path = options.beside
    measured = fio_json.rows(table) if _is_fios(table) else cited.rows(table)
    begin = cited.Begin(options.age, bool(options.steady), options.seconds)
    if not any("long3" in row.file for row in measured):
        _say(begin.words())
    with tempfile.TemporaryDirectory(prefix="scarp-beside-") as scratch:
        runner = cited.Runner(
            ensure_replay(),
            options.input,
            Path(scratch),
            options.scheme,
            begin=begin,
        )
        for name, rows in cited.runs(measured).items():
            wanted = [row for row in rows if options.rows in ("all", row.use)]
            if wanted:
                _say(name)
                compared += cited.compare(wanted, runner.run(rows))
    return compared


def main() -> int:
    """The second half of `scarp fit`, where SciPy is."""
    try:
        status = fit_main(sys.argv[1:])
        sys.stdout.flush()
        return status
    except UserError as error:
        print(f"scarp: error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        # As cli.py and scripts/scarp say it, who are not above this one.  What the standard output
        # has not taken by now is not tried again.
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"scarp: error: {of_system(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("scarp: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
