"""Download all datasets that have an address and are not on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from kernelsketch.exceptions import KernelsketchError, UnavailableError

from ._download import UnreachableError
from ._entry import Entry
from ._load import cache_folder, entry, is_here
from ._remote import download


@dataclass(frozen=True)
class Missing:
    """Datasets that are not on this machine.

    Attributes
    ----------
    to_download : tuple of Entry
        Those with an address. Datasets that are drawn from one file appear once, as the entry of the file.
    by_hand : tuple of Entry
        Those without.
    size : int
        Bytes of all downloads together, approximately. An archive of several datasets counts once.
    """

    to_download: tuple[Entry, ...]
    by_hand: tuple[Entry, ...]

    @property
    def size(self) -> int:
        return sum({found.remote.addresses: found.remote.size for found in self.to_download if found.remote}.values())


def missing(names: Iterable[str], *, folder: str | os.PathLike[str] | None = None) -> Missing:
    """Return the datasets among some that are not on this machine. ``folder`` is searched first, as by :func:`load`."""
    absent = [entry(name) for name in names if not is_here(name, folder=folder)]
    files = {found.file: entry(found.part_of or found.name) for found in absent}
    return Missing(
        to_download=tuple(found for found in files.values() if found.remote is not None),
        by_hand=tuple(found for found in files.values() if found.remote is None),
    )


def download_missing(found: Missing, on_start: Callable[[Entry], None] = lambda entry: None) -> dict[str, str]:
    """Download datasets into the cache, one after another. Return the reason for each that failed, by its name.

    A failure does not stop the others. An archive of several datasets is downloaded once, and neither an archive nor a
    server that is out of reach is tried again.
    """
    failed: dict[str, str] = {}
    out_of_reach: dict[str, str] = {}  # reasons by address or by server
    for k, one in enumerate(found.to_download):
        later = {address for other in found.to_download[k + 1 :] if other.remote for address in other.remote.addresses}
        on_start(one)
        assert one.remote is not None
        address = one.remote.addresses[0]
        server = urlsplit(address).netloc
        reason = out_of_reach.get(address) or out_of_reach.get(server)
        try:
            if reason:
                raise UnavailableError(reason)
            download(one, cache_folder(), keep=later)
        except KernelsketchError as error:
            failed[one.name] = str(error)
            if isinstance(error, UnreachableError):
                out_of_reach[server] = f"{server} was out of reach for {one.name} and was not tried again."
            elif isinstance(error, UnavailableError) and len(one.remote.addresses) == 1:
                out_of_reach.setdefault(address, str(error))
    return failed
