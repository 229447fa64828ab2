"""Schemas: each kind of fault is refused by name, when a file is written and when it is read."""

import json

import numpy as np
import pytest
from safetensors import safe_open

from helpers.damage import set_field, set_tensor
from kernelsketch.exceptions import InputError
from kernelsketch.storage import (
    OPTIONAL,
    Field,
    GrowingFile,
    Rule,
    Schema,
    Tensor,
    Text,
    When,
    With,
    atomic_file,
    load_file,
    read_header,
    save_file,
)
from kernelsketch.storage._container import write_container

SCHEMA = Schema(
    kind="a test",
    format="test.thing",
    version=3,
    fields={
        "count": Field(int, 1, 10),
        "rate": Field(float, above=0, most=2.5, nullable=True),
        "kind": Field(str, choices=("red", "blue"), required=False),
        "on": Field(bool),
        "inner": Field(dict, fields={"version": Field(int, 1, newest=2), "note": Field(str, required=False)}),
        "free": Field(dict),
    },
    tensors={
        "matrix": Tensor("u1", ("rows", "count")),
        "ends": Tensor("i8", ("rows + 1",), OPTIONAL, ascending=True),
        "weights": Tensor("f4 f8", ("rows", 2), When("kind", ("red",)), finite=True),
        "rate_table": Tensor("f8", ("any",), When("rate")),
        "twin": Tensor("f8", ("any", "any"), With("rate_table")),
        "names": Text("rows"),
    },
    sizes={"count": "count"},
    rules=(Rule("there are more than 5 rows", lambda header, sizes: sizes["rows"] <= 5),),
)


def content():
    """A header and tensors with all that the schema has."""
    header = {"count": 3, "rate": 1, "kind": "red", "on": True, "inner": {"version": 1}, "free": {"x": [1, None]}}
    tensors = {
        "matrix": np.arange(12, dtype=np.uint8).reshape(4, 3),
        "ends": np.arange(5),
        "weights": np.ones((4, 2), np.float32),
        "rate_table": np.ones(2),
        "twin": np.eye(2),
        "names": ["a", "", "日本", "\ud800"],
    }
    return header, tensors


def load(path, **options):
    return load_file(path, SCHEMA, lambda header, tensors: (header, tensors), **options)


def stored(header, tensors):
    """The tensors of the container, which write_container takes without a check."""
    found = dict(tensors)
    if "names" in found:
        names = [name.encode("utf-8", "surrogatepass") for name in found["names"]]
        found |= {
            "names": np.frombuffer(b"".join(names), np.uint8),
            "names_ends": np.cumsum([len(name) for name in names], dtype=np.int64),
        }
    return {"format": "test.thing", "format_version": 3, **header}, found


@pytest.mark.parametrize("options", [{}, {"mmap": True}, {"mmap": True, "verify": True}])
def test_round_trip(tmp_path, options):
    header, tensors = content()
    save_file(tmp_path / "file", SCHEMA, header, tensors)
    found, arrays = load(tmp_path / "file", **options)
    assert header.items() <= found.items()
    assert arrays.pop("names") == tensors.pop("names")
    assert set(arrays) == set(tensors)
    for name, array in tensors.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
    assert read_header(tmp_path / "file") == found


def test_least_content(tmp_path):
    header = {"count": 1, "rate": None, "on": False, "inner": {"version": 2}, "free": {}}
    save_file(tmp_path / "file", SCHEMA, header, {"matrix": np.zeros((0, 1), np.uint8)})
    assert set(load(tmp_path / "file")[1]) == {"matrix"}


def test_a_file_that_grows(tmp_path):
    header, tensors = content()
    matrix = tensors.pop("matrix")
    with atomic_file(tmp_path / "file") as file:
        growing = GrowingFile(file, SCHEMA, "matrix")
        growing.add(matrix[:1])
        growing.add(matrix[1:])
        growing.finish(header, tensors, "file")
    for options in ({}, {"mmap": True, "verify": True}):
        found, arrays = load(tmp_path / "file", **options)
        assert header.items() <= found.items()
        np.testing.assert_array_equal(arrays["matrix"], matrix)
        assert arrays["names"] == tensors["names"]
    with safe_open(str(tmp_path / "file"), framework="numpy") as file:
        np.testing.assert_array_equal(file.get_tensor("matrix"), matrix)
    with atomic_file(tmp_path / "other") as file:
        growing = GrowingFile(file, SCHEMA, "matrix")
        growing.add(matrix[:, :2])
        with pytest.raises(InputError, match=r"file cannot be written: the tensor matrix has shape \(4, 2\)"):
            growing.finish(header, tensors, "file")


