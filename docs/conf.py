# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""How Sphinx makes the documentation: `make docs` writes it to build/site. The pages are Markdown, read by MyST."""

import pathlib

project = "shardproof"
author = "The shardproof authors"
copyright = f"2026, {author}"
release = (pathlib.Path(__file__).parent.parent / "VERSION").read_text().strip()
extensions = ["myst_parser"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
html_theme = "alabaster"
html_theme_options = {
    "description": "Proves that a distributed machine-learning program computes what its one-device original computes",
    "fixed_sidebar": True,
    "page_width": "1100px",
}
html_show_sphinx = False
# Lexers are strict about what is not quite JSON (a placeholder, a comment): shown all the same.
suppress_warnings = ["misc.highlighting_failure"]
