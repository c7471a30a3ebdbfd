#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""libFuzzer: any bytes as what the scripts read of a guest and of a drive.

    scripts.py TARGET [libFuzzer's options] FOLDER
    scripts.py --seeds FOLDER       inputs to begin with, TARGET-NAME each
    scripts.py --list               the targets
    scripts.py --least TARGET FROM INTO
                                    copies few inputs that run through what all of them do

Each reader returns, or raises LogError or UserError with one line; nothing else, whatever the file.
The first byte of an input chooses the reader.  run.sh starts this, in an environment with atheris.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "scripts")]

# What makes inputs, or names targets, needs no atheris.
FUZZES = len(sys.argv) > 1 and not sys.argv[1].startswith("--")
if FUZZES:
    import atheris  # type: ignore[import-untyped]
# Whatever is imported now is counted: of the readers, and of what they read archives with.
with atheris.instrument_imports(include=["scarplib", "tarfile"]) if FUZZES else nullcontext():
    import synthetic
    from scarplib.device_logs import as_csv, engine_tables, log_page
    from scarplib.device_logs.command_log import LAYOUT, read_commands
    from scarplib.device_logs.gc_log import read_gc_runs
    from scarplib.device_logs.lateness_log import completions
    from scarplib.device_logs.log_file import HEADER, LogError
    from scarplib.drive import timeline
    from scarplib.errors import UserError
    from scarplib.guest import block_trace as guest_trace
    from scarplib.guest import shipped, vm
    from scarplib.own_drive import cited, fio_json, probe_file
    from scarplib.powercut import fio_durable, promises, record, recording
    from scarplib.results import (
        block_trace,
        drives,
        file_system,
        fio,
        fio_figures,
        guest_drive_join,
        lateness,
        replayed,
        script,
        summary,
        table,
    )

WORK = Path(tempfile.mkdtemp(prefix="fuzz-scripts-"))
FILE = WORK / "file"


@contextmanager
def one_line() -> Iterator[None]:
    """What may be raised, and what it says: a line that steers no terminal."""
    try:
        yield
    except (LogError, UserError) as error:
        assert str(error) and str(error).isprintable(), f"not one line: {str(error)!r}"


def choose(data: bytes, readers: tuple[Callable[[bytes], object], ...]) -> None:
    """The reader that the first byte names, on the rest."""
    if data:
        with one_line():
            readers[data[0] % len(readers)](data[1:])


def written(data: bytes) -> Path:
    FILE.write_bytes(data)
    return FILE


# ---- logs of the drive ---------------------------------------------------------------------------


def as_rows(data: bytes) -> None:
    as_csv.write(written(data), io.StringIO())


def as_slowest(data: bytes) -> None:
    as_csv.write(written(data), io.StringIO(), as_csv.Picks(slowest=3))


def logs(data: bytes) -> None:
    choose(
        data,
        (
            as_rows,
            as_slowest,
            lambda rest: read_commands(written(rest)),
            lambda rest: read_commands(written(rest), 5, 1 << 40, unseen=True),
            lambda rest: read_gc_runs(written(rest)),
            lambda rest: lateness.shares(written(rest), -(1 << 63), 1 << 63),
            lambda rest: list(completions(written(rest))),
            lambda rest: lateness.of_page(log_page.read(written(rest)).realtime),
        ),
    )


# ---- text of the guest ---------------------------------------------------------------------------


def of_fio(data: bytes) -> None:
    found = fio.load_fio(written(data))
    fio_figures.written_bytes(found)
    fio_figures.summed_up(found)
    for direction in fio.DIRECTIONS:
        fio_figures.share_later(found, direction, 1000)


def of_own_fio(data: bytes) -> None:
    for row in fio_json.rows(written(data)):
        assert row.file.isprintable(), repr(row.file)


