# SPDX-License-Identifier: GPL-2.0-or-later
"""What one C file names, as libclang's syntax tree has it: types are known, so that no alias,
macro or cast-free way to a member hides what it names."""

from __future__ import annotations

import os
import re
from ctypes import POINTER, byref, c_int, c_uint, c_void_p, cast
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import clang.cindex as ci  # type: ignore[import-untyped]
from clang.cindex import CursorKind as K
from clang.cindex import TypeKind as T
from table import Table

LIB: Any = ci.conf.lib
_location = LIB.clang_getCursorLocation
_file_location = LIB.clang_getFileLocation
_file_location.argtypes = [ci.SourceLocation] + [POINTER(c_void_p)] + [POINTER(c_uint)] * 3
_file_location.restype = None
_in_system = LIB.clang_Location_isInSystemHeader
_in_system.argtypes = [ci.SourceLocation]
_in_system.restype = c_int
_binary_kind = LIB.clang_getCursorBinaryOperatorKind
_unary_kind = LIB.clang_getCursorUnaryOperatorKind
for _function in (_binary_kind, _unary_kind):
    _function.argtypes = [ci.Cursor]
    _function.restype = c_int
ASSIGN = 22  # CXBinaryOperator_Assign
INCREMENTS = range(1, 5)  # CXUnaryOperator_PostInc … PreDec
ADDRESS = 5  # CXUnaryOperator_AddrOf
CONTINUE, RECURSE = 1, 2

_WHOLE = K.TRANSLATION_UNIT.value
_MEMBER, _DESIGNATED = K.MEMBER_REF_EXPR.value, K.MEMBER_REF.value
_NAME, _CALL, _FUNCTION = K.DECL_REF_EXPR.value, K.CALL_EXPR.value, K.FUNCTION_DECL.value
_VARIABLE, _FIELD = K.VAR_DECL.value, K.FIELD_DECL.value
_INITIALISER, _BINARY = K.INIT_LIST_EXPR.value, K.BINARY_OPERATOR.value
_COMPOUND, _UNARY = K.COMPOUND_ASSIGNMENT_OPERATOR.value, K.UNARY_OPERATOR.value
_UNEXPOSED = K.UNEXPOSED_EXPR.value
_RECORDS = (K.STRUCT_DECL, K.UNION_DECL)
_COPIES = ("memcpy", "memmove", "memset", "memcmp", "bzero")


@dataclass(frozen=True, order=True)
class Member:
    """A member of a record that a line names, writes, or lists without its name."""

    file: str
    line: int
    records: tuple[str, ...]  # the record, then those that it lies in
    name: str
    home: str  # the file that declares it
    how: str  # names, writes, lists, replaces
    macro: str  # "" unless its name stands in a macro's body


@dataclass(frozen=True, order=True)
class Use:
    """A function that a line calls or takes the address of, or a variable that it names."""

    file: str
    line: int
    key: str
    name: str
    home: str
    how: str  # calls, takes the address of, names the variable


@dataclass
class Facts:
    members: set[Member] = field(default_factory=set)
    uses: set[Use] = field(default_factory=set)
    declared: set[tuple[str, str, int, str]] = field(default_factory=set)  # key, file, line, name
    defined: set[tuple[str, str]] = field(default_factory=set)  # key, file
    errors: set[tuple[str, int, str]] = field(default_factory=set)
    files: set[str] = field(default_factory=set)  # that were read for them, of this tree

    def add(self, other: Facts) -> None:
        self.members |= other.members
        self.uses |= other.uses
        self.declared |= other.declared
        self.defined |= other.defined
        self.errors |= other.errors
        self.files |= other.files


