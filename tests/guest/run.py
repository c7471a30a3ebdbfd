# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests under test: the suite under each scheme, a broken mapping, and guests that end badly.

Each guest is one test with its own subtests (KTAP).  As many run at a time as there are cores,
and one more, but at most four.
With SCARP_TEST_ALL=1 in the environment (`make test-guest-long`) also those of LONG, all subtests,
and the prompt on xfs, btrfs and f2fs, which cost a download of Debian's full kernel.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

import file_systems  # noqa: E402
import power_cuts  # noqa: E402
import probes  # noqa: E402
import slc_fill  # noqa: E402
import timeline  # noqa: E402
import user_guest  # noqa: E402
from scarplib import scheme_text  # noqa: E402
from scarplib.build import replayer  # noqa: E402
from scarplib.build.array import ensure_simulator  # noqa: E402
from scarplib.build.kselftest import SELFTESTS, ensure_kselftest  # noqa: E402
from scarplib.build.qemu import VARIANTS, ensure_qemu  # noqa: E402
from scarplib.device_logs import command_log, gc_log  # noqa: E402
from scarplib.drive import age  # noqa: E402
from scarplib.drive.controller import HostView  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest import vm  # noqa: E402
from scarplib.guest.image import ensure_image, ensure_modules  # noqa: E402
from scarplib.guest.programs import (  # noqa: E402
    NoFioSources,
    ensure_program,
    ensure_programs,
)
from scarplib.own_drive import on_guest  # noqa: E402
from scarplib.runs import determinism  # noqa: E402

DEVICE = ROOT / "devices" / "demo.ini"
# About 53 MiB for the host.
SMALL = "geometry.blocks_per_plane=20,ftl.over_provisioning_permille=500"
# Half of that, for ten overwrites with verification.
HALF = f"{SMALL},geometry.pages_per_block=64"
# For the schemes in turn: two planes a die and programs that are suspended; and pages of four
# units behind a write buffer.  16 MiB each, half of it for the host.
TURNS = (
    "geometry.planes_per_die=2,geometry.blocks_per_plane=16,geometry.pages_per_block=16,"
    "ftl.over_provisioning_permille=1000,nand.multiplane=1,nand.suspend_program=1,"
    "nand.suspend_erase=1"
)
PACKED = (
    "geometry.blocks_per_plane=16,geometry.pages_per_block=8,geometry.page_bytes=16384,"
    "ftl.unit_bytes=4096,ftl.over_provisioning_permille=1000,controller.buffer_bytes=262144"
)
# And for those that need parity: 24 MiB, a quarter of which is parity.  What the first drive
# takes, too, comes to this one without suspension.
STRIPED = (
    f"{TURNS},geometry.blocks_per_plane=24,ftl.parity_width=4,ftl.parity_stripes=32,"
    "nand.suspend_program=0,nand.suspend_erase=0"
)
# For the mappings: 12 MiB, two thirds of it for the host, and log blocks of 16 pages; room in RAM
# for a part of the entries.
MAPPED = (
    "geometry.blocks_per_plane=24,geometry.pages_per_block=16,ftl.over_provisioning_permille=500"
)
MAPPINGS = {
    "page": "",
    "demand": ",ftl.map_cache_bytes=2048",
    "block": "",
    "superblock": "",
    "fast": "",
}
HALVES = HostView(sizes=(4 << 20, 0))
# One for each way in which collections differ, but for hios-2, which has them wait for slack.
COMBINATIONS = ("gc-vic+pgc", "pregc+gftl", "paragc+pregc", "dynamic+gc-z+pgc", "ttflash+pregc")
SCHEMES = ("baseline", "ideal")
BROKEN = "a broken mapping is caught by fio --verify"
SHELLS = ("ext4", "xfs", "btrfs", "f2fs")
ALL = bool(os.environ.get("SCARP_TEST_ALL"))

# How often a whole drive is overwritten and verified.
SUITE_OVERWRITES, MAPPING_OVERWRITES = ("10", "10") if ALL else ("3", "2")

# What must end and has not after so many seconds hangs.  No guest is meant: those have limits in
# processor time.
HANG_S = 1200

Outcome = tuple[bool, str]


# `make run_tests` in a kernel's source runs these, too.
COLLECTION = HERE / "scarp"

# The build under test, where a test does not need one of its own.
build = ""
# Guests may use so many times more processor time.
patience = 1


def _run(name: str, task: str, variant: str = "", **options: Any) -> vm.GuestResult:
    out = ROOT / "out" / "test-guest" / name
    shutil.rmtree(out, ignore_errors=True)
    files = {**options.pop("files", {}), **{path.name: path for path in HERE.glob("*.sh")}}
    files |= {f"scarp/{path.name}": path for path in COLLECTION.iterdir() if path.is_file()}
    kselftest = ensure_kselftest() / SELFTESTS / "kselftest"
    files |= {f"kselftest/{path.name}": path for path in kselftest.iterdir()}
    settings: dict[str, Any] = {
        "drives": [vm.FlashDrive(description=DEVICE, overrides=SMALL)],
        "cpu_limit": 200,
        **options,
    }
    settings["cpu_limit"] = settings["cpu_limit"] * patience
    return vm.run_guest(
        vm.GuestRun(
            qemu=ensure_qemu(variant or build),
            image=ensure_image(tests=True),
            # Its scripts leave out the same.
            task=f"export SCARP_TEST_ALL={'1' if ALL else ''}\n{task}",
            files=files,
            out=out,
            **settings,
        )
    )