def of_replay(data: bytes) -> None:
    """scarp-replay's JSON is the drive's own, but it lies in a folder of the user's."""
    folder = WORK / "replay"
    folder.mkdir(exist_ok=True)
    (folder / "replay.json").write_bytes(data)
    for name in ("cmd.bin", "gc.bin"):
        if not (folder / name).exists():
            shutil.copy(good() / name, folder / name)
    replayed.load(folder, "x")


def of_recording(data: bytes) -> None:
    recording, _, lost = data.partition(b"\0")
    folder = WORK / "blk"
    folder.mkdir(exist_ok=True)
    (folder / guest_trace.FILE).write_bytes(recording)
    (folder / guest_trace.LOST).write_bytes(lost)
    trace = block_trace.read(folder)
    assert trace
    joined = guest_drive_join.join(trace, read_commands(good() / "cmd.bin"))
    json.dumps(guest_drive_join.summary(joined), allow_nan=False)


def no_writes() -> fio_durable.Durable:
    """Of a run that had no job."""
    return fio_durable.Durable("", good() / "cmd.bin", 0, volatile=True)


def of_requests(data: bytes) -> None:
    """fio's log of latencies, of which a guest may leave any number."""
    folder = WORK / "requests"
    folder.mkdir(exist_ok=True)
    (folder / "lat_lat.1.log").write_bytes(data)
    drives.requests(folder)


def of_recorded(data: bytes) -> None:
    folder = WORK / "recorded"
    folder.mkdir(exist_ok=True)
    (folder / recording.FILE).write_bytes(data)
    recording.read(folder)


def of_a_script(data: bytes) -> None:
    """What it handed to write(), in two files that it may have written itself."""
    folder = WORK / "script"
    folder.mkdir(exist_ok=True)
    begin, _, end = data.partition(b"\0")
    (folder / "written-begin").write_bytes(begin)
    (folder / "written-end").write_bytes(end)
    stats = {"write_bytes": 1 << 40, "deallocates": 3, "deallocated_units": 5}
    found = file_system.figures("ext4", {"script": {}, "stats": stats}, folder, 4096)
    json.dumps(found, allow_nan=False)
    file_system.rows([{"file_system": found}])


def of_a_recorded_run(data: bytes) -> None:
    """The drive's counters at the workload's ends, if they are there at all."""
    folder = WORK / "ran"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if data:
        (folder / "stats-begin.bin").write_bytes((good() / "stats-begin.bin").read_bytes())
        (folder / "stats-done.bin").write_bytes(data)
    record.ran(folder)


def of_a_console(data: bytes) -> None:
    """Nothing of it steers the terminal that it is shown on."""
    console = vm.Console(written(data))
    for text in (console.tail(), console.end() or ""):
        assert all(c.isprintable() or c == "\n" for c in text), repr(text)


def texts(data: bytes) -> None:
    choose(
        data,
        (
            of_fio,
            of_recording,
            lambda rest: script.operations(written(rest)),
            of_own_fio,
            of_replay,
            of_requests,
            lambda rest: promises.read(written(rest)).before(1 << 40),
            lambda rest: fio_durable.check_counts(no_writes(), written(rest)),
            of_recorded,
            of_a_script,
            of_a_recorded_run,
            of_a_console,
        ),
    )


# ---- what somebody else gives --------------------------------------------------------------------


def of_figures(data: bytes) -> None:
    """A table of measurements, for `scarp fit`."""
    for row in cited.rows(written(data)):
        assert row.file.isprintable() and row.name.isprintable(), repr(row)


def of_a_probe(data: bytes) -> None:
    probe_file.load(written(data))


def of_a_summary(data: bytes) -> None:
    """Of a run's folder, for `scarp timeline`: options that write nothing."""
    folder = WORK / "given" / "baseline"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cmd.bin").touch()
    (folder.parent / "summary.json").write_bytes(data)
    for name, value in timeline.beginning(folder).options:
        assert name in {"image", "description", "seed", "params", "override"}, name
        assert isinstance(value, str), repr(value)


