# SPDX-License-Identifier: GPL-2.0-or-later
"""What installing packages would have left besides their files: users, owners, alternatives.

Maintainer scripts are programs, and none of them is run: that would need root, and the host's state
would show in the guest.  They are read for the few commands whose effects programs rely on, with
the declarations of sysusers.d and tmpfiles.d, which say the same as tables.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Debian's range for what packages add.
_FIRST_ID, _LAST_ID = 100, 999
_NOGROUP = 65534
_NO_SHELL = ("nologin", "false", "sync")
_COMMANDS = ("adduser", "useradd", "addgroup", "groupadd", "chown", "chmod", "install",
             "dpkg-statoverride", "update-alternatives")  # fmt: skip
_NAME = re.compile(r"[a-z_][a-z0-9_-]*")
# Options that a value follows, of all of the commands that make users and groups.
_VALUED = {
    **dict.fromkeys(("--home", "--home-dir", "-d"), "home"),
    **dict.fromkeys(("--shell", "-s"), "shell"),
    **dict.fromkeys(("--gecos", "--comment", "-c"), "words"),
    **dict.fromkeys(("--uid", "-u"), "uid"),
    **dict.fromkeys(("--gid", "-g", "--ingroup"), "group"),
    **dict.fromkeys(("--groups", "-G"), "others"),
    **dict.fromkeys(("--firstuid", "--lastuid", "--firstgid", "--lastgid", "--conf"), ""),
}
# What pam-auth-update makes, for su and login: /etc/shadow decides.
_PAM = {"auth": "required pam_unix.so nullok", "account": "required pam_unix.so",
        "password": "required pam_unix.so nullok yescrypt", "session": "optional pam_permit.so",
        "session-noninteractive": "optional pam_permit.so"}  # fmt: skip


@dataclass
class _User:
    uid: int
    gid: int
    words: str
    home: str
    shell: str


@dataclass
class Installed:
    """Users and groups, by name; owners and modes by path below the root."""

    users: dict[str, _User] = field(default_factory=dict)
    groups: dict[str, int] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)
    owners: dict[str, tuple[str, str]] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    # The link, by its path: priority and what it leads to.
    alternatives: dict[str, list[tuple[int, str]]] = field(default_factory=dict)

    def _free(self, wanted: int | None = None) -> int:
        taken = {*self.groups.values(), *(user.uid for user in self.users.values())}
        if wanted is not None and wanted not in taken:
            return wanted
        return next(n for n in range(_FIRST_ID, _LAST_ID) if n not in taken)

    def add_group(self, name: str, gid: str | None = None) -> int:
        """A group that is there stays as it is."""
        if name not in self.groups:
            wanted = int(gid) if gid and gid.isdigit() else None
            self.groups[name] = self._free(wanted)
        return self.groups[name]

    def add_user(self, name: str, given: Mapping[str, str], own_group: bool) -> None:
        """A user that is there stays as it is."""
        if name in self.users:
            return
        group, uid = given.get("group", ""), given.get("uid", "")
        if group.isdigit():
            gid = int(group)
        elif group:
            gid = self.add_group(group)
        else:
            gid = self.add_group(name, uid) if own_group else _NOGROUP
        # As its group's, where nobody else has that.
        taken = {user.uid for user in self.users.values()}
        number = int(uid) if uid.isdigit() else gid
        if number in taken or not (uid.isdigit() or own_group):
            number = self._free()
        home = given.get("home", "/nonexistent")
        shell = given.get("shell", "/usr/sbin/nologin")
        self.users[name] = _User(number, gid, given.get("words", ""), home, shell)
        for other in filter(None, given.get("others", "").split(",")):
            self.members.setdefault(other, []).append(name)


# ---- Maintainer scripts, read --------------------------------------------------------------------


def _commands(text: str) -> Iterator[list[str]]:
    """Those that matter, with the script's own literal variables filled in."""
    text = re.sub(r"\\\n", " ", text)
    values = dict(re.findall(r"^\s*(\w+)=[\"']?([\w./+-]*)[\"']?\s*$", text, re.MULTILINE))
    # Set by what is not read here, and of no effect on what is.
    values |= {"quiet": "", "DPKG_ROOT": ""}
    for line in text.splitlines():
        for part in re.split(r"\|\||&&|;|\||\bthen\b|\bdo\b|[<>].*", line):
            found = re.search(rf"(?:^|\s)({'|'.join(_COMMANDS)})\s", f"{part} ")
            if not found or part.lstrip().startswith("#"):
                continue
            part = part[found.start(1) :]
            filled = re.sub(r"\$\{?(\w+)\}?", lambda match: values.get(match[1], match[0]), part)
            try:
                words = shlex.split(filled, comments=True)
            except ValueError:
                continue
            # What only running it could tell is left alone.
            if not any(mark in word for word in words for mark in "$`*"):
                yield words


