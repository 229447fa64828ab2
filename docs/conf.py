"""Sphinx configuration. Nothing is fetched while the pages are built."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from docutils import nodes

import kernelsketch

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "kernelsketch"
author = "The kernelsketch developers"
copyright = author
release = version = kernelsketch.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",  # docs/_ext: formulas that need no network
    "losses",  # docs/_ext: the table of losses
    "measured",  # docs/_ext: tables of benchmarks/results
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "_templates", "**sg_execution_times.rst"]
suppress_warnings = ["sphinx_gallery.space_in_filename"]  # a space in the path of the checkout does no harm
root_doc = "index"
default_role = "py:obj"

autosummary_generate = True
toc_object_entries_show_parents = "hide"  # "On this page" has room for a method's name, not for its class
autodoc_typehints = "none"  # numpydoc sections name the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template of a class lists its own methods

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "backreferences_dir": "reference/generated/backreferences",
    "doc_module": ("kernelsketch",),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "kernelsketch"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
}
html_sidebars = {"index": [], "performance": [], "which-tool": []}  # nothing else in their sections


COMMANDS = ["train", "predict", "evaluate", "export", "hash", "kernel", "convert", "info", "dedup"]
COMMANDS += ["index build", "index query", "index dedup", "demo", "datasets", "reproduce", "report", "theory"]


def setup(app):
    app.connect("builder-inited", write_help)
    app.connect("autodoc-skip-member", skip_of_others)
    app.connect("autodoc-process-signature", name_types)
    app.connect("autodoc-process-docstring", escape_shapes, priority=400)  # before numpydoc
    app.connect("doctree-resolved", keep_errors_together)


def write_help(app):
    """Write what each command says about itself, for reference/commands."""
    folder = Path(app.srcdir) / "reference" / "generated" / "commands"
    folder.mkdir(parents=True, exist_ok=True)

    def write(name):
        command = [sys.executable, "-m", "kernelsketch", *name.split(), "--help"]
        environment = {**os.environ, "COLUMNS": "86", "NO_COLOR": "1"}
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        text = "\n".join(line.rstrip() for line in found.stdout.strip("\n").splitlines())
        (folder / f"{name.replace(' ', '-')}.txt").write_text(text + "\n")

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, COMMANDS))


def skip_of_others(app, what, name, obj, skip, options):
    """Leave out methods that base classes of scikit-learn and Spark bring along; their own pages have them."""
    made = re.fullmatch(r"set_\w+_request", name) is not None
    return True if made or str(getattr(obj, "__module__", "")).startswith(("sklearn.", "pyspark.")) else None


def name_types(app, what, name, obj, options, signature, returned):
    """Show a default that is a type by its name: ``numpy.float64``, not ``<class 'numpy.float64'>``."""
    return (signature and re.sub(r"<class '([\w.]+)'>", r"\1", signature)), returned


def escape_shapes(app, what, name, obj, options, lines):
    """Escape names such as ``n_features_in_`` in a shape, where the underscore would make a link."""
    lines[:] = [re.sub(r"([(, ]\w+)_([,)])", r"\1\\_\2", line) for line in lines]


def keep_errors_together(app, doctree, name):
    """Make the spaces of ``91.8 ± 0.7`` non-breaking in tables, whose narrow cells would become three lines."""
    for cell in doctree.findall(nodes.entry):
        for text in list(cell.findall(nodes.Text)):
            if " ± " in text:
                text.parent.replace(text, nodes.Text(text.replace(" ± ", "\u00a0±\u00a0")))
