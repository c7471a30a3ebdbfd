# SPDX-License-Identifier: GPL-2.0-or-later
"""`make lint`: Python, C files and patches, the engine's rooms, shell, words, licences, names."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scarplib.build.cache import cache_dir
from scarplib.build.host_packages import ensure_packages
from scarplib.build.qemu import ensure_source
from scarplib.build.replayer import LIBRARIES
from scarplib.build.venv import ensure_venv
from scarplib.dev import first_words, names, senses
from scarplib.dev.remembered import Remembered
from scarplib.errors import UserError
from scarplib.paths import ROOT


def _tracked(*patterns: str) -> list[str]:
    # Files not yet added are checked too: they are about to be.
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UserError(f"lint: {done.stderr.strip()}")
    return [name for name in done.stdout.splitlines() if (ROOT / name).is_file()]


# What checkpatch says, and is not so here.
NOT_OURS = re.compile(
    "|".join(
        [
            r"MAINTAINERS",  # a patch that adds a file: QEMU's list is not ours to edit
            r"line over 80 characters",  # 90 is an error
            r"qemu_real_host_page_size|qemu_strto",  # the engine knows nothing of QEMU
            # G_DEFINE_QUARK's name
            r"ftl/core/core\.c:\d+: ERROR: spaces required around that '-'",
            r"ftl/drive/scheme\.c:\d+: ERROR: spaces required around that '\*'",  # a macro's cast
            # The list of marks: what MARK makes of a line, its user says.
            r"ftl/marks\.h:\d+: ERROR: Macros with complex values",
            # Memory that a device, a debugger or another CPU changes, and code that is written.
            r"tests/tcg/guest/guest\.c:\d+: ERROR: Use of volatile",
            # As posix_fallocate() does, for which some of it stands.
            r"tests/hunt-array/disk\.c:\d+: ERROR: return of an errno",
        ]
    )
)
# In a string that a terminal of any locale shows; comments may.
FOREIGN = re.compile(r'"(?:[^"\\]|\\.)*[^\x00-\x7f](?:[^"\\]|\\.)*"')


def _strings(files: list[str]) -> int:
    found = 0
    for name in files:
        text = (ROOT / name).read_text(encoding="utf-8")
        # Comments leave their line ends, so that numbers stay right.
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
        for number, line in enumerate(text.splitlines(), 1):
            if FOREIGN.search(line):
                print(f"{name}:{number}: not ASCII in a string")
                found += 1
    return found


def _check(command: list[str | Path]) -> list[str]:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = [
        line
        for line in done.stdout.splitlines()
        if re.search(r": (ERROR|WARNING):", line) and not NOT_OURS.search(line)
    ]
    if done.stderr.strip():
        found.append(done.stderr.strip())
    # 1: it has complained. Any other end leaves files that it has not read.
    if done.returncode not in (0, 1):
        found.append(f"{command[0]}: status {done.returncode}")
    print("".join(f"{line}\n" for line in found), end="")
    return found


# What programs of tests/ and examples/ add to their path.
_PROGRAMS = (
    *("bench", "conformance", "container", "kvm", "qtest", "tcg"),
    *("scripts", "hunt", "hunt-nvme", "guest", "mutate", "docs"),
)
# A folder of tests/ is no package: its module of the same name (mutate) comes first.
_OWN_PATHS = (*(f"tests/{name}" for name in _PROGRAMS), "tests", "bindings/python")


def _types(python: Path, files: list[str]) -> int:
    """mypy, strictly: the scripts at once, and each folder of programs beside them by itself.

    Those folders have modules of equal names (run.py), as each is its programs' own path.
    """
    folders = sorted({str(Path(name).parent) for name in files if not name.startswith("scripts/")})
    groups: list[tuple[str, list[str]]] = [("scripts", ["-p", "scarplib"])]
    groups += [(x, [f for f in files if str(Path(f).parent) == x]) for x in folders]
    bad = 0
    # One for all, so that the scripts are looked at once; mypy tells equal names by their paths.
    cache = cache_dir() / "mypy" / hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]
    for folder, what in groups:
        done = subprocess.run(
            [python, "-m", "mypy", "--no-error-summary", "--cache-dir", cache, *what],
            cwd=ROOT,
            env={**os.environ, "MYPYPATH": ":".join([*_OWN_PATHS, folder])},
            check=False,
        )
        bad += done.returncode
    return bad


# What no shell program of ours is asked for, beyond errors and warnings.
_SHELL_FREE = (
    "SC1090",  # a file that is read by a name in a variable
    "SC1091",  # … or from where it will be
    "SC2148",  # files that others read have no first line
    "SC2154",  # … and use what those have set
    "SC2034",  # … or set what those use
    "SC2046",  # words of a command's output, each a word of its own
    "SC2010",  # ls | grep in folders of the kernel, whose names are plain
    "SC3045",  # ulimit -S, which every shell that we meet has
)
# Our own words, and mistakes that tests make on purpose.
_WORDS = "aer,basline,chanels,fro,treshold"
# Others' words; what is drawn; what a command printed.
_NOT_READ = re.compile(
    r"^(LICENSE$|LICENSES/|scripts/locks/|qemu-patches/.*\.patch$|tests/putback/.*\.patch$|docs/.*\.(svg|png)$)"
)


# They need headers which no host has: the guest's compiler builds them, with -Werror, too.
_OF_GUEST = re.compile(r"guest/array/(ublk/|uring/fio\.c$)")
_CLANG = ("clang", "-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror")


def _clang() -> int:
    """The engine, the replayer and the array by another compiler, whose warnings are errors."""
    folders = ("ftl", "ftl/replay", "guest/array", "guest/array/sim", "guest/array/uring")
    libraries = ["pkg-config", "--cflags", *LIBRARIES]
    flags = subprocess.run(libraries, capture_output=True, text=True, check=True).stdout.split()
    files = [x for x in _tracked("ftl/*.c", "guest/array/*.c") if not _OF_GUEST.match(x)]
    return _run([*_CLANG, *(f"-I{folder}" for folder in folders), *flags, *files])


def _run(command: list[str | Path], **environment: str) -> int:
    whole = {**os.environ, **environment}
    return subprocess.run(command, cwd=ROOT, env=whole, check=False).returncode


def _ruff(*what: str) -> int:
    options = ("--quiet", "--output-format=concise")
    return _run([ensure_venv(), "-m", "ruff", *what, *options, *_python_files()])


def _python_files() -> list[str]:
    return [*_tracked("*.py"), "scripts/scarp"]


_CHECKPATCH = ("--no-tree", "--no-signoff", "--terse", "--quiet")


def _checkpatch(*files: str) -> int:
    program = ensure_source() / "scripts" / "checkpatch.pl"
    return len(_check([program, *_CHECKPATCH, *files])) if files else 0


def checkpatch_of_c() -> int:
    """checkpatch of the C files that it has not found clean before: each costs it 0.2 s.

    Each file has a call of its own, as checkpatch takes types that a file names for types in the
    next files of one call: its verdict would depend on them.
    """
    program = ensure_source() / "scripts" / "checkpatch.pl"
    verdict = " ".join([*_CHECKPATCH, NOT_OURS.pattern])
    files = _c_files()
    around = [program.read_bytes(), verdict.encode()]
    clean = Remembered(cache_dir() / "checkpatch", ROOT, files, around)

    def refused(name: str) -> int:
        found = _check([program, *_CHECKPATCH, "-f", name])
        if not found:
            clean.put(name, (), [name], verdict=True)
        return len(found)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(refused, [name for name in files if not clean.get(name)]))


def _c_files() -> list[str]:
    return _tracked("ftl/*.[ch]", "hw/*.[ch]", "guest/array/*.[ch]", "tests/*.[ch]")


def _shellcheck() -> int:
    others = ("guest/init", "scripts/ensure-python", ".ci/run")
    files = [name for name in (*_tracked("*.sh"), *others) if (ROOT / name).is_file()]
    program = ensure_venv().parent / "shellcheck"
    options = ["--format=gcc", "--severity=warning", f"--exclude={','.join(_SHELL_FREE)}"]
    return _run([program, *options, *files])


def _codespell() -> int:
    words = [name for name in _tracked() if not _NOT_READ.search(name)]
    return _run([ensure_venv().parent / "codespell", f"--ignore-words-list={_WORDS}", *words])


def _reuse() -> int:
    # Not libmagic, which a host need not have.
    return _run(
        [ensure_venv().parent / "reuse", "lint", "--lines"],
        REUSE_ENCODING_MODULE="charset_normalizer",
    )


def _names() -> int:
    texts = {}
    for name in _tracked():
        try:
            texts[name] = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture, an archive
    found = names.unknown(texts)
    for name, line, what in found:
        print(f"{name}:{line}: names {what}, which is nowhere")
    return len(found)


def _first_words() -> int:
    files = _tracked("ftl/*.[ch]", "hw/*.[ch]", "guest/*.[ch]")
    found = first_words.found({name: (ROOT / name).read_text(encoding="utf-8") for name in files})
    for name, line, comment in found:
        print(f"{name}:{line}: names no subject: {comment}")
    return len(found)


def _senses() -> int:
    texts = {name: _text(name) for name in _tracked("ftl/*.[ch]")}
    found = senses.found(texts, senses.table(_text("docs/glossary.md")))
    for name, line, identifier in found:
        print(f"{name}:{line}: {identifier}: docs/glossary.md keeps its word for another sense")
    return len(found)


def _put_back() -> int:
    # QEMU's own files are not here.
    patches = [x for x in _tracked("tests/putback/*.patch") if "+++ b/hw/nvme/" not in _text(x)]
    return sum(_run(["git", "apply", "--check", name]) for name in patches)


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


CHECKS: dict[str, Callable[[], int]] = {
    "ruff's rules": lambda: _ruff("check"),
    "ruff's format": lambda: _ruff("format", "--check"),
    "mypy": lambda: _types(ensure_venv(), [x for x in _python_files() if x.endswith(".py")]),
    "checkpatch of C files": checkpatch_of_c,
    "strings are ASCII": lambda: _strings([x for x in _c_files() if not x.startswith("tests/")]),
    "the engine's rooms": lambda: _run(
        [ensure_venv(), "tests/rooms/rooms.py", "--cache", cache_dir() / "rooms"]
    ),
    "checkpatch of patches": lambda: _checkpatch(*_tracked("qemu-patches/*.patch")),
    "clang": _clang,
    "shellcheck": _shellcheck,
    "codespell": _codespell,
    "reuse": _reuse,
    "names in comments and pages": _names,
    "comments name their subjects": _first_words,
    "words in names have one sense": _senses,
    "defects that hunts put back apply": _put_back,
}


def main() -> int:
    """TAP, a test for each check; 0 if nothing is to be said of any file, added to git or not."""
    ensure_packages()
    bad = 0
    print(f"1..{len(CHECKS)}", flush=True)
    for number, (name, check) in enumerate(CHECKS.items(), 1):
        if name == "clang" and not shutil.which("clang"):
            print(f"ok {number} - {name} # SKIP clang is not installed", flush=True)
            continue
        found = check()
        bad += found
        print(f"{'not ' if found else ''}ok {number} - {name}", flush=True)
    print("lint: clean" if not bad else "lint: see above")
    return 1 if bad else 0