def _user_or_group(made: Installed, words: list[str]) -> None:
    command, given, flags, names = words[0], dict[str, str](), set[str](), list[str]()
    rest = iter(words[1:])
    for word in rest:
        option, equals, value = word.partition("=")
        if option in _VALUED and word.startswith("-"):
            given[_VALUED[option]] = value if equals else next(rest, "")
        elif word.startswith("-"):
            flags.add(word)
        else:
            names.append(word)
    if not names or not all(_NAME.fullmatch(name) for name in names):
        return
    if command == "adduser" and len(names) == 2:
        made.members.setdefault(names[1], []).append(names[0])
    elif command in ("addgroup", "groupadd") or (command == "adduser" and "--group" in flags
                                                 and "--system" not in flags):  # fmt: skip
        made.add_group(names[0], given.get("group"))
    else:
        own = "--group" in flags if command == "adduser" else not given.get("group")
        made.add_user(names[0], given, own)
        if command == "adduser" and not flags & {"--no-create-home", "--nonexistent"}:
            home = made.users[names[0]].home
            if home not in ("/nonexistent", "/", "/root"):
                made.folders.append(home)
                made.owners[home] = (names[0], str(made.users[names[0]].gid))


def _owner(made: Installed, text: str, paths: list[str]) -> None:
    user, _, group = text.replace(".", ":").partition(":")
    for path in paths:
        if path.startswith("/"):
            before = made.owners.get(path, ("root", "root"))
            made.owners[path] = (user or before[0], group or before[1])


def _install_folder(made: Installed, words: list[str]) -> None:
    values, paths = {"-o": "root", "-g": "root", "-m": "755"}, []
    rest = iter(words[1:])
    for word in rest:
        if word in values:
            values[word] = next(rest, "")
        elif not word.startswith("-"):
            paths.append(word)
    for path in paths:
        made.folders.append(path)
        made.owners[path] = (values["-o"], values["-g"])
        if re.fullmatch(r"[0-7]+", values["-m"]):
            made.modes[path] = int(values["-m"], 8)


def _alternative(made: Installed, words: list[str]) -> None:
    while "--install" in words:
        words = words[words.index("--install") + 1 :]
        if len(words) < 4 or not re.fullmatch(r"-?\d+", words[3]):
            return
        priority = int(words[3])
        made.alternatives.setdefault(words[0], []).append((priority, words[2]))
        for i, word in enumerate(words):
            if word == "--slave" and len(words) > i + 3:
                made.alternatives.setdefault(words[i + 1], []).append((priority, words[i + 3]))


def _of_script(made: Installed, text: str) -> None:
    for words in _commands(text):
        command, plain = words[0], [x for x in words[1:] if not x.startswith("-")]
        if command in ("adduser", "useradd", "addgroup", "groupadd"):
            _user_or_group(made, words)
        elif command == "chown" and len(plain) > 1:
            _owner(made, plain[0], plain[1:])
        elif command == "chmod" and len(plain) > 1 and re.fullmatch(r"[0-7]+", plain[0]):
            made.modes |= {x: int(plain[0], 8) for x in plain[1:] if x.startswith("/")}
        elif command == "install" and "-d" in words:
            _install_folder(made, words)
        elif command == "dpkg-statoverride" and "--add" in words and len(plain) == 4:
            _owner(made, f"{plain[0]}:{plain[1]}", plain[3:])
            made.modes[plain[3]] = int(plain[2], 8)
        elif command == "update-alternatives":
            _alternative(made, words)


# ---- Declarations --------------------------------------------------------------------------------


def _of_sysusers(made: Installed, text: str) -> None:
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        kind, name, number, *more = [*words, "-", "-"] if len(words) > 1 else ["", "", ""]
        more = ["" if word == "-" else word for word in [*more, "-", "-", "-"]]
        if kind.startswith("g"):
            made.add_group(name, number)
        elif kind.startswith("u"):
            uid, _, group = number.partition(":")
            given = {"uid": uid, "group": group, "words": more[0], "home": more[1] or "/",
                     "shell": more[2]}  # fmt: skip
            made.add_user(name, {k: v for k, v in given.items() if v}, own_group=True)
        elif kind == "m":
            made.members.setdefault(number, []).append(name)