def _console(result: vm.GuestResult) -> str:
    return "".join(f"# {line}\n" for line in result.console_tail.splitlines()[-25:])


def _program(name: str, **variables: str) -> str:
    """The guest's lines that run one of the collection's, with the kernel's own runner."""
    exported = " ".join(f"{key}='{value}'" for key, value in variables.items())
    return (
        f"export SCARP_PROGRESS=/dev/console {exported}\n"
        "cd /scarp/scarp && BASE_DIR=/scarp && . /scarp/kselftest/runner.sh || exit 1\n"
        f"logfile=/results/ktap\nrun_many {name} >>/results/ktap\n"
    )


def _ktap(result: vm.GuestResult, wanted: Iterable[str] = ()) -> Outcome:
    """What such a program said: the runner comments its lines out, and adds its own verdict.

    `wanted`: what the names of tests end with that must have passed, once each; nothing may be
    skipped.
    """
    if result.reason != "ok" or not result.results:
        return False, f"not ok 1 the guest: {result.reason}\n{_console(result)}"
    said = (result.results / "ktap").read_text()
    good = re.search(r"^ok 1 selftests: scarp: \S+$", said, re.MULTILINE) is not None
    lines = [line[2:] for line in said.splitlines() if line.startswith("# ")]
    text = "".join(f"{line}\n" for line in lines if re.match(r"(not )?ok |1\.\.|#", line))
    text += "" if good else "".join(f"# {line}\n" for line in said.splitlines()[-5:])
    passed = re.findall(r"^ok \d+ (.*?) *$", text, re.MULTILINE)
    others = [name for name in wanted if sum(x.endswith(name) for x in passed) != 1]
    text += f"# not passed once: {', '.join(others)}\n" if others else ""
    return good and not others and "not ok" not in text and "# SKIP" not in text, text


def _plain_ktap(result: vm.GuestResult) -> Outcome:
    """What a program outside the collection said: all that it planned must have passed."""
    if result.reason != "ok" or not result.results:
        return False, f"not ok 1 the guest: {result.reason}\n{_console(result)}"
    text = (result.results / "ktap").read_text()
    plans = re.findall(r"^1\.\.(\d+)$", text, re.MULTILINE)
    passed = len(re.findall(r"^ok \d+ ", text, re.MULTILINE))
    return passed > 0 and plans == [str(passed)], text


def suite(scheme: str) -> Outcome:
    progress = ROOT / "out" / "test-guest" / f"{scheme}.progress"
    progress.parent.mkdir(parents=True, exist_ok=True)
    placed = progress.with_suffix(".cmd")
    result = _run(
        scheme,
        _program("suite.sh", SCARP_OVERWRITES=SUITE_OVERWRITES),
        drives=[
            vm.FlashDrive(description=DEVICE, scheme=scheme, overrides=HALF, progress=progress),
            vm.FlashDrive(
                description=DEVICE,
                scheme=scheme,
                overrides="ftl.streams=2",
                view=HostView(handles=2),
                cmd_log=placed,
            ),
        ],
        memory_mib=512,
        cpu_limit=900,
    )
    good, text = _ktap(result)
    if not result.results:
        return good, text
    now_ns, commands, gc_runs = struct.unpack("<3Q", progress.read_bytes()[:24])
    # Its last word is the drive's last event, not where a clock without vCPUs has skipped to.
    good = good and 0 < now_ns < 3600 * 10**9 and commands > 0 and gc_runs > 0
    text += f"# progress: {now_ns} ns, {commands} commands, {gc_runs} runs of GC\n"
    # What the suite wrote with a handle; all else came from the kernel, which names none.
    log = command_log.read_commands(placed)
    written = [log.length[i] for i in log.indices(1) if log.stream[i] == 1]
    good = good and written == [4096] * 257 and set(log.stream) == {0, 1}
    text += f"# {len(written)} of {len(log)} commands with the second handle\n"
    return good, text


# 20 MiB each, which are aged: an overwrite of all, with verification, is quick and collects.
TINY = f"{SMALL},geometry.pages_per_block=32"


class Skipped(Exception):
    """What a test needs and this machine has not."""


