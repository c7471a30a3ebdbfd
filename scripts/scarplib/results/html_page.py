# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of HTML, from the templates in this folder (Jinja2: in the cache's venvs)."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

# Heading, explanation and PNG.
Picture = tuple[str, str, bytes]


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["base64"] = lambda data: base64.b64encode(data).decode()
    return made


def render(template: str, **values: Any) -> Markup:
    """The template's text with these values; all that is no Markup is escaped."""
    # A template of our own has escaped what is in it.
    return Markup(_environment().get_template(template).render(**values))


def manifest_text(manifest: object) -> str:
    """As a page shows what made it."""
    return json.dumps(manifest, indent=2)
