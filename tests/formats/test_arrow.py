import inspect
import io
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from kernelsketch.exceptions import InputError, MissingExtraError
from kernelsketch.formats import DocumentStream, Fields, open_rows, write_rows

from .conftest import stacked

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def table(X, y=None):
    columns = {f"f{j}": X[:, j] for j in range(X.shape[1])}
    return pa.table(columns | ({} if y is None else {"class": y}))


def store(path, content):
    if path.suffix == ".parquet":
        parquet.write_table(content, path, row_group_size=128)
    else:
        new = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
        with pa.OSFile(str(path), "wb") as file, new(file, content.schema) as writer:
            writer.write_table(content, max_chunksize=200)


@pytest.fixture(params=["parquet", "arrow", "arrows"])
def path(request, tmp_path):
    return tmp_path / f"rows.{request.param}"


@pytest.mark.parametrize("block_bytes", [1, 900, 1 << 26])
def test_tables(path, rows, block_bytes):
    X, y = rows
    store(path, table(X, y))
    for source in (path, io.BytesIO(path.read_bytes())):
        stream = open_rows(source, label="class", block_bytes=block_bytes)
        assert stream.n_features == 7
        assert stream.n_rows == (500 if path.suffix == ".parquet" else None)
        assert stream.feature_names == tuple(f"f{j}" for j in range(7))
        blocks = list(stream)
        assert all(block.X.nbytes <= max(block_bytes, 56) for block in blocks)
        found, labels = stacked(blocks)
        np.testing.assert_array_equal(found, X)
        np.testing.assert_array_equal(labels, y)


def test_types(path, read):
    labels = pa.array(["u", "v"]).dictionary_encode()
    store(path, pa.table({"a": pa.array([1, 2], pa.int8()), "b": [True, False], "y": labels}))
    X, y = read(path, label=-1)
    assert X.dtype == np.float32
    assert X.tolist() == [[1, 1], [2, 0]]
    assert y.tolist() == ["u", "v"]
    assert read(path, label="y", dtype="float64")[0].dtype == np.float64
    with pytest.raises(InputError, match=r"column 'y' holds .*, not numbers\. Encode it, .*drop='y'.*label="):
        read(path)
    with pytest.raises(InputError, match="has 2 columns of features, but n_features=5"):
        read(path, label="y", n_features=5)


def test_missing_values(path, read):
    store(path, pa.table({"a": [1.0] * 300, "b": [1.0] * 299 + [None], "y": [0] * 300}))
    with pytest.raises(InputError, match="row 299, column 'b': the value is missing"):
        read(path, label="y", block_bytes=1000)
    store(path, pa.table({"a": [1.0, 2.0], "y": [0, None]}))
    with pytest.raises(InputError, match="row 1, column 'y': the value is missing"):
        read(path, label="y")
    store(path, pa.table({"a": [1.0, float("nan")]}))
    with pytest.raises(InputError, match=r"contains NaN \(row 1, column 0\)"):
        read(path)


def test_labels_of_another_kind(path, read):
    store(path, pa.table({"a": [1.0], "y": [b"bytes"]}))
    with pytest.raises(InputError, match="labels of type object cannot be read"):
        read(path, label="y")


def test_damage(path, read, rows):
    store(path, table(rows[0]))
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(InputError, match="cannot be read"):
        read(path)
    path.write_bytes(b"1,2\n3,4\n")
    with pytest.raises(InputError, match="cannot be read"):
        read(path)


def test_without_pyarrow(path, monkeypatch):
    path.write_bytes(b"1,2\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kernelsketch\[data\]'"):
        open_rows(path)


def test_a_stream_cannot_be_read_anywhere(tmp_path, rows):
    class Pipe(io.RawIOBase):
        def __init__(self, data):
            self._data = io.BytesIO(data)

        def readable(self):
            return True

        def read(self, size=-1):
            return self._data.read(size)

    for name in ("rows.parquet", "rows.arrow", "rows.arrows"):
        store(tmp_path / name, table(rows[0]))
        source = Pipe((tmp_path / name).read_bytes())
        if name == "rows.arrows":
            np.testing.assert_array_equal(stacked(open_rows(source))[0], rows[0])
        else:
            with pytest.raises(InputError, match="store the bytes in a file and pass its path"):
                open_rows(source)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow"])
def test_a_file_that_is_cut_off(tmp_path, rows, name):
    """The reason is a sentence of pyarrow, which may end with a full stop of its own."""
    store(tmp_path / name, table(rows[0]))
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-20])
    with pytest.raises(InputError, match=f"{name} cannot be read: .*[^.]\\. It is damaged or of another format"):
        list(open_rows(tmp_path / name))