def _array(
    name: str, task: str, more: dict[str, Path], large: int, cpu_limit: int = 900
) -> Outcome:
    """The SSD array as a block device of the guest's, on three small drives and some large ones."""
    small = [vm.FlashDrive(description=DEVICE, overrides=TINY, seed=n, age=900) for n in (1, 2, 3)]
    result = _run(
        name,
        task,
        drives=[*small, *(vm.FlashDrive(description=DEVICE, seed=4 + n) for n in range(large))],
        files={**ensure_programs(ensure_image(tests=True)), **ensure_modules("ublk_drv"), **more},
        memory_mib=512,
        cpu_limit=cpu_limit,
    )
    return _plain_ktap(result)


def array() -> Outcome:
    good, text = _array("array", "sh /scarp/array.sh\n", {}, large=3)
    again, said = _replayed(ROOT / "out" / "test-guest" / "array" / "results" / "record")
    return good and again, text + said


def _replayed(record: Path) -> Outcome:
    """A core on simulated drives is asked what the guest's was, and must decide the same."""
    command = [str(ensure_simulator()), "-d", str(DEVICE), "--replay"]
    command += [str(record), *(word for key in TINY.split(",") for word in ("-o", key))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # One line of JSON, or one of an error.
    said = "".join(f"# {line}\n" for line in (done.stdout + done.stderr).splitlines())
    good = done.returncode == 0
    made = json.loads(done.stdout) if good else {}
    good = good and made["ios"] > 4000 and made["gc_runs"] > 0 and made["array"]["written_low"] > 0
    what = "the same decisions" if good else "NOT what it should be"
    return good, f"# replayed on simulated drives: {what}\n{said}"


def array_fio() -> Outcome:
    try:
        engine = ensure_programs(ensure_image(tests=True), fio_engine=True)
    except NoFioSources as error:
        raise Skipped(str(error)) from error
    return _array("array-fio", "sh /scarp/array_fio.sh\n", engine, large=0)


def _number(name: str, usual: str) -> str:
    text = os.environ.get(name, usual)
    if not text.isdecimal() or not 1 <= int(text) <= 100_000:
        raise UserError(f"{name}={text}: must be a whole number from 1 to 100000")
    return text


def array_kills() -> Outcome:
    kills, seed = _number("SCARP_KILLS", "10"), _number("SCARP_SEED", "1")
    task = f"export SCARP_KILLS={kills} SCARP_SEED={seed}\nsh /scarp/array_kills.sh\n"
    versions = ensure_program(ROOT / "tests" / "array" / "versions.c")
    # A kill and its check take about three seconds of it.
    return _array("array-kills", task, versions, large=0, cpu_limit=300 + 12 * int(kills))


def every_scheme() -> Outcome:
    """One boot: the schemes take turns on running drives of two namespaces each."""
    names = [*COMBINATIONS, "hios-2"]
    if ALL:
        # One choice makes no sense alone, and is refused.
        alone = {"read-match": "gc-par+read-match"}
        every = (alone.get(name, name) for name in replayer.scheme_names())
        names = [*every, *COMBINATIONS]
    # On each drive that takes it, or on one drive, which is the next one for the next scheme.
    once = "" if ALL else "1"
    result = _run(
        "schemes",
        _program("schemes.sh", SCARP_SCHEMES=" ".join(names), SCARP_ONCE=once),
        drives=[
            # Aged, so that the first scheme has to collect, too.
            vm.FlashDrive(description=DEVICE, overrides=TURNS, view=HALVES, age=900),
            vm.FlashDrive(
                description=DEVICE,
                scheme="dynamic",
                overrides=PACKED,
                view=HALVES,
                age=900,
            ),
            vm.FlashDrive(description=DEVICE, overrides=STRIPED, view=HALVES, age=900),
        ],
        cpu_limit=1200,
    )
    return _ktap(result, [f" under {name}" for name in names])


def every_mapping() -> Outcome:
    """One boot: a drive for each mapping, and fio's data through its merges."""
    # Every other guest's drive has the page mapping.
    mappings = {name: keys for name, keys in MAPPINGS.items() if ALL or name != "page"}
    result = _run(
        "mappings",
        _program(
            "mappings.sh",
            SCARP_MAPPINGS=" ".join(mappings),
            SCARP_OVERWRITES=MAPPING_OVERWRITES,
        ),
        drives=[
            vm.FlashDrive(description=DEVICE, overrides=f"{MAPPED},ftl.mapping={name}{keys}")
            for name, keys in mappings.items()
        ],
        cpu_limit=900,
    )
    return _ktap(result, [f"ftl.mapping={name}" for name in mappings])


def in_use() -> Outcome:
    """The collection on drives that somebody uses: it is skipped, and writes nothing."""
    drives = [vm.FlashDrive(description=DEVICE, overrides=TURNS, view=HALVES)] * 2
    return _plain_ktap(_run("in-use", "sh /scarp/in_use.sh\n", drives=drives))


def kernel_tree() -> Outcome:
    """The collection dropped into a kernel's source: without a drive its programs are skipped."""
    tree = _fresh("kernel-tree") / "linux"
    shutil.copytree(ensure_kselftest(), tree)
    shutil.copytree(COLLECTION, tree / SELFTESTS / "scarp")
    done = subprocess.run(
        ["make", "-C", str(tree / SELFTESTS), "TARGETS=scarp", "run_tests"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={k: v for k, v in os.environ.items() if not k.startswith(("SCARP_", "MAKE"))},
    )
    programs = sorted(path.name for path in COLLECTION.glob("*.sh") if path.name != "common.sh")
    skipped = re.findall(r"^ok \d selftests: scarp: (\S+) # SKIP$", done.stdout, re.MULTILINE)
    why = re.findall(r"^# 1\.\.0 # SKIP (\S.+)$", done.stdout, re.MULTILINE)
    good = done.returncode == 0 and sorted(skipped) == programs and len(why) == len(programs)
    return good, "".join(f"# {line}\n" for line in done.stdout.splitlines()[-20:])


def device() -> Outcome:
    """What the kernel and nvme-cli see of a worn drive, and reads that are wanted soon."""
    log = ROOT / "out" / "test-guest" / "device.cmd"
    log.parent.mkdir(parents=True, exist_ok=True)
    # Ageing alone uses its spare blocks up.
    worn = (
        "geometry.blocks_per_plane=24,ftl.over_provisioning_permille=800,nand.endurance_erases=2,"
        "controller.slots=8,controller.deadline_low_us=3000"
    )
    result = _run(
        "device",
        "sh /scarp/device.sh\n",
        files=ensure_program(ROOT / "guest" / "passthrough" / "scarp-reads.c"),
        drives=[
            vm.FlashDrive(
                description=DEVICE, scheme="hios-2", overrides=worn, age=900, cmd_log=log
            ),
            vm.FlashDrive(
                description=DEVICE,
                overrides=f"{PACKED},geometry.planes_per_die=2,nand.multiplane=1",
            ),
        ],
        cpu_limit=400,
    )
    passed, text = _plain_ktap(result)
    if not passed or not result.results:
        return False, text
    for name in ("limits", "reads"):
        text += f"# {(result.results / name).read_text().strip()}\n"
    said = json.loads((result.results / "reads").read_text())
    # As many as the program sent, each with the deadline of its class; no other command has one.
    commands = command_log.read_commands(log)
    deadlines = Counter(zip(commands.op, commands.deadline, strict=True))
    wanted = deadlines.pop((command_log.READ, 3_000_000), 0)
    good = wanted == said["low"]["n"] > 0 and all(not deadline for _, deadline in deadlines)
    return good, f"{text}# {wanted} with a deadline, others {deadlines}\n"


def media() -> Outcome:
    """Self-test, LBA status, Sanitize, telemetry and persistent events, as nvme-cli has them."""
    drives = [vm.FlashDrive(description=DEVICE, age=900)]
    return _plain_ktap(_run("media", "sh /scarp/media.sh\n", drives=drives, cpu_limit=400))


def power(clock: str | None = None) -> Outcome:
    """The power of two drives fails under the kernel, again and again."""
    cuts = "geometry.blocks_per_plane=20,ftl.over_provisioning_permille=800,nand.power_cuts=1"
    buffer = "controller.buffer_bytes=1048576"
    slow = "timing.program_ns=20000000,timing.read_ns=1500000"
    drives = (
        f"{cuts},ftl.recovery=2,{buffer},{slow}",
        f"{cuts},ftl.recovery=1,{buffer},controller.plp_bytes=1048576",
    )
    result = _run(
        f"power-{clock or 'virtual'}",
        f"export SCARP_REALTIME={clock or ''}\nsh /scarp/power.sh\n",
        drives=[
            vm.FlashDrive(description=DEVICE, overrides=overrides, clock=clock)
            for overrides in drives
        ],
        icount=not clock,
        cpu_limit=600,
    )
    return _plain_ktap(result)


def probed_devices(measured: bool) -> Outcome:
    """What `scarp probe` refuses; measured: it probes QEMU's own nvme and a loop device, too."""
    guest = on_guest.user()
    disk = _fresh(f"probed-devices{'-measured' if measured else ''}") / "disk.raw"
    with disk.open("wb") as stream:
        stream.truncate(40 << 20)
    stock = ["-drive", f"if=none,id=stock,format=raw,file={disk}"]
    result = _run(
        f"probe-devices{'-measured' if measured else ''}",
        "\n".join(
            [
                "set -e",
                *guest.setup(),
                f"export SCARP_MEASURED={'1' if measured else ''}",
                "sh /scarp/probe.sh",
                "",
            ]
        ),
        files=guest.content(),
        drives=[vm.FlashDrive(description=DEVICE, overrides=SMALL, clock="realtime")],
        extra_args=[*stock, "-device", "nvme,drive=stock,serial=scarp1"],
        # A disk of the host's takes its time, of which virtual time knows nothing.
        icount=False,
        memory_mib=guest.memory_mib,
        cpu_limit=900,
    )
    return _plain_ktap(result)


def broken_mapping() -> Outcome:
    """An engine that stores some units under another LPN: fio must say so."""
    task = (
        "fio --name=verify --filename=$SCARP_DEV --direct=1 --ioengine=io_uring --iodepth=16 "
        "--thread --rw=randwrite --bs=4k --size=16m --verify=crc32c --verify_fatal=1 "
        "--do_verify=1 >/results/fio 2>&1\necho $? >/results/status\n"
    )
    result = _run("broken-mapping", task, variant="broken-mapping")
    if result.reason != "ok" or not result.results:
        return False, _console(result)
    said = (result.results / "fio").read_text()
    status = (result.results / "status").read_text().strip()
    return status != "0" and "verify" in said and "bad" in said.lower(), f"# {said[-300:]!r}\n"


def realtime() -> Outcome:
    """Engines in threads, on the host's clock; a controller is reset with I/O in flight."""
    fio = (
        "fio --direct=1 --ioengine=io_uring --iodepth=32 --thread --rw=randwrite --bs=4k "
        "--verify=crc32c --verify_fatal=1 --do_verify=1 --eta=never"
    )
    task = (
        "stat_of() { scarp-stats $1 $2 | sed 's/.* //'; }\n"
        f"set -e\n{fio} --name=verify --filename=$SCARP_DEV --size=10m\n"
        "[ $(stat_of $SCARP_CTRL gc_runs) -gt 0 ]\n"
        f"{fio} --name=reset --filename=$SCARP_DEV1 --size=2m &\n"
        "pid=$!\n"
        "for i in 1 2 3 4; do\n"
        # Under load, however slow the guest is.
        "until [ $(stat_of $SCARP_CTRL1 writes) -gt $((i * 70)) ]\n"
        "do kill -0 $pid; sleep 0.1; done\n"
        "nvme reset $SCARP_CTRL1\n"
        "done\n"
        "wait $pid\n"
        # What a reset takes from the kernel it writes again; the engine does both.
        "echo in flight at resets: $(($(stat_of $SCARP_CTRL1 writes) - 512))\n"
        "[ $(stat_of $SCARP_CTRL1 writes) -gt 512 ]\n"
        "nvme get-log $SCARP_CTRL --log-id=0xca --log-len=96 --raw-binary >/results/stats.bin\n"
    )
    # The kernel waits some of its ticks before it deletes the queues: the second drive is slower.
    slow = f"{SMALL},timing.program_ns=300000000"
    drives = [
        # The first is aged, so that it collects at once.
        vm.FlashDrive(description=DEVICE, overrides=SMALL, clock="realtime", age=900),
        vm.FlashDrive(description=DEVICE, overrides=slow, clock="realtime"),
    ]
    result = _run("realtime", task, drives=drives, icount=False, cpu_limit=300)
    return result.reason == "ok" and result.results is not None, _console(result)


def _ends(
    name: str, task: str, reason: str, says: str, reached: str = "", **options: Any
) -> Outcome:
    """A guest that must end for this reason; `reached`: what its task says before that."""
    result = _run(name, task, **options)
    # What is not noticed ends at the guest's limit, with another reason.
    good = result.reason == reason and result.results is None
    good = good and says in result.console_tail and reached in result.console_tail
    said = f"# reason {result.reason} after {result.wall_seconds:.0f} s\n"
    return good, said + _console(result)


SPIN = "echo spinning\nwhile :; do :; done\n"


def _pid_of(name: str, ended: Callable[[], bool]) -> int:
    """QEMU's process, once its guest runs the task; -1 if the run has ended before."""
    out = ROOT / "out" / "test-guest" / name
    while not ended():
        try:
            if "spinning" in (out / "console.log").read_text(errors="replace"):
                return int((out / "pid").read_text())
        except (OSError, ValueError):
            pass
        time.sleep(0.2)
    return -1


def _pid_file(name: str) -> list[str]:
    return ["-pidfile", str(ROOT / "out" / "test-guest" / name / "pid")]


def killed_qemu() -> Outcome:
    shutil.rmtree(ROOT / "out" / "test-guest" / "killed", ignore_errors=True)
    ended = threading.Event()

    def kill() -> None:
        if (pid := _pid_of("killed", ended.is_set)) > 0:
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        return _ends(
            "killed",
            SPIN,
            "qemu died",
            "qemu was killed by SIGKILL",
            extra_args=_pid_file("killed"),
        )
    finally:
        ended.set()
        killer.join()


def _running(pid: int) -> bool:
    try:
        # The name in parentheses may itself hold any character.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def killed_runner() -> Outcome:
    """A run that is killed leaves no QEMU behind."""
    shutil.rmtree(ROOT / "out" / "test-guest" / "orphan", ignore_errors=True)
    runner = subprocess.Popen([sys.executable, __file__, "--spin"])
    try:
        pid = _pid_of("orphan", lambda: runner.poll() is not None)
    finally:
        runner.kill()
        runner.wait()
    if pid < 0:
        return False, "# the guest did not start\n"
    deadline = time.monotonic() + HANG_S
    while time.monotonic() < deadline:
        if not _running(pid):
            return True, ""
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    return False, f"# QEMU {pid} outlived its runner\n"


def _shell(options: list[str], typed: str) -> tuple[int, str]:
    """`scarp shell` with something typed at its prompt; its status and all that it printed."""
    command = [sys.executable, str(ROOT / "scripts" / "scarp"), "shell", *options]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdin and process.stdout
    said = b""
    asked = False
    # A prompt may last for ever: what hangs is silent.
    deadline = time.monotonic() + HANG_S
    while time.monotonic() < deadline:
        if select.select([process.stdout], [], [], 1)[0]:
            data = os.read(process.stdout.fileno(), 65536)
            if not data:
                break
            said += data
            deadline = time.monotonic() + HANG_S
        if not asked and b"# " in said.partition(b"exit ends the guest")[2]:
            asked = True
            process.stdin.write(typed.encode())
            process.stdin.flush()
    else:
        process.kill()
    return process.wait(), said.decode(errors="replace").replace("\r", "")


def prompt(file_system: str) -> Outcome:
    # The quotes keep the echo of what is typed from passing for its output.
    status, said = _shell(
        ["--mkfs", file_system],
        "grep ' /mnt ' /proc/mounts; echo kept by''tes >f; sync; cat f; false; exit\n",
    )
    good = f"/dev/nvme0n1 /mnt {file_system} rw" in said and "\nkept bytes\n" in said
    return status == 0 and good, "".join(f"# {line}\n" for line in said.splitlines()[-12:])


def refused_prompt() -> Outcome:
    """What a file system's maker refuses ends with an error, not with a prompt."""
    status, said = _shell(["--mkfs", "xfs", "--set", SMALL], "exit\n")
    good = status != 0 and "scarp: error: the guest ended early (status " in said
    return good, "".join(f"# {line}\n" for line in said.splitlines()[-8:])


def _compare(folder: Path, *options: str) -> subprocess.Popen[str]:
    """`scarp compare` in a group of its own, as a shell starts it."""
    command = [sys.executable, str(ROOT / "scripts" / "scarp"), "compare", "--out", str(folder)]
    return subprocess.Popen(
        [*command, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _fresh(name: str) -> Path:
    folder = ROOT / "out" / "test-guest" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def compare_twice() -> Outcome:
    """From one image, side by side and one after the other: the same bytes."""
    # One scheme: that the columns differ, the device has of their parameters.
    names = ("d-choices:d=1", "d-choices:d=100")
    folder = _fresh("compare")
    state = folder / "drive.img"
    words = age.command(DEVICE, state, 900, 1, overrides=SMALL)
    age.make(words)
    found: list[dict[str, str]] = []
    said = ""
    for jobs in ("2", "1"):
        out = folder / jobs
        process = _compare(
            out,
            *("--image", str(state), "--jobs", jobs, "--schemes", ",".join(names)),
            *("--job", str(ROOT / "fio-jobs" / "short.fio")),
        )
        said = process.communicate()[0]
        if process.returncode:
            return False, "".join(f"# {line}\n" for line in said.splitlines()[-12:])
        result = json.loads((out / "summary.json").read_text())
        for scheme in result["schemes"].values():
            del scheme["wall_s"], scheme["boot_s"]
        found.append({"summary": json.dumps(result)})
        for name in result["schemes"]:
            files = determinism.compared_files(out / scheme_text.folder_name(name))
            found[-1].update({f"{name}/{file}": digest for file, digest in files.items()})
    differ = [name for name in found[0] if found[0][name] != found[1].get(name)]
    other = len({found[0][f"{name}/cmd.bin"] for name in names}) == len(names)
    notes = f"# {len(found[0])} files; these differ: {', '.join(differ) or 'none'}\n"
    return not differ and found[0].keys() == found[1].keys() and other, notes


def compare_merges() -> Outcome:
    """Merges in a run's table, causes and page, and its log replayed as a timeline has them."""
    folder = _fresh("merges")
    out = folder / "out"
    process = _compare(
        out,
        *("--device", str(DEVICE), "--set", f"{SMALL},ftl.mapping=fast", "--schemes", "baseline"),
        *("--job", str(ROOT / "fio-jobs" / "short.fio")),
    )
    said = process.communicate()[0]
    notes = "".join(f"# {line}\n" for line in said.splitlines()[-25:])
    if process.returncode:
        return False, notes
    scheme = json.loads((out / "summary.json").read_text())["schemes"]["baseline"]
    counted = {k: scheme["stats"][f"{k}_merges"] for k in ("switch", "partial", "full")}
    good = (
        sum(counted.values()) > 0 and "die_gc_program" in scheme["tail_causes"]["write"]["cause_ns"]
    )
    good = good and "  die: merge program" in said and f"{counted['full']:,}\n" in said
    good = good and "<dt>die: merge program</dt>" in (out / "report.html").read_text()
    command = [
        *(str(replayer.ensure_replay()), "--quiet", "-i", str(out / "drive.img")),
        *("--trace", str(folder / "trace"), str(out / "baseline" / "cmd.bin")),
    ]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    slices, _ = timeline.read(folder / "trace")
    shown = [s for s in slices if s.track.endswith("GC")]
    ran = gc_log.read_gc_runs(out / "baseline" / "gc.bin")
    # The replay goes on until its drive is at rest.
    last = max(run.end for run in ran)
    good = good and sorted((s.begin_ns, s.end_ns) for s in shown if s.end_ns <= last) == sorted(
        (run.begin, run.end) for run in ran
    )
    kinds = Counter(s.name for s in shown)
    good = good and all(kinds[f"{k} merge"] >= n for k, n in counted.items()) and not kinds["GC"]
    return good, f"{notes}# counted {counted}, shown {dict(kinds)}\n"


def _processes_of(folder: Path) -> list[int]:
    """QEMUs whose command lines name the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if b"qemu-system" in words[0] and any(str(folder).encode() in word for word in words):
                found.append(int(path.parent.name))
    return found


def interrupted_compare() -> Outcome:
    """Ctrl-C at the terminal: no guest is left, and what had finished is reported."""
    folder = _fresh("interrupted")
    out = folder / "out"
    process = _compare(
        out,
        *("--device", str(DEVICE), "--set", SMALL, "--schemes", "ideal,baseline,pgc"),
        *("--jobs", "1", "--job", str(ROOT / "fio-jobs" / "short.fio")),
    )
    while not _processes_of(out / "baseline") and process.poll() is None:
        time.sleep(0.1)
    before = _processes_of(out)
    # To every process of the terminal, as its driver does.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    try:
        said = process.communicate(timeout=HANG_S)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return False, "# it goes on after Ctrl-C\n"
    left = _processes_of(out)
    schemes: list[str] = []
    with contextlib.suppress(OSError):
        schemes = list(json.loads((out / "summary.json").read_text())["schemes"])
    rest = [path.name for path in out.rglob("*.tmp")]
    good = process.returncode == 130 and len(before) == 1 and not left and not rest
    good = good and schemes == ["ideal"] and (out / "report.html").is_file()
    good = good and "scarp: interrupted; finished: ideal" in said and "Traceback" not in said
    notes = f"# status {process.returncode}, guests {before}, left {left}, {rest}, {schemes}\n"
    return good, notes + "".join(f"# {line}\n" for line in said.splitlines()[-12:])


ARRAY = "the SSD array as a block device: verify under GC, kills, file systems"
ENGINE = "the SSD array as an engine of fio: verify under GC, 128 bytes at a time"
REFUSED = "what scarp probe refuses of the kernel's devices"
MEASURED = "scarp probe on the kernel's devices, measured to the end"
# As long as is asked for: only where it is named (`make test-array-kills`).
KILLS = "the SSD array's server killed at random moments"


def namespaces() -> Outcome:
    """A drive is divided anew by nvme-cli."""
    drives = [vm.FlashDrive(description=DEVICE, age=900)]
    task = "sh /scarp/namespaces.sh\n"
    return _plain_ktap(_run("namespaces", task, drives=drives, cpu_limit=400))


TESTS: list[tuple[str, Callable[[], Outcome]]] = [
    # First, as it takes longest, mostly waiting for the host's clock.
    (MEASURED, lambda: probed_devices(measured=True)),
    (REFUSED, lambda: probed_devices(measured=False)),
    *((f"the suite under {scheme}", lambda scheme=scheme: suite(scheme)) for scheme in SCHEMES),
    ("schemes in turn on running drives", every_scheme),
    ("every mapping through overwrites", every_mapping),
    ("kselftest in a kernel's source, where no drive is: skipped", kernel_tree),
    ("kselftest on drives in use: skipped", in_use),
    ("what a drive says of itself, and reads that are wanted soon", device),
    ("self-test, allocated ranges, Sanitize, telemetry, persistent events", media),
    ("namespaces are deleted, created, attached and detached", namespaces),
    (
        "ext4 filled beyond an SLC cache: rates by seconds, causes, two boots",
        lambda: slc_fill.test(_run),
    ),
    ("the power fails under the kernel", power),
    ("the power fails under the kernel, on the host's clock", lambda: power("realtime")),
    *probes.TESTS,
    (ARRAY, array),
    (ENGINE, array_fio),
    (KILLS, array_kills),
    (BROKEN, broken_mapping),
    ("without icount: a thread's engine, verification, resets", realtime),
    (
        "a panic ends the run",
        lambda: _ends("panic", "echo c >/proc/sysrq-trigger\n", "panic", "Kernel panic"),
    ),
    (
        # A guest that sleeps is skipped forward; one that spins is not.
        "a hang ends the run within its limit",
        lambda: _ends(
            "hang", SPIN, "hang", "stopped after 12 s of processor time", "spinning", cpu_limit=12
        ),
    ),
    (
        "a task that sleeps for ever ends the run within its limit",
        lambda: _ends(
            "sleep",
            "echo sleeping\nwhile :; do sleep 1000000; done\n",
            "hang",
            "stopped after 12 s of processor time",
            "sleeping",
            cpu_limit=12,
        ),
    ),
    (
        "a console that fills the host's disk ends the run",
        lambda: _ends(
            "flood",
            "yes\n",
            "task failed",
            "more than 64 KiB on the console",
            console_limit=64 << 10,
        ),
    ),
    (
        "a full disk ends the run",
        lambda: _ends(
            "full",
            "dd if=/dev/zero of=/results/x bs=1M count=4096\n",
            "task failed",
            "No space left on device",
        ),
    ),
    (
        "results larger than their way out end the run",
        lambda: _ends(
            "large",
            # A file without blocks is as long in the archive.
            "truncate -s 300M /results/x\n",
            "task failed",
            "scarp: end ship failed",
        ),
    ),
    ("compare: a scheme with two parameters from one image, twice, the same bytes", compare_twice),
    ("compare: merges in table, page and timeline", compare_merges),
    ("compare: Ctrl-C ends the guests and keeps what finished", interrupted_compare),
    ("a killed QEMU ends the run", killed_qemu),
    ("a killed run leaves no QEMU behind", killed_runner),
    *(
        (f"scarp shell --mkfs {name}", lambda name=name: prompt(name))
        for name in (SHELLS if ALL else ())
    ),
    ("scarp shell --mkfs on a drive that is too small", refused_prompt),
    ("file systems on several mappings, every byte verified", file_systems.some),
    *user_guest.TESTS,
    *power_cuts.TESTS,
]

# Another test of `make test` sees what each of these sees, but for the guest around it;
# `make test-file-systems` has that of file systems.
LONG = {
    MEASURED,
    REFUSED,
    "the suite under ideal",
    # A second QEMU is linked for it.
    BROKEN,
    "kselftest on drives in use: skipped",
    "the power fails under the kernel, on the host's clock",
    "a task that sleeps for ever ends the run within its limit",
    "a console that fills the host's disk ends the run",
    "a full disk ends the run",
    "results larger than their way out end the run",
    "compare: a scheme with two parameters from one image, twice, the same bytes",
    "file systems on several mappings, every byte verified",
    "PostgreSQL as its own user, of Debian's packages",
    "SQLite as an ordinary user",
    "a killed QEMU ends the run",
    "power cuts of a drive that ignores flushes: fio and the contract see it",
    "scarp shell --mkfs on a drive that is too small",
    "power cuts and a check of the user's, which never ends",
}


def usual(name: str) -> bool:
    """Whether a test runs where none is named."""
    return name != KILLS and (ALL or name not in LONG)


def timed(test: Callable[[], tuple[bool, str]]) -> tuple[bool, str, str, float]:
    """What the test says, why it was skipped, if it was, and how long it took."""
    began = time.monotonic()
    try:
        good, text = test()
        skipped = ""
    except Skipped as reason:
        good, text, skipped = True, "", f" # SKIP {reason}"
    return good, text, skipped, time.monotonic() - began


def main() -> int:
    # Whoever runs this in the background has it ignored, and the runs that it starts inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    global build, patience
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--variant", default="", choices=list(VARIANTS), help="QEMU's (default: plain)"
    )
    parser.add_argument(
        "--patience",
        type=int,
        default=1,
        metavar="N",
        help="guests may use N times as much processor time",
    )
    parser.add_argument("only", nargs="*", help="tests whose name contains one of these")
    parser.add_argument("--spin", action="store_true", help="a guest without end, to be killed")
    arguments = parser.parse_args()
    build, patience = arguments.variant, arguments.patience
    if arguments.spin:
        _run("orphan", SPIN, extra_args=_pid_file("orphan"))
        return 0
    tests = [
        (name, test)
        for name, test in TESTS
        if any(x in name for x in arguments.only) or (not arguments.only and usual(name))
    ]
    if not tests:
        parser.error(f"no test's name contains {' or '.join(arguments.only)}")
    print("KTAP version 1")
    print(f"1..{len(tests)}", flush=True)
    ensure_qemu(build)
    if any(name == BROKEN for name, _ in tests):
        ensure_qemu("broken-mapping")
    ensure_image(tests=True)
    ensure_kselftest()
    bad = 0
    # One more than there are cores: a guest on the host's clock waits for much of its time.
    with ThreadPoolExecutor(1 + min(3, os.cpu_count() or 1)) as pool:
        outcomes = {pool.submit(timed, test): name for name, test in tests}
        # As they end: who watches sees that it goes on.
        for number, outcome in enumerate(as_completed(outcomes), 1):
            name = outcomes[outcome]
            good, text, skipped, seconds = outcome.result()
            name += skipped
            for line in text.splitlines():
                print(f"    {line}")
            bad += not good
            print(f"{'' if good else 'not '}ok {number} {name}", flush=True)
            print(f"# {seconds:.0f} s", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        print(f"Bail out! {json.dumps(str(error))}")
        sys.exit(1)