def _of_tmpfiles(made: Installed, text: str) -> None:
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if len(words) > 1 and words[0].rstrip("!-+=~^$") in ("d", "D") and "%" not in words[1]:
            mode, user, group = ["-" if x == "-" else x for x in [*words[2:5], "-", "-", "-"][:3]]
            made.folders.append(words[1])
            made.owners[words[1]] = ("root" if user == "-" else user,
                                     "root" if group == "-" else group)  # fmt: skip
            made.modes[words[1]] = int(mode.lstrip("~:"), 8) if mode != "-" else 0o755


# ---- The root ------------------------------------------------------------------------------------


def read(root: Path, scripts: Mapping[str, str]) -> Installed:
    """Of Debian's usual users, what the packages declare, and their scripts by packages' names."""
    made = Installed()
    masters = root / "usr/share/base-passwd"
    for line in (masters / "group.master").read_text().splitlines():
        name, _, gid, _ = line.split(":")
        made.groups[name] = int(gid)
    for line in (masters / "passwd.master").read_text().splitlines():
        name, _, uid, gid, words, home, shell = line.split(":")
        made.users[name] = _User(int(uid), int(gid), words, home, shell)
    for path in sorted((root / "usr/lib/sysusers.d").glob("*.conf")):
        _of_sysusers(made, path.read_text())
    for _, text in sorted(scripts.items()):
        _of_script(made, text)
    for path in sorted((root / "usr/lib/tmpfiles.d").glob("*.conf")):
        _of_tmpfiles(made, path.read_text())
    return made


def _inside(root: Path, name: str) -> Path:
    """A path of the guest's in the unpacked root; its links lead to places in the guest."""
    path = root
    for part in Path(name.lstrip("/")).parts:
        if part == "..":
            continue
        path /= part
        for _ in range(8):
            if not path.is_symlink():
                break
            target = path.readlink()
            path = root / str(target).lstrip("/") if target.is_absolute() else path.parent / target
    return path


def _write_users(root: Path, made: Installed) -> None:
    etc = root / "etc"
    users, groups, shadow = [], [], []
    for name, user in made.users.items():
        # Its shell may be of a package that every Debian has, and this root has not.
        there = Path(user.shell).name in _NO_SHELL or _inside(root, user.shell).exists()
        shell = user.shell if there else "/bin/sh"
        users.append(f"{name}:x:{user.uid}:{user.gid}:{user.words}:{user.home}:{shell}\n")
        shadow.append(f"{name}:*:20000:0:99999:7:::\n")
    for name, gid in made.groups.items():
        members = [x for x in dict.fromkeys(made.members.get(name, [])) if x in made.users]
        groups.append(f"{name}:x:{gid}:{','.join(members)}\n")
    for file, lines in (("passwd", users), ("group", groups), ("shadow", shadow)):
        (etc / file).unlink(missing_ok=True)
        (etc / file).write_text("".join(lines))
    if (etc / "pam.d").is_dir():
        for file, line in _PAM.items():
            kind = file.partition("-")[0]
            (etc / "pam.d" / f"common-{file}").write_text(f"{kind} {line}\n")


def apply(root: Path, made: Installed) -> list[str]:
    """Into the root; what its owner may not do to files here is for mksquashfs, as its lines."""
    _write_users(root, made)
    for link, found in made.alternatives.items():
        place = root / link.lstrip("/")
        there = [x for x in sorted(found, reverse=True) if _inside(root, x[1]).exists()]
        if there and not place.exists() and not place.is_symlink() and place.parent.is_dir():
            place.symlink_to(there[0][1])
    for name in made.folders:
        path = _inside(root, name)
        if not path.exists():
            path.mkdir(parents=True)
    lines = {"etc/shadow": f"etc/shadow m 640 0 {made.groups.get('shadow', 0)}"}
    for name in sorted({*made.owners, *made.modes}):
        path = _inside(root, name)
        user, group = made.owners.get(name, ("root", "root"))
        gid = int(group) if group.isdigit() else made.groups.get(group)
        known = made.users.get(user)
        uid = int(user) if user.isdigit() else known and known.uid
        if not path.exists() or uid is None or gid is None or not path.is_relative_to(root):
            continue
        mode = made.modes.get(name, path.stat().st_mode & 0o7777)
        inside = path.relative_to(root).as_posix()
        lines[inside] = f"{inside} m {mode:o} {uid} {gid}"
    return list(lines.values())
