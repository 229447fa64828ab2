"""Changes of a stored file, as functions of its header and its tensors: what a damaged or hostile file may hold."""

from __future__ import annotations

import numpy as np
import pytest

from kernelsketch import load_model
from kernelsketch.exceptions import InputError
from kernelsketch.storage import load_file, save_file
from kernelsketch.tabular._file import TABULAR_SCHEMA

OF_THE_WRITER = ("sha256", "header_sha256", "format", "format_version")


def set_field(path, value):
    """Set a field of the header, named as in ``hash.seed``; ``KeyError`` removes it."""

    def change(header, tensors):
        *folders, name = path.split(".")
        for folder in folders:
            header = header[folder]
        if value is KeyError:
            del header[name]
        else:
            header[name] = value

    return change


def set_tensor(name, value):
    """Replace a tensor, by an array or by a function of the one that was there; ``None`` removes it."""

    def change(header, tensors):
        if value is None:
            del tensors[name]
        else:
            tensors[name] = value(tensors[name]) if callable(value) else value

    return change


def rewritten(path, schema, change):
    """Write a file anew with a change of its header and tensors, by a writer without checks."""
    header, tensors = load_file(path, schema, lambda *parts: parts)
    header = {k: (dict(v) if isinstance(v, dict) else v) for k, v in header.items() if k not in OF_THE_WRITER}
    tensors = {name: np.array(part) for name, part in tensors.items()}
    change(header, tensors)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(schema), "check", lambda *_: None)
        save_file(path, schema, header, tensors)


def assert_refused(header, tensors, change, tmp_path, monkeypatch):
    """Check that a file of a tabular model with a change of its header and tensors is refused."""
    header = {key: (dict(value) if isinstance(value, dict) else value) for key, value in header.items()}
    header["model"] = {k: (dict(v) if isinstance(v, dict) else v) for k, v in header["model"].items()}
    header.pop("sha256", None), header.pop("header_sha256", None)
    changed = dict(tensors)
    change(header, changed)
    path = tmp_path / "damaged.safetensors"
    with monkeypatch.context() as patch:  # a writer without checks
        patch.setattr(type(TABULAR_SCHEMA), "check", lambda *_: None)
        save_file(
            path, TABULAR_SCHEMA, {k: v for k, v in header.items() if k not in ("format", "format_version")}, changed
        )
    with pytest.raises(InputError):
        load_model(path)