def given(data: bytes) -> None:
    choose(data, (of_figures, of_a_probe, of_a_summary))


# ---- the guest's archive -------------------------------------------------------------------------


def unlike(folder: str) -> Iterator[str]:
    """What below a folder is neither a regular file nor a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from unlike(entry.path)
            elif not entry.is_file(follow_symlinks=False):
                yield entry.path


def archive(data: bytes) -> None:
    """Nothing is left but regular files and folders below the folder."""
    outside = WORK / "outside"
    outside.mkdir(exist_ok=True)
    folder = outside / "results"
    said = shipped.unpack(data, folder)
    assert said is None or (said and said.isprintable()), repr(said)
    assert not (found := list(unlike(str(folder)))), found
    assert list(outside.iterdir()) == [folder]
    kept = outside / "kept"
    kept.mkdir()
    shipped.keep(folder, kept)
    shutil.rmtree(outside)


# ---- a whole folder ------------------------------------------------------------------------------


def good() -> Path:
    """A guest's folder as it should be, made once."""
    folder = WORK / "good"
    if not folder.exists():
        synthetic.write_scheme(folder, "baseline", count=8)
        (folder / "script.log.off").write_text("it said nothing\n")
        (folder / "stats-done.bin").write_bytes((folder / "stats-end.bin").read_bytes())
        (folder / "files").mkdir()
        (folder / script.LATENCIES).write_text("read 12\nwrite 5 3\n")
    return folder


NAMES = (
    *("cmd.bin", "gc.bin", "stats-begin.bin", "stats-end.bin", "stats-done.bin", "fio.json"),
    *("files/latencies", "script.log.off"),
)


def repaired(rows: bytearray) -> bytes:
    """With latencies that are the sums of their causes: else no row would get far."""
    size = LAYOUT.row.size
    for at in range(HEADER.size, len(rows) - size + 1, size):
        fields = list(LAYOUT.row.unpack_from(rows, at))
        fields[1] = fields[0] + sum(fields[len(LAYOUT.columns) :])
        if -(1 << 63) <= fields[1] < 1 << 63:
            LAYOUT.row.pack_into(rows, at, *fields)
    return bytes(rows)


GOOD: dict[str, bytes] = {}
"""What each file of a good folder says."""
ON_DISK: dict[str, bytes] = {}
"""What the edited folder holds: writing all of it was most of an execution."""


def lay_out(folder: Path, wanted: dict[str, bytes]) -> None:
    for name in ON_DISK.keys() - wanted.keys():
        (folder / name).unlink()
        del ON_DISK[name]
    for name, text in wanted.items():
        if ON_DISK.get(name) is not text:
            if name not in ON_DISK:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("wb", buffering=0) as stream:
                stream.write(text)
            ON_DISK[name] = text


def run(data: bytes) -> None:
    """Edits of five bytes: which file, where (16 bits), which kind of edit, and its value."""
    folder = WORK / "run"
    if not GOOD:
        GOOD.update({name: (good() / name).read_bytes() for name in NAMES})
    files = dict(GOOD)
    for at in range(0, len(data) - 4, 5):
        number, where, kind, value = struct.unpack_from("<BHBB", data, at)
        name = NAMES[number % len(NAMES)]
        if name not in files:
            continue
        text = bytearray(files[name])
        where %= max(len(text), 1)
        if kind % 5 == 0:
            text[where : where + 1] = bytes([value])
        elif kind % 5 == 1:
            text[where : where + 8] = struct.pack("<q", value - 128)
        elif kind % 5 == 2:
            del text[where : where + value]
        elif kind % 5 == 3:
            text[where:where] = text[: value + 1]
        elif name.endswith(".off"):
            # With it, it is a script's run.
            files[name.removesuffix(".off")] = files.pop(name)
            continue
        files[name] = repaired(text) if name == "cmd.bin" else bytes(text)
    lay_out(folder, files)
    with one_line():
        found = summary.load_scheme(folder, "x")
        json.dumps(found.summary, allow_nan=False)
        shown = table.columns(["x"], table.table_rows({"x": found.summary}))
        assert all(line.isprintable() for line in shown.split("\n")), repr(shown)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "scripts-archive": archive,
    "scripts-given": given,
    "scripts-logs": logs,
    "scripts-run": run,
    "scripts-texts": texts,
}


