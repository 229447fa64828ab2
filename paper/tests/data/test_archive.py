"""Files inside archives, and archives that lie."""

import bz2
import gzip
import io
import lzma
import tarfile
import tracemalloc
import zipfile

import pytest

from kernelsketch.exceptions import InputError
from kernelsketch_paper.data._archive import SourceFile, members, opened

from .packing import tarred, zipped

MANY = bytes(20_000_000)


@pytest.fixture
def put(tmp_path):
    def write(name, content, member=None):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_bytes(content)
        return SourceFile(tmp_path / "in" / name, member)

    return write


def read(file):
    with opened(file) as content:
        return content.read()


def test_a_member_is_found_by_the_end_of_its_path(put):
    content = zipped({"D/Protocol/s1.dat": b"one", "D/Optional/s1.dat": b"two", "D/Protocol/xs1.dat": b"three"})
    assert read(put("a.zip", content, "Protocol/s1.dat")) == b"one"
    assert read(put("a.zip", content, "xs1.dat")) == b"three"
    with pytest.raises(InputError, match=r"a\.zip has 2 files s1\.dat: the source has changed its archive"):
        read(put("a.zip", content, "s1.dat"))
    with pytest.raises(InputError, match=r"a\.zip has no file s2\.dat: the source has changed its archive"):
        read(put("a.zip", content, "s2.dat"))


@pytest.mark.parametrize(("kind", "pack"), [("zip", zipped), ("tar", tarred)])
def test_archives_in_archives(put, kind, pack):
    inner = zipped({"D/Protocol/s1.dat": b"one"})
    assert read(put(f"a.{kind}", pack({"readme.pdf": b"", "D.zip": inner}), "Protocol/s1.dat")) == b"one"
    assert read(put(f"a.{kind}", pack({"d/t/x.txt.gz": gzip.compress(b"two")}), "t/x.txt.gz")) == b"two"
    found = members(put(f"a.{kind}", pack({"D.zip": inner})), r"(s\d)\.dat")
    assert [(match.group(1), content.read()) for match, content in found] == [("s1", b"one")]


def test_members_come_in_order_and_once(put):
    file = put("a.zip", zipped({"x/b/2": b"B2", "x/a/1": b"A1", "x/a/readme": b""}))
    assert [(match.group(1), content.read()) for match, content in members(file, r"(\w)/\d$")] == [
        ("a", b"A1"),
        ("b", b"B2"),
    ]
    file = put("a.zip", zipped({"x/a/1": b"A1", "y/a/1": b"A2"}))
    with pytest.raises(InputError, match=r"a\.zip has two files a/1"):
        list(members(file, r"(\w)/\d$"))


@pytest.mark.parametrize(("kind", "pack"), [("zip", zipped), ("tar", tarred)])
def test_no_name_leads_out_of_the_folder(put, tmp_path, kind, pack):
    names = ["../../evil.txt", "/tmp/evil.txt", "..\\evil.txt", "a/../../../evil.txt"]
    file = put(f"in.{kind}", pack(dict.fromkeys(names, b"1") | {"good.txt": b"2"}), "good.txt")
    assert read(file) == b"2"
    list(members(file, r"^(.*)$"))
    assert {path.name for path in tmp_path.rglob("*")} == {"in", f"in.{kind}"}


def test_links_and_devices_in_a_tar_are_no_files(put):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, kind in (("x", tarfile.SYMTYPE), ("y", tarfile.LNKTYPE), ("z", tarfile.CHRTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    for name in "xyz":
        with pytest.raises(InputError, match=f"has no file {name}"):
            read(put("a.tar", content.getvalue(), name))


@pytest.mark.parametrize(
    ("name", "content", "member"),
    [
        ("a.gz", gzip.compress(MANY), None),
        ("a.bz2", bz2.compress(MANY), None),
        ("a.xz", lzma.compress(MANY), None),
        ("a.zip", zipped({"x": MANY}), "x"),
        ("a.zip", zipped({"in.zip": zipped({"x": MANY})}), "x"),
        ("a.zip", zipped({"in.zip": MANY}), "x"),
        ("a.tar", tarred({"x.gz": gzip.compress(MANY)}), "x.gz"),
    ],
)
def test_a_bomb_is_refused_before_it_fills_the_memory(put, name, content, member):
    file = put(name, content, member)
    tracemalloc.start()
    with pytest.raises(InputError, match=r"unpacks to more than \d+ bytes, 50 times its download"):
        read(file)
    assert tracemalloc.get_traced_memory()[1] < len(MANY) // 2
    tracemalloc.stop()


def test_many_members_are_refused_together(put):
    file = put("a.zip", zipped({f"{k}": bytes(400_000) for k in range(10)}))
    with pytest.raises(InputError, match=r"a\.zip unpacks to more than"):
        list(members(file, r"(\d)"))


def test_a_zip_that_lies_about_a_size(put):
    content = zipped({"x": MANY[:5_000_000]})
    file = put("a.zip", content.replace((5_000_000).to_bytes(4, "little"), (100).to_bytes(4, "little")), "x")
    with pytest.raises(zipfile.BadZipFile):
        read(file)
