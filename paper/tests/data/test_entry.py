"""The registry."""

import re

import pytest

from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch_paper.data import Entry, entry, names
from kernelsketch_paper.data._bundled import RECIPES as GENERATED
from kernelsketch_paper.data._entry import BUNDLED, Remote
from kernelsketch_paper.data._mnist import RECIPES
from kernelsketch_paper.data._parse import READERS
from kernelsketch_paper.data._splits import RULES
from kernelsketch_paper.experiments._results import published

DIFFER = {"Dexter": "n_features", "Magic": "n_train n_test", "PageBlocks": "n_test"}  # each has a note
OTHERS = ["a9a", "Adult", "CovertypeFull_binary", "DNA", "HiggsSample"]
OTHERS += ["Pendigits", "Phishing", "ReutersBinary", "Sector", "USPS"]
TABLES = ("uci", "large", "mnist")
BASES = ["Isolet", "Shuttle", "SkinSeg", "Thyroid", "MNIST"]


def test_every_dataset_of_the_paper_comes_first_and_in_its_order():
    assert names()[:57] == list(published())
    assert {name for name in names()[57:] if not entry(name).is_bundled} == {*OTHERS, *BASES}
    assert all(entry(name).in_paper == (name in published()) for name in names())


@pytest.mark.parametrize("name", list(published()))
def test_sizes_are_those_of_the_paper(name):
    for field in ("n_train", "n_test", "n_features"):
        same = getattr(entry(name), field) == getattr(published()[name], field)
        assert same == (field not in DIFFER.get(name, "").split()), field


@pytest.mark.parametrize("name", names())
def test_an_entry_is_complete(name):
    found = entry(name)
    assert isinstance(found, Entry)
    assert found.name == name
    whose = () if found.source == "generated" else ("page", "citation")
    for field in ("title", "source", "licence", "preprocessing", *whose):
        assert getattr(found, field), field
    assert found.source in ("UCI", "LIBSVM", "OpenML", "MNIST", "other", *BUNDLED)
    assert found.split in RULES
    assert found.n_features
    assert found.recipe is None or found.recipe in (GENERATED if found.source == "generated" else RECIPES)
    assert found.stands_for in (TABLES if found.is_bundled else ("",))
    assert found.part_of is None or (found.file == f"{found.part_of}.npz" and entry(found.part_of).part_of is None)
    assert found.sha256 is None or re.fullmatch("[0-9a-f]{64}", found.sha256)
    assert found.is_bundled or found.remote or found.by_hand or found.sha256, "nobody could get it"
    assert name not in DIFFER or found.note


@pytest.mark.parametrize("name", [name for name in names() if entry(name).remote])
def test_a_download_is_complete(name):
    remote = entry(name).remote
    assert isinstance(remote, Remote)
    assert remote.format in READERS
    assert remote.size > 10_000
    assert remote.rows is None or remote.rows >= (entry(name).n_train or 0) + (entry(name).n_test or 0)
    assert all(url.startswith(("https://", "http://")) for url in remote.urls)
    assert len(remote.sha256) in (0, len(remote.urls))
    assert all(re.fullmatch("[0-9a-f]{64}", sha256) for sha256 in remote.sha256)
    needs_flag = entry(entry(name).part_of or name).split != "random"
    flagged = bool(remote.test) or "test_flag" in dict(remote.options)
    assert flagged or not needs_flag or name in ("Isolet", "Isolet2k")  # as their note says


def test_an_unknown_name_gives_close_ones_and_where_all_are_listed():
    with pytest.raises(InputError, match=r"name='leter' is not a dataset of the registry\. Did you mean Letter"):
        entry("leter")
    with pytest.raises(InputError, match=r"M-Noise\d"):
        entry("m-noise")
    with pytest.raises(InputError, match=r"name='' is not a dataset of the registry. `kernelsketch datasets` and "):
        entry("")
    for unknown in ("leter", "m-noise", "", "zzz"):
        with pytest.raises(InputError) as caught:
            entry(unknown)
        assert sum(name in str(caught.value) for name in names()) <= 4  # three close ones, and names within names
    with pytest.raises(InputTypeError, match="name must be the name of a dataset as a string, got 3 of type int"):
        entry(3)