def seeds(folder: Path) -> None:
    def put(target: str, name: str, data: bytes) -> None:
        (folder / f"scripts-{target}-{name}").write_bytes(data)

    from test_block_trace import RECORDING
    from test_powercut import a_recording
    from test_shipped import archive as tar
    from test_shipped import member

    few = synthetic_folder(WORK / "few")
    a_recording(few).write()
    for number, name in ((0, "cmd"), (1, "gc"), (2, "cmd"), (3, "cmd"), (4, "gc")):
        put("logs", f"{name}-{number}", bytes([number]) + (few / f"{name}.bin").read_bytes())
    flash = struct.pack("<8sII16x", b"SCARPFL1", 16, 0) + struct.pack("<4I", 3, 3, 500, 7)
    put("logs", "flash-0", b"\0" + flash + b"\xff" * 16)
    put("logs", "flash-1", b"\1" + flash)
    late = struct.pack("<8sII16x", b"SCARPRT1", 48, 0) + struct.pack(
        "<5qIBBH", 10, 40, 12, 38, 99, 0, 1, 0, 0
    )
    put("logs", "late-5", b"\5" + late)
    put("logs", "late-6", b"\6" + late)
    put("logs", "page", b"\7" + (few / "stats-end.bin").read_bytes())
    page = bytearray((few / "stats-end.bin").read_bytes())
    page += bytes(8 * len(engine_tables.realtime_statistics()))
    struct.pack_into("<I", page, 12, (len(page) - 64) // 8)
    put("logs", "page-realtime", b"\7" + bytes(page))
    put("texts", "fio", b"\0" + (few / "fio.json").read_bytes())
    put("texts", "recording", b"\1" + RECORDING.encode() + b"\0cpu0: 3\n")
    put("texts", "latencies", b"\2read 12\nwrite 5 3\n")
    job = {
        "job options": {"rw": "randread", "bs": "4k,8k", "iodepth": "4", "rate": "1m"},
        "read": {
            "total_ios": 5,
            "iops": 3.5,
            "bw": 14,
            "lat_ns": {"mean": 3.5, "percentile": {"50.000000": 3, "99.000000": 9}},
        },
        "write": {"total_ios": 0},
    }
    put("texts", "own-fio", b"\3" + json.dumps({"global options": {}, "jobs": [job]}).encode())
    put("texts", "replay", b"\4" + json.dumps(of_a_replay()).encode())
    put("texts", "requests", b"\5" + b"3, 4000, 0, 4096, 0\n4, 5000, 1, 4096, 0\n")
    put("texts", "promises", b"\6" + b"100 a 1\n300 c\n200 b\n")
    put("texts", "durable", b"\7" + json.dumps({"jobs": [job | {"jobname": "a"}]}).encode())
    put("texts", "recorded", b"\10" + (few / recording.FILE).read_bytes())
    put("texts", "script", b"\11" + b"5\n\00012\n")
    put("texts", "ran", b"\12" + (few / "stats-end.bin").read_bytes())
    put("texts", "console", b"\13\x1b[1mx\x1b]0;t\x07y\r\nscarp: end status 0\r\n")
    figures = ["a", "held", "randread", "4k", "8", "1", "0", "100", "400", "9", "5", "6", "7"]
    rows = "\n".join(map(",".join, (cited.COLUMNS, figures)))
    put("given", "figures", b"\0" + rows.encode())
    probe = {"schema": probe_file.SCHEMA, "source": {"bytes": 9}, "span": 1 << 25, "seed": 1}
    probe |= {"known": None, "results": {}, "left_out": []}
    put("given", "probe", b"\1" + json.dumps(probe).encode())
    began = [["seed", "1"], ["override", "gc.trigger_free_blocks=1"]]
    of_a_run = {"schemes": {"baseline": {}}, "columns": {"baseline": "gc-z:a=5"}, "start": began}
    put("given", "summary", b"\2" + json.dumps(of_a_run).encode())
    put("archive", "good", tar(member("./fio.json", b"{}"), member("files/a", b"b")))
    put("archive", "links", tar(member("a", type=b"2", linkname="/etc"), member("../b", b"c")))
    for number in range(len(NAMES)):
        put("run", str(number), struct.pack("<BHBB", number, 30, number, 3) * 2)
    put("run", "script", struct.pack("<BHBB", 7, 0, 4, 0))


def synthetic_folder(folder: Path) -> Path:
    synthetic.write_scheme(folder, "baseline", count=4)
    with (folder / "gc.bin").open("ab") as stream:
        stream.write(struct.pack("<qqIIII", 5, 9, 1, 1, 7, 3) * 2)
    return folder


def of_a_replay() -> dict[str, object]:
    points = {f"p{p.replace('.', '_')}_ns": 5 for p in ("50", "99", "99.9", "99.99")}
    tail = {"n": 1, "at_least_ns": 4, "cause_ns": {"array": 7}}
    latency = {"n": 3, "mean_ns": 4, "max_ns": 9, "slowest_0_1_percent": tail, **points}
    names = ("host_written_units", "gc_moved_units", "premigrated_units", "padded_units")
    stats: dict[str, object] = dict.fromkeys((*names, "gc_runs", "gc_page_programs"), 3)
    stats |= {"read_latency": latency, "write_latency": latency}
    return {"scheme": "baseline", "stats": stats, "drive_ns": 9, "wall_s": 1.5, "measured": 4}


def reached(target: Callable[[bytes], None], data: bytes) -> set[tuple[object, int, int]]:
    """Pairs of the scripts' instructions, one after the other, that an input runs through."""
    pairs: set[tuple[object, int, int]] = set()

    def enter(frame: FrameType, _event: str, _arg: object) -> Any:
        code, before = frame.f_code, -1
        if "scarplib" not in code.co_filename and "tarfile" not in code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False

        def step(frame: FrameType, event: str, _arg: object) -> Any:
            nonlocal before
            if event == "opcode":
                pairs.add((code, before, frame.f_lasti))
                before = frame.f_lasti
            return step

        return step

    sys.settrace(enter)
    try:
        target(data)
    finally:
        sys.settrace(None)
    return pairs


def least(target: Callable[[bytes], None], source: Path, into: Path) -> None:
    """Smallest first, each that brings something: what libFuzzer's merge does for other targets."""
    seen: set[tuple[object, int, int]] = set()
    # What only the first one runs through.
    target(b"")
    for path in sorted(source.iterdir(), key=lambda path: (path.stat().st_size, path.name)):
        data = path.read_bytes()[:4096]
        if new := reached(target, data) - seen:
            seen |= new
            (into / path.name).write_bytes(data)


def main() -> int:
    if sys.argv[1:] == ["--list"]:
        print(" ".join(TARGETS))
        return 0
    if sys.argv[1:2] == ["--seeds"] and len(sys.argv) == 3:
        seeds(Path(sys.argv[2]))
        return 0
    if len(sys.argv) == 5 and sys.argv[1] == "--least" and sys.argv[2] in TARGETS:
        least(TARGETS[sys.argv[2]], Path(sys.argv[3]), Path(sys.argv[4]))
        return 0
    if len(sys.argv) < 2 or sys.argv[1] not in TARGETS:
        print(
            f"scripts.py: --seeds FOLDER, --list, --least, or one of {' '.join(TARGETS)}",
            file=sys.stderr,
        )
        return 2
    target = TARGETS[sys.argv[1]]
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
