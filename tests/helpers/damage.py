"""Changes of a stored file, as functions of its header and its tensors: what a damaged or hostile file may hold."""

from __future__ import annotations


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