def test_written_and_read_again(tmp_path, read, rows):
    X, y = rows
    path = tmp_path / "out.parquet"
    assert write_rows(path, [(X[:100], y[:100]), (X[100:], y[100:])], feature_names="abcdefg") == 500
    stream = open_rows(path, label="label")
    assert stream.feature_names == tuple("abcdefg")
    found, labels = stacked(stream)
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)
    write_rows(path, open_rows(path, label="label"))
    with open_rows(path, label="label") as stream:
        assert stream.feature_names == tuple("abcdefg")


@pytest.mark.parametrize("block_bytes", [1, 1000, 1 << 26])
def test_sparse_rows(tmp_path, rows, block_bytes):
    X, y = sparse.csr_array(rows[0]), rows[1]
    path = tmp_path / "out.parquet"
    write_rows(path, [(X[:100], y[:100]), (X[100:], y[100:])])
    stream = open_rows(path, block_bytes=block_bytes)
    assert stream.n_features == 7
    blocks = list(stream)
    assert all(sparse.issparse(block.X) for block in blocks)
    found, labels = stacked(blocks)
    np.testing.assert_array_equal(found, rows[0])
    np.testing.assert_array_equal(labels, y)
    with pytest.raises(InputError, match="'indices' must be from 0 to 2"):
        list(open_rows(path, n_features=3))


def test_blocks_that_do_not_fit(tmp_path):
    X = np.ones((2, 2))
    for blocks, message in [
        ([(X, None), (X.astype(np.float32), None)], "other columns or types"),
        ([(X, None), (X, np.ones(2))], "other columns or types"),
    ]:
        with pytest.raises(InputError, match=message):
            write_rows(tmp_path / "x.parquet", blocks)
    with pytest.raises(InputError, match="a feature has the name 'label'"):
        write_rows(tmp_path / "x.parquet", [(X, np.ones(2))], feature_names=["a", "label"])
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_not_utf8(path):
    store(path, pa.table({"a_long_name": [1.0, 2.0], "b": [3.0, 4.0]}))
    path.write_bytes(path.read_bytes().replace(b"a_long_name", b"\xff_long_name"))
    for as_table in (False, True):
        with pytest.raises(InputError, match="damaged or of another format"):
            list(open_rows(path, as_table=as_table))


