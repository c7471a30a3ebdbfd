# SPDX-License-Identifier: GPL-2.0-or-later
"""`make conformance`: suites of others on Scarp's device and on the same QEMU's stock nvme.

Each suite runs in guests that differ in nothing but the drive.  What passes on stock must pass on
Scarp; else the exit status is 1.  Verdicts are kept as they come, and --resume goes on after them.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
from functools import cached_property
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(HERE)]

import debian  # noqa: E402
import suites  # noqa: E402
import verdicts  # noqa: E402
from scarplib.build.qemu import QemuBuild, ensure_qemu  # noqa: E402
from scarplib.drive.controller import HostView  # noqa: E402
from scarplib.errors import UserError  # noqa: E402
from scarplib.guest import user_packages, vm  # noqa: E402
from scarplib.guest.image import ensure_image, ensure_modules, kernel_config  # noqa: E402
from scarplib.guest.script import OUT  # noqa: E402
from scarplib.guest.user_task import PATH  # noqa: E402
from verdicts import Verdict  # noqa: E402

DEVICE = ROOT / "devices" / "demo.ini"
# With one block in each of its planes, the flash is larger by so much.
ROW_BYTES = 4 << 20
# How long a test may go on that has no end of its own, in the guest's seconds.
TURN_S = 3


def revision(source: Path) -> str:
    """Of a checkout; what is no checkout has no name but its folder's."""
    folder = source.resolve().name
    if not (source / ".git").exists():
        return folder
    try:
        done = subprocess.run(
            ["git", "-C", str(source), "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:  # No git is installed.
        return folder
    return done.stdout.strip() if done.returncode == 0 else folder


def archive(source: Path, parts: tuple[str, ...]) -> bytes:
    """What the guest needs of the source, as a tar."""

    def usual(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        # What a build leaves and nobody runs.
        if member.name.endswith((".o", ".lo", ".a", ".p")):
            return None
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        return member

    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for part in parts:
            for path in sorted(source.glob(part)):
                tar.add(path, str(path.relative_to(source)), filter=usual)
    return stream.getvalue()


def _task(suite: suites.Suite, tests: list[str], longer: int) -> str:
    root = user_packages.ROOT
    lines = [
        f"export PATH={PATH} SCARP_OUT={OUT} SCARP_TIMEOUT={TURN_S}",
        f"export SCARP_LIMIT={suite.test_limit_s * longer} SCARP_LONGER={longer}",
        f"export SCARP_TESTS='{' '.join(tests)}'",
        f"mkdir -p {OUT}",
        "for module in /scarp/modules/*/*.ko; do insmod $module 2>/dev/null || :; done",
        *user_packages.mount_lines(),
        f"mkdir -p {root}/src && tar -x -C {root}/src -f /scarp/source.tar && "
        "rm /scarp/source.tar || exit 1",
        # As in most systems: programs look for their own descriptors there.
        "ln -sf /proc/self/fd /dev/fd",
        f"{user_packages.enter()}/bin/bash /scarp/{suite.name}.sh >{OUT}/log.txt 2>&1 </dev/null",
    ]
    return "\n".join(lines) + "\n"


def _stock_drive(namespaces: dict[Path, int]) -> list[str]:
    """QEMU's own, with a file of the host behind each namespace."""
    found = ["-device", "nvme,id=nvme0,serial=scarp0"]
    for number, (image, size) in enumerate(namespaces.items(), 1):
        with image.open("wb") as stream:
            stream.truncate(size)
        file = f"driver=file,filename={str(image).replace(',', ',,')},discard=unmap"
        found += ["-blockdev", f"{file},node-name=stock{number}"]
        found += ["-device", f"nvme-ns,bus=nvme0,drive=stock{number}"]
    return found


def _scarp_drive(namespaces: tuple[int, ...], virtual: bool) -> vm.FlashDrive:
    """Of a geometry that leaves a fifth of the flash to itself."""
    rows = sum(namespaces) * 5 // 4 // ROW_BYTES
    return vm.FlashDrive(
        description=DEVICE,
        overrides=f"geometry.blocks_per_plane={rows}",
        view=HostView(sizes=namespaces),
        clock=None if virtual else "realtime",
    )


class Session:
    """One suite from one source, in guests for each device."""

    def __init__(self, suite: suites.Suite, source: Path, arguments: argparse.Namespace) -> None:
        self.suite = suite
        self.arguments = arguments
        groups = arguments.group
        plan = suite.plan_groups(source, groups) if groups else suite.plan(source, arguments.long)
        self.plan = plan.only(arguments.only)
        self.names = self.plan.names
        self.source = archive(source, suite.parts)
        self.out = arguments.out / suite.name

    @cached_property
    def qemu(self) -> QemuBuild:
        return ensure_qemu()

    def _files(self) -> dict[str, Path | bytes]:
        packages = user_packages.ensure_packages(self.suite.packages)
        config = kernel_config()
        files: dict[str, Path | bytes] = {
            "source.tar": self.source,
            user_packages.IMAGE: packages.image,
            # Where a distribution has it, and suites look what the kernel can do.
            f"/boot/{config.name}": config,
            **{path.name: path for path in sorted(HERE.glob("*.sh"))},
        }
        for name in (*user_packages.MODULES, *self.suite.modules):
            files |= ensure_modules(name, ("ext4", "xfs"))
        return files

    def _identity(self, device: str) -> str:
        """What a kept verdict is of: another QEMU's or another source's says nothing here."""
        scarp = [self.qemu.engine_hash, self.arguments.clock] if device == "scarp" else []
        parts = [self.qemu.series_hash, str(self.arguments.long), *scarp]
        total = hashlib.sha256("\n".join(parts).encode())
        total.update(hashlib.sha256(self.source).digest())
        return total.hexdigest()

    def on(self, device: str) -> dict[str, Verdict]:
        """The verdicts of the suite's tests: on `stock` or on `scarp`."""
        path = self.out / f"{device}.json"
        identity = self._identity(device)
        found = verdicts.kept(path, identity) if self.arguments.resume else {}
        if not found:
            shutil.rmtree(self.out / device, ignore_errors=True)
        for plan in self.plan.without(set(found)).parts(self.arguments.each):
            found |= self._guest(device, plan)
            verdicts.keep(path, identity, found)
        return {name: found[name] for name in [*self.names, *(set(found) - set(self.names))]}

    def _guest(self, device: str, plan: suites.Plan) -> dict[str, Verdict]:
        out = self.out / device / plan.tests[0].replace("/", "-")
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        scarp = device == "scarp"
        virtual = scarp and self.arguments.clock == "virtual"
        longer = 4 if self.arguments.long else 1
        namespaces = self.suite.namespaces
        images = {out / f"stock{n}.tmp": size for n, size in enumerate(namespaces)}
        extra = [*self.suite.machine, *([] if scarp else _stock_drive(images))]
        try:
            result = vm.run_guest(
                vm.GuestRun(
                    qemu=self.qemu,
                    image=ensure_image(tests=True),
                    drives=[_scarp_drive(namespaces, virtual)] if scarp else [],
                    task=_task(self.suite, plan.tests, longer),
                    out=out,
                    files=self._files(),
                    memory_mib=self.suite.memory_mib,
                    # A host's file knows nothing of a virtual clock: it would seem to hang.
                    icount=virtual,
                    cpu_limit=self.suite.cpu_limit * longer,
                    extra_args=extra,
                )
            )
        finally:
            for image in images:
                image.unlink(missing_ok=True)
        console = (out / "console.log").read_text(errors="replace")
        if result.reason != "ok":
            print(f"# {self.suite.name} on {device}: the guest: {result.reason}")
            for line in result.console_tail.splitlines()[-12:]:
                print(f"#   {line}")
        what = f"{len(plan.names)} of {len(self.names)} tests"
        print(f"# {self.suite.name} on {device}: {what}, {result.wall_seconds:.0f} s", flush=True)
        return verdicts.parse(console, plan.names, result.reason)


def needs() -> str:
    """What to give, when nothing was given."""
    lines = ["conformance: no source was named; each suite runs if its folder is given:"]
    lines += [f"  {suite.variable}=DIR  {suite.what}" for suite in suites.SUITES]
    return "\n".join(lines)


def nothing(only: list[str], groups: list[str], long: bool) -> str:
    """Why no test of a suite runs."""
    found = f"no test's name contains {' or '.join(only)}" if only else "no test was found"
    if groups:
        return f"{found}, of those in group {' or '.join(groups)}"
    return found if long else f"{found}, of those that run without --long"


def _source(suite: suites.Suite, given: str | None) -> Path | None:
    if given == debian.WORD:
        if suite.name != "fio":
            raise UserError(f"{suite.variable}=debian: Debian has no source package of it")
        return debian.fio()
    return Path(given) if given else None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make conformance", description=__doc__)
    for suite in suites.SUITES:
        parser.add_argument(f"--{suite.name}", metavar="DIR", help=suite.what)
    parser.add_argument("--long", action="store_true", help="also what takes minutes a test")
    parser.add_argument(
        "--clock",
        choices=("virtual", "realtime"),
        default="virtual",
        help="Scarp's; stock's is the host's",
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT", help="tests whose name contains it"
    )
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="NAME",
        help="in place of our list: all of xfstests' generic tests in this group",
    )
    parser.add_argument(
        "--each", type=int, default=0, metavar="N", help="so many tests to a guest; default: all"
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep the verdicts that --out has of this device"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "conformance")
    return parser.parse_args()


def main() -> int:
    """0: nothing that passes on stock does not on Scarp; 1: something, or nothing passed on Scarp;
    2: no suite was named."""
    arguments = _arguments()
    given = {s: _source(s, getattr(arguments, s.name)) for s in suites.SUITES}
    if not any(given.values()):
        print(needs(), file=sys.stderr)
        return 2
    for suite, source in given.items():
        if source:
            suites.check(suite, source)
    stock: dict[str, Verdict] = {}
    scarp: dict[str, Verdict] = {}
    notes: list[str] = []
    summary: dict[str, object] = {}
    for suite, source in given.items():
        if not source:
            notes.append(f"{suite.name}: absent ({suite.variable}= names {suite.what})")
            continue
        session = Session(suite, source, arguments)
        if not session.names:
            notes.append(
                f"{suite.name}: {nothing(arguments.only, arguments.group, arguments.long)}"
            )
            continue
        on = {device: session.on(device) for device in ("stock", "scarp")}
        stock |= on["stock"]
        scarp |= on["scarp"]
        notes.append(f"{suite.name}, {revision(source)}")
        notes.append(f"  stock: {verdicts.counts(on['stock'])}")
        notes.append(f"  Scarp: {verdicts.counts(on['scarp'])}")
        summary[suite.name] = {
            "revision": revision(source),
            **{
                where: {n: [v.outcome, v.why] for n, v in said.items()}
                for where, said in on.items()
            },
        }
    print()
    if stock:
        print("\n".join(verdicts.table(stock, scarp)) + "\n")
    print("\n".join(notes), flush=True)
    worse = verdicts.regressions(stock, scarp)
    passed = sum(verdict.outcome == "pass" for verdict in scarp.values())
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    if worse:
        print(f"\n{len(worse)} pass on stock and not on Scarp: {', '.join(worse)}")
        return 1
    if not passed:
        print("\nnothing passed on Scarp")
        return 1
    print(f"\nnothing passes on stock and not on Scarp; {passed} passed on Scarp")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UserError as error:
        print(f"scarp: error: {error}", file=sys.stderr)
        sys.exit(2)