class Reader:
    """Parses one file, and visits what is written in the files of `visit`."""

    def __init__(self, table: Table, file: str, flags: list[str], headers_too: bool) -> None:
        self.table = table
        self.root = table.root
        self.main = file
        self.headers_too = headers_too
        self.facts = Facts()
        self.paths: dict[int | None, str | None] = {}
        self.lines: dict[str, list[bytes]] = {}
        self.callees: set[tuple[str, int, str]] = set()
        self.failure: BaseException | None = None
        self.tu: Any = ci.Index.create().parse(str(self.root / file), args=["-x", "c", *flags])

    def path(self, handle: c_void_p) -> str | None:
        """Relative to the root; None outside it."""
        if handle.value not in self.paths:
            name = ci.File(cast(handle, ci.c_object_p)).name if handle else None
            self.paths[handle.value] = self.relative(name) if name else None
        return self.paths[handle.value]

    def relative(self, name: str) -> str | None:
        path = os.path.realpath(name)
        root = f"{self.root}/"
        return path[len(root) :] if path.startswith(root) else None

    def place(self, cursor: Any) -> tuple[str | None, int, int, int]:
        """Where it is written: a macro's body counts where the macro is used."""
        handle, line, column, offset = c_void_p(), c_uint(), c_uint(), c_uint()
        location = _location(cursor)
        _file_location(location, byref(handle), byref(line), byref(column), byref(offset))
        return self.path(handle), line.value, column.value, offset.value

    def read(self) -> Facts:
        for found in self.tu.diagnostics:
            if found.severity >= ci.Diagnostic.Error and "too many errors" not in found.spelling:
                where = found.location.file
                file = self.relative(where.name) if where else None
                text = f"does not compile: {found.spelling}"
                if file is None:
                    text = f"{text} ({where.name if where else 'no file'}:{found.location.line})"
                if file not in (None, self.main):
                    text = f"{text} (as {self.main} includes it)"
                place = (file, found.location.line) if file else (self.main, 1)
                self.facts.errors.add((*place, text))
        included = (self.relative(found.include.name) for found in self.tu.get_includes())
        self.facts.files = {self.main, *(name for name in included if name)}
        callback = ci.callbacks["cursor_visit"](self.visit)
        LIB.clang_visitChildren(self.tu.cursor, callback, None)
        if self.failure:
            raise self.failure
        return self.facts

    def visit(self, cursor: Any, parent: Any, _: Any) -> int:
        try:
            return self.visit_one(cursor, parent)
        except BaseException as error:  # ctypes would print it and go on
            self.failure = error
            return 0

    def visit_one(self, cursor: Any, parent: Any) -> int:
        kind = cursor._kind_id
        cursor._tu = self.tu
        if parent._kind_id == _WHOLE:
            if _in_system(_location(cursor)):
                return CONTINUE
            file, line, _column, _offset = self.place(cursor)
            if file is None or (file != self.main and file.endswith(".h") and not self.headers_too):
                return CONTINUE
            if kind == _FUNCTION:
                self.declare(cursor, file, line)
            elif kind == _VARIABLE:
                self.define_variable(cursor, file)
        if kind in (_MEMBER, _DESIGNATED):
            self.member(cursor)
        elif kind == _CALL:
            self.call(cursor)
        elif kind == _NAME:
            self.name(cursor)
        elif kind == _INITIALISER:
            self.initialiser(cursor)
        elif kind in (_BINARY, _COMPOUND):
            if kind == _COMPOUND or _binary_kind(cursor) == ASSIGN:
                target = next(cursor.get_children(), None)
                if target is not None:
                    self.assigned(target)
        elif kind == _UNARY:
            self.unary(cursor, parent)
        elif kind == _UNEXPOSED:
            self.decayed(cursor, parent)
        return RECURSE

    # Functions and variables

    def key(self, cursor: Any, home: str) -> str:
        usr = str(cursor.get_usr())
        return usr if usr.startswith("c:@") else f"{home}:{cursor.spelling}"

    def declare(self, cursor: Any, file: str, line: int) -> None:
        key = self.key(cursor, file)
        self.facts.declared.add((key, file, line, cursor.spelling))
        if cursor.is_definition():
            self.facts.defined.add((key, file))

    def define_variable(self, cursor: Any, file: str) -> None:
        self.facts.declared.add((self.key(cursor, file), file, 0, cursor.spelling))
        if cursor.is_definition() or cursor.storage_class != ci.StorageClass.EXTERN:
            self.facts.defined.add((self.key(cursor, file), file))

    def call(self, cursor: Any) -> None:
        target = cursor.referenced
        if target is None or target._kind_id != _FUNCTION:
            return
        file, _line, _column, offset = self.place(cursor)
        if file:
            self.callees.add((file, offset, target.spelling))
        if target.spelling in _COPIES or target.spelling.startswith("__builtin_mem"):
            for argument in list(cursor.get_arguments())[:2]:
                self.copied(argument)

    def name(self, cursor: Any) -> None:
        target = cursor.referenced
        if target is None or target._kind_id not in (_FUNCTION, _VARIABLE):
            return
        home = self.place(target)[0]
        file, line, _column, offset = self.place(cursor)
        if home is None or file is None:
            return
        if target._kind_id == _VARIABLE:
            external = target.linkage == ci.LinkageKind.EXTERNAL
            if not external and home == file:
                return
            how = "names the variable"
        else:
            called = (file, offset, target.spelling) in self.callees
            how = "calls" if called else "takes the address of"
        key = self.key(target, home)
        self.facts.uses.add(Use(file, line, key, target.spelling, home, how))

    # Members

    def records(self, declaration: Any) -> tuple[str, ...]:
        """Names of a record and of those that it lies in, innermost first."""
        names = []
        while declaration is not None and declaration.kind in _RECORDS:
            name = declaration.type.spelling.split(" ")[-1]
            if "(" not in declaration.type.spelling and name not in names:
                names.append(name)
            declaration = declaration.lexical_parent
        return tuple(names) or ("(anonymous)",)

    def add(self, cursor: Any, target: Any, name: str, how: str) -> None:
        home = self.place(target)[0]
        if home is None:
            return
        file, line, column, _offset = self.place(cursor)
        if file is None:
            return
        macro = self.macro(file, line, column, name) if how == "names" else ""
        if file == home and not macro:
            return
        record = target if target.kind in _RECORDS else target.semantic_parent
        self.facts.members.add(Member(file, line, self.records(record), name, home, how, macro))

    def macro(self, file: str, line: int, column: int, name: str) -> str:
        """The macro that a line uses, where it should have a member's name."""
        if file not in self.lines:
            self.lines[file] = (self.root / file).read_bytes().split(b"\n")
        lines = self.lines[file]
        text = lines[line - 1][column - 1 :].decode(errors="replace") if line <= len(lines) else ""
        found = re.match(r"[A-Za-z_]\w*", text)
        return found[0] if found and found[0] != name else ""

    def member(self, cursor: Any) -> None:
        target = cursor.referenced
        if target is not None and target._kind_id == _FIELD and target.spelling:
            self.add(cursor, target, target.spelling, "names")

    def record(self, type_: Any) -> Any:
        """The declaration of a record type, or None."""
        declaration = type_.get_canonical().get_declaration()
        return declaration if declaration.kind in _RECORDS else None

    def initialiser(self, cursor: Any) -> None:
        """A list that fills a record's members by their order names none of them."""
        record = self.record(cursor.type)
        if record is None:
            return
        items = list(cursor.get_children())
        if len(items) == 1 and items[0].kind == K.INTEGER_LITERAL:
            tokens = [token.spelling for token in items[0].get_tokens()]
            if tokens[:1] == ["0"]:
                return
        for item in items:
            inner = list(item.get_children())
            if not (item._kind_id == _UNEXPOSED and inner and inner[0]._kind_id == _DESIGNATED):
                self.add(cursor, record, "", "lists")
                return

    def assigned(self, target: Any) -> None:
        record = self.record(target.type)
        if record is not None and not self.owned(target):
            self.add(target, record, "", "replaces")
        self.written(target)

    def bare(self, cursor: Any) -> Any:
        while cursor.kind == K.PAREN_EXPR:
            cursor = next(cursor.get_children())
        return cursor

    def written(self, target: Any) -> None:
        """Every member on the way to what is written, as far as it lies in one piece."""
        while True:
            target = self.bare(target)
            children = list(target.get_children())
            if target._kind_id == _MEMBER:
                field_ = target.referenced
                if field_ is not None and field_._kind_id == _FIELD and field_.spelling:
                    self.add(target, field_, field_.spelling, "writes")
                if not children or children[0].type.get_canonical().kind == T.POINTER:
                    return
                target = children[0]
            elif target.kind == K.ARRAY_SUBSCRIPT_EXPR and children:
                inner = list(children[0].get_children())
                array = inner[0] if children[0]._kind_id == _UNEXPOSED and inner else children[0]
                if self.bare(array).type.get_canonical().kind == T.POINTER:
                    return
                target = array
            else:
                return

    def constant(self, type_: Any) -> bool:
        pointee = type_.get_canonical().get_pointee()
        while pointee.kind in (T.CONSTANTARRAY, T.INCOMPLETEARRAY, T.VARIABLEARRAY):
            pointee = pointee.element_type
        return bool(pointee.is_const_qualified())

    def unary(self, cursor: Any, parent: Any) -> None:
        kind = _unary_kind(cursor)
        if kind not in INCREMENTS and kind != ADDRESS:
            return
        target = next(cursor.get_children(), None)
        if target is None:
            return
        if kind == ADDRESS and (self.constant(cursor.type) or self.only_read(parent)):
            return
        self.written(target)

    def only_read(self, parent: Any) -> bool:
        parent._tu = self.tu
        return parent._kind_id == _UNEXPOSED and self.constant(parent.type)

    def decayed(self, cursor: Any, parent: Any) -> None:
        """An array that becomes a pointer through which it can be written."""
        target = next(cursor.get_children(), None)
        if target is None or cursor.type.get_canonical().kind != T.POINTER:
            return
        if target.type.get_canonical().kind != T.CONSTANTARRAY or self.constant(cursor.type):
            return
        if parent._kind_id in (
            K.ARRAY_SUBSCRIPT_EXPR.value,
            _BINARY,
            _UNARY,
        ) or self.only_read(parent):
            return
        self.written(target)

    def copied(self, argument: Any) -> None:
        """memset and its kin reach into a record without a name."""
        while argument._kind_id == _UNEXPOSED or argument.kind in (
            K.PAREN_EXPR,
            K.CSTYLE_CAST_EXPR,
        ):
            children = list(argument.get_children())
            if not children:
                return
            argument = children[-1]
        type_ = argument.type.get_canonical()
        if type_.kind in (T.CONSTANTARRAY, T.INCOMPLETEARRAY, T.VARIABLEARRAY):
            pointee = type_.element_type
        elif type_.kind == T.POINTER:
            pointee = type_.get_pointee()
        else:
            return
        record = self.record(pointee)
        if record is not None and not self.owned(argument):
            self.add(argument, record, "", "copies")

    def owned(self, target: Any) -> bool:
        """A local, or what lies in a record of this file's own room: its own copy."""
        while True:
            while target._kind_id == _UNEXPOSED or target.kind in (
                K.PAREN_EXPR,
                K.ARRAY_SUBSCRIPT_EXPR,
                K.CSTYLE_CAST_EXPR,
            ):
                children = list(target.get_children())
                if not children:
                    return False
                first = target.kind == K.ARRAY_SUBSCRIPT_EXPR
                target = children[0 if first else -1]
            target._tu = self.tu
            pointer = target.type.get_canonical().kind == T.POINTER
            if target._kind_id == _UNARY and _unary_kind(target) == ADDRESS:
                target = next(target.get_children())
            elif target._kind_id == _NAME:
                return not pointer
            elif target._kind_id == _MEMBER and target.referenced is not None:
                home, file = self.place(target.referenced)[0], self.place(target)[0]
                room = self.table.room_of(home) if home else None
                if room and file and room == self.table.room_of(file):
                    return True
                children = list(target.get_children())
                if not children or children[0].type.get_canonical().kind == T.POINTER:
                    return False
                target = children[0]
            else:
                return False


def read(table: Table, file: str, flags: list[str], headers_too: bool) -> Facts:
    return Reader(table, file, flags, headers_too).read()


def precompile(header: Path, flags: list[str], out: Path) -> bool:
    """The large headers of libraries, read once for all sources."""
    args = ["-x", "c-header", *flags]
    tu = ci.Index.create().parse(
        str(header), args=args, options=ci.TranslationUnit.PARSE_INCOMPLETE
    )
    if any(found.severity >= ci.Diagnostic.Error for found in tu.diagnostics):
        return False
    tu.save(str(out))
    return True