LISTS = {"indices": pa.array([[0, 2], [1]], pa.list_(pa.int64())), "values": pa.array([[1.0, 2.0], [3.0]])}
DAMAGE = {  # a table, and what the offsets, indices or letters in its file become
    "lists beyond the end": (pa.table(LISTS), np.array([0, 2, 3], "<i4"), np.array([0, 2, 1 << 28], "<i4")),
    "texts beyond the end": (
        pa.table({"a": [1.0, 2.0], "text": ["one", "three"]}),
        np.array([0, 3, 8], "<i4"),
        np.array([0, 3, 1 << 28], "<i4"),
    ),
    "a category that is not there": (
        pa.table({"a": [1.0, 2.0], "text": pa.DictionaryArray.from_arrays(np.array([1, 0], np.int32), ["u", "v"])}),
        np.array([1, 0], "<i4"),
        np.array([1 << 28, 0], "<i4"),
    ),
    "no UTF-8": (
        pa.table({"a": [1.0, 2.0], "text": ["one", "three"]}),
        np.frombuffer(b"onethree", "u1"),
        np.frombuffer(b"one\xff\xffree", "u1"),
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_offsets_that_point_elsewhere(tmp_path, kind):
    """pyarrow believes a file: it would read other memory, or end the process."""
    content, before, after = DAMAGE[kind]
    path = tmp_path / "rows.arrow"
    store(path, content)
    changed = path.read_bytes().replace(before.tobytes(), after.tobytes())
    assert changed != path.read_bytes()
    path.write_bytes(changed)
    has_texts = "text" in content.column_names
    with pytest.raises(InputError, match="damaged or of another format"):
        list(open_rows(path, label="text" if has_texts else None))
    with pytest.raises(InputError, match="damaged or of another format"):
        list(open_rows(path, as_table=True))
    if has_texts:
        with pytest.raises(InputError, match="damaged or of another format"), DocumentStream(path, Fields()) as stream:
            list(stream)


def one_batch(path, content, **options):
    """A file whose rows are one row group, or one batch, of few bytes."""
    if path.suffix == ".parquet":
        parquet.write_table(content, path, compression="zstd", row_group_size=1 << 30, **options)
        return
    new = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
    packed = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(path), "wb") as file, new(file, content.schema, options=packed) as writer:
        writer.write_table(content)


READ = """
import sys, resource, itertools
from kernelsketch.exceptions import InputError
from kernelsketch.formats import open_rows
limit = resource.getrlimit(resource.RLIMIT_DATA)
for as_table in (False, True):
    for batch_bytes in map(int, sys.argv[2:]):
        rows = 0
        try:
            for block in open_rows(sys.argv[1], as_table=as_table, block_bytes=1 << 22, batch_bytes=batch_bytes):
                rows += block.X.shape[0]
            print(rows)
        except InputError as error:
            print("refused after" if rows else "refused:", str(error).partition(": ")[2])
        assert resource.getrlimit(resource.RLIMIT_DATA) == limit
"""


def read_bounded(path, *batch_bytes):
    """The rows of a file, or why it is refused, for each bound: as rows, then as a table."""
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    program = [sys.executable, "-c", READ, str(path), *map(str, batch_bytes)]
    return subprocess.run(program, capture_output=True, text=True, check=True, env=environment).stdout.splitlines()


needs_limits = pytest.mark.skipif(sys.platform != "linux", reason="the bound is one of Linux")
TOO_LARGE = (
    "a batch of its rows takes more than 100000000 bytes of memory. Raise batch_bytes, or write the file with smaller "
    "row groups, pages or record batches."
)


@needs_limits
def test_a_batch_that_expands_a_thousandfold(path):
    """A page or a buffer of 160 MB, which pyarrow decodes as a whole."""
    options = {"use_dictionary": False, "data_page_size": 1 << 30}
    if "max_rows_per_page" in inspect.signature(parquet.write_table).parameters:
        options["max_rows_per_page"] = 1 << 30
    one_batch(path, pa.table({"a": np.zeros(20_000_000)}), **options)
    assert path.stat().st_size < 1e6
    assert read_bounded(path, 100_000_000, 700_000_000) == 2 * [f"refused: {TOO_LARGE}", "20000000"]


@needs_limits
@pytest.mark.parametrize("longest", [1000, 20_000_000])
def test_lists_that_expand_a_thousandfold(tmp_path, longest):
    """The rows of a batch follow from the mean length of lists, and a single long one is refused."""
    path, lengths = tmp_path / "rows.parquet", np.full(30_000, 1000)
    lengths[-1] = longest
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    size = int(lengths.sum())
    indices, values = (pa.ListArray.from_arrays(ends, pa.array(flat)) for flat in (np.zeros(size, int), np.ones(size)))
    one_batch(path, pa.table({"indices": indices, "values": values}))
    assert path.stat().st_size < 1e6
    assert read_bounded(path, 100_000_000) == 2 * ["30000" if longest == 1000 else f"refused after {TOO_LARGE}"]


def test_a_dictionary_of_long_labels(path):
    """A few kilobytes say thousands of times which label a row has."""
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 10_000 + [2]), ["a", "b", "c" * 1000])
    one_batch(path, pa.table({"x": np.arange(20_001.0), "y": labels}))
    for as_table in (False, True):
        blocks = list(open_rows(path, label="y", block_bytes=1 << 16, as_table=as_table))
        assert all(block.y.nbytes <= 1 << 16 for block in blocks)
        assert [label for block in blocks for label in block.y.tolist()] == ["a", "b"] * 10_000 + ["c" * 1000]
        assert sum(block.X.shape[0] for block in blocks) == 20_001
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1]), ["a", "c" * 1001])
    one_batch(path, pa.table({"x": np.arange(2.0), "y": labels}))
    with pytest.raises(InputError, match="row 1: the label has 1001 characters: the limit is 1000"):
        list(open_rows(path, label="y"))
    if path.suffix == ".parquet":
        return  # which has no such dictionaries
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    one_batch(path, pa.table({"x": np.arange(2.0), "y": labels}))
    with pytest.raises(InputError, match="row 1, column 'y': the value is missing"):
        list(open_rows(path, label="y"))


def test_a_dictionary_of_long_texts(path):
    """Blocks of documents are small, however often a batch repeats a long text."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1, None] * 500), ["a", "word " * 20_000])
    one_batch(path, pa.table({"text": texts}))
    with DocumentStream(str(path), Fields()) as stream:
        blocks = list(stream)
    assert [text for block in blocks for text in block.texts] == ["a", "word " * 20_000, None] * 500
    assert max(sum(len(text or "") for text in block.texts) for block in blocks) < 1 << 23
    stream = DocumentStream(str(path), Fields(), most_bytes=99_999)
    with pytest.raises(InputError, match="row 1: the document has more than 99999 bytes"), stream:
        list(stream)