FAULTS = [
    (set_field("count", KeyError), "the field count is missing"),
    (set_field("count", 0), "count is 0, which is not a whole number from 1 to 10"),
    (set_field("count", 11), "count is 11, which is not"),
    (set_field("count", 2.0), r"count is 2\.0, which is not a whole number"),
    (set_field("count", True), "count is True, which is not a whole number"),
    (set_field("count", None), "count is None, which is not"),
    (set_field("rate", 0), "rate is 0, which is not a finite number above 0 to 2.5"),
    (set_field("rate", 10**400), "rate is 1000000.*which is not a finite number"),
    (set_field("rate", "1"), "rate is '1', which is not a finite number"),
    (set_field("kind", "green"), "kind is 'green', which is not one of 'red', 'blue'"),
    (set_field("kind", ["red"]), "kind is .*, which is not one of"),
    (set_field("on", 1), "on is 1, which is not true or false"),
    (set_field("inner", []), r"inner is \[\], which is not an object"),
    (set_field("inner.version", KeyError), r"the field inner\.version is missing"),
    (set_field("inner.note", 5), r"inner\.note is 5, which is not a string"),
    (set_field("inner.more", 5), r"unknown field 'inner\.more'"),
    (set_field("more", 5), "unknown field 'more'"),
    (set_tensor("matrix", None), "the tensor matrix is missing"),
    (set_tensor("else", np.zeros(2)), "unknown tensor 'else'"),
    (set_tensor("matrix", np.zeros((4, 3), np.int8)), "the tensor matrix holds int8, which is not one of uint8"),
    (set_tensor("matrix", np.zeros(4, np.uint8)), r"the tensor matrix has shape \(4,\), which is not \(rows, count\)"),
    (
        set_tensor("matrix", np.zeros((4, 2), np.uint8)),
        r"shape \(4, 2\), which is not \(rows, count\): count is 3 here",
    ),
    (set_tensor("ends", np.arange(4)), r"the tensor ends .* rows \+ 1 is 5 here"),
    (set_tensor("weights", np.ones((4, 3))), r"the tensor weights .* 2 is 2 here"),
    (set_tensor("weights", None), "the tensor weights is missing, while kind is 'red'"),
    (set_field("kind", "blue"), "the tensor weights is not expected, while kind is 'blue'"),
    (set_field("kind", KeyError), "the tensor weights is not expected, while kind is None"),
    (set_field("rate", None), "the tensor rate_table is not expected, while rate is None"),
    (set_tensor("twin", None), "the tensor twin is missing, while the tensor rate_table is present"),
    (set_tensor("twin", np.zeros((2, 3))), r"the tensor twin .* any is 2 here"),
    (set_tensor("names", ["a"]), "the tensor names_ends has shape"),
]


@pytest.mark.parametrize(("change", "message"), FAULTS, ids=[message for _, message in FAULTS])
def test_faults_are_named(tmp_path, change, message):
    header, tensors = content()
    change(header, tensors)
    with pytest.raises(InputError, match=f"file cannot be written: .*{message}"):
        save_file(tmp_path / "file", SCHEMA, header, tensors)
    assert not list(tmp_path.iterdir())
    write_container(tmp_path / "file", *stored(header, tensors))
    for options in ({}, {"mmap": True}):
        with pytest.raises(InputError, match=f"file is damaged: .*{message}"):
            load(tmp_path / "file", **options)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (set_tensor("weights", np.full((4, 2), np.nan)), "weights has values that are not finite"),
        (set_tensor("ends", np.array([0, 1, 1, 2, 3])), "ends is not strictly ascending"),
    ],
)
def test_values_are_checked(tmp_path, change, message):
    header, tensors = content()
    change(header, tensors)
    write_container(tmp_path / "file", *stored(header, tensors))
    for options in ({}, {"mmap": True}):
        with pytest.raises(InputError, match=f"is damaged: {message}"):
            load(tmp_path / "file", **options)


def test_strings_that_do_not_end_where_they_should(tmp_path):
    header, arrays = stored(*content())
    for ends in ([1, 1, 7, 9], [1, 0, 7, 10], [-1, 1, 7, 10]):
        arrays["names_ends"] = np.array(ends)
        write_container(tmp_path / "file", header, arrays)
        with pytest.raises(InputError, match="names_ends does not divide the 10 bytes of names"):
            load(tmp_path / "file")


def test_rules(tmp_path):
    header = {"count": 1, "rate": None, "on": False, "inner": {"version": 2}, "free": {}}
    with pytest.raises(InputError, match="there are more than 5 rows"):
        save_file(tmp_path / "file", SCHEMA, header, {"matrix": np.zeros((6, 1), np.uint8)})


def test_newer_versions(tmp_path):
    for name, change in (("format_version", 4), ("inner", {"version": 3, "unknown": 1})):
        header, arrays = stored(*content())
        write_container(tmp_path / "file", header | {name: change, "new": 1}, arrays)
        with pytest.raises(InputError, match=r"newer kernelsketch: .* reads up to .* Update"):
            load(tmp_path / "file")


def test_other_formats(tmp_path):
    for header, message in (({"format": "other"}, "it is of format 'other'"), ({}, "its header names no format")):
        write_container(tmp_path / "file", header, {})
        with pytest.raises(InputError, match=rf"does not hold a test: {message}"):
            load(tmp_path / "file")


def test_errors_of_restoring_become_ours(tmp_path):
    save_file(tmp_path / "file", SCHEMA, *content())

    def restore(header, tensors):
        raise ZeroDivisionError("of a library")

    with pytest.raises(InputError, match="cannot be read as a test: ZeroDivisionError: of a library"):
        load_file(tmp_path / "file", SCHEMA, restore)


def test_a_changed_header_is_found_where_tensors_are_not_read(tmp_path):
    path = tmp_path / "file"
    save_file(path, SCHEMA, *content())
    whole = path.read_bytes()
    start = 8 + int.from_bytes(whole[:8], "little")
    path.write_bytes(whole[:start].replace(rb"rate\": 1", rb"rate\": 2") + whole[start:])
    for read in (lambda: load(path, mmap=True), lambda: read_header(path)):
        with pytest.raises(InputError, match="header has changed since it was written"):
            read()
    changed = bytearray(whole)
    changed[-1] ^= 1
    path.write_bytes(changed)
    load(path, mmap=True)
    with pytest.raises(InputError, match="checksum"):
        load(path, mmap=True, verify=True)
    with pytest.raises(InputError, match="checksum"):
        load(path)
    assert json.loads(whole[8:start])["__metadata__"].keys() == {"kernelsketch"}
