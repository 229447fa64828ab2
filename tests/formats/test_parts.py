"""Several files as one table: one stream, with one schema."""

import io
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from kernelsketch import GCWS
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.formats import _csv, _native_text, files_like, is_pattern, open_rows, row_files, write_rows


def written(folder, **contents):
    paths = []
    for name, content in contents.items():
        paths.append(folder / name.replace("_", ".", 1))
        paths[-1].write_text(content) if isinstance(content, str) else paths[-1].write_bytes(content)
    return paths


def all_rows(stream):
    blocks = list(stream)
    labels = None if blocks[0].y is None else np.concatenate([block.y for block in blocks])
    return blocks, labels


class TestText:
    def test_columns_are_read_by_name(self, tmp_path):
        paths = written(tmp_path, a_csv="x,y,kind\n1,2,p\n3,4,q\n", b_csv="kind,y,x\nq,6,5\n")
        with open_rows(paths, label=-1) as stream:  # the last column of the first part
            assert (stream.feature_names, stream.label_name, stream.format) == (("x", "y"), "kind", "csv")
            blocks, labels = all_rows(stream)
            assert stream.fraction == 1
        np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), [[1, 2], [3, 4], [5, 6]])
        assert labels.tolist() == ["p", "q", "q"]

    def test_tables_as_they_are(self, tmp_path):
        paths = written(tmp_path, a_csv="x,city\n1,Rome\n", b_csv="city,x\n,07\n")
        with open_rows(paths, as_table=True) as stream:
            assert [block.X.tolist() for block in stream] == [[["1", "Rome"]], [["07", ""]]]

    @pytest.mark.parametrize(
        ("second", "message"),
        [
            ("x,kind\n5,p\n", r"b.csv has no column 'y', but .*a.csv has: .* leave it out with drop='y'"),
            ("x,y,z,kind\n5,1,1,p\n", r"b.csv has the column 'z', but .*a.csv has not"),
            ("5,6,p\n", r"b.csv begins with no line of names, but .*a.csv has one"),
            ("x,y,kind\n5,6,p\n7,p\n", r"b.csv, line 3: the row has 2 cells"),
            ("x,kind,y\n5,p,no\n", r"b.csv, line 2, column 3 \('y'\): 'no' is not a number"),
            ("x,y,kind\n5,6,\n", r"b.csv, line 2, column 3 \('kind'\): the label is missing"),
        ],
    )
    def test_a_fault_names_the_part(self, tmp_path, second, message):
        paths = written(tmp_path, a_csv="x,y,kind\n1,2,p\n", b_csv=second)
        with pytest.raises(InputError, match=message), open_rows(paths, label="kind") as stream:
            list(stream)

    def test_schemas_are_compared_before_rows_are_read(self, tmp_path):
        paths = written(tmp_path, a_csv="x,y\n1,bad\n", b_csv="x,y\n1,2\n", c_csv="x\n1\n")
        with pytest.raises(InputError, match=r"c.csv has no column 'y'"):
            open_rows(paths)

    def test_parts_without_names(self, tmp_path):
        paths = written(tmp_path, a_csv="1,2\n", b_csv="3,4\n", c_csv="3,4,5\n", d_csv="x,y\n1,2\n")
        with open_rows(paths[:2]) as stream:
            assert np.concatenate([block.X for block in stream]).tolist() == [[1, 2], [3, 4]]
        with pytest.raises(InputError, match=r"c.csv has 3 columns of features, but .*a.csv has 2"):
            open_rows(paths[:3])
        with pytest.raises(InputError, match=r"d.csv begins with a line of names, but .*a.csv has none"):
            open_rows([paths[0], paths[3]])

    def test_labels_are_all_text_or_all_numbers(self, tmp_path):
        paths = written(tmp_path, a_csv="x,k\n1,1\n", b_csv="x,k\n1,one\n", c_csv="x,k\n1,07\n")
        with pytest.raises(InputError, match=r"b.csv, line 2, column 2 .*'one' is not a number.*text_labels=True"):
            all_rows(open_rows(paths, label="k"))
        with open_rows(paths[1:], label="k") as stream:
            assert all_rows(stream)[1].tolist() == ["one", "07"]

    def test_a_part_with_names_only_has_no_rows(self, tmp_path):
        paths = written(tmp_path, a_csv="x,k\n", b_csv="k,x\n3,4\n")
        with open_rows(paths, label="k") as stream:
            blocks, labels = all_rows(stream)
        assert (len(blocks), blocks[0].X.tolist(), labels.tolist()) == (1, [[4]], [3])

    def test_sparse_rows_have_one_width(self, tmp_path):
        paths = written(tmp_path, a_svm="1 1:1 9:2\n", b_svm="-1 2:1\n", c_svm="1 12:1\n")
        with open_rows(paths) as stream:
            assert [block.X.shape for block in stream] == [(1, 9), (1, 9), (1, 12)]
        with open_rows(paths, n_features=12) as stream:
            assert [block.X.shape for block in stream] == [(1, 12)] * 3
        with pytest.raises(InputError, match=r"c.svm, line 1.*n_features=9"):
            all_rows(open_rows(paths, n_features=9))


class TestTables:
    def test_types_are_joined(self, tmp_path):
        first = pd.DataFrame({"n": [1, 2], "c": ["a", "b"], "gap": ["x", "y"], "d": pd.to_datetime(["2020-01-01"] * 2)})
        second = pd.DataFrame({"gap": [None], "c": pd.Categorical(["a"]), "d": [np.datetime64("2021-01-01", "s")]})
        second["n"] = [0.5]
        first.to_parquet(tmp_path / "a.parquet")
        second.to_parquet(tmp_path / "b.parquet")
        with open_rows([tmp_path / "a.parquet", tmp_path / "b.parquet"], as_table=True) as stream:
            assert stream.n_rows == 3
            tables = [block.X for block in stream]
        assert tables[0].schema == tables[1].schema
        assert [table.column("n").to_pylist() for table in tables] == [[1.0, 2.0], [0.5]]
        assert tables[1].column("gap").to_pylist() == [None]
        assert tables[1].column("c").to_pylist() == ["a"]

    def test_other_types_are_refused(self, tmp_path):
        for name, values in (("a", [1, 2]), ("b", ["x", "y"])):
            pd.DataFrame({"n": [1, 2], "c": values}).to_parquet(tmp_path / f"{name}.parquet")
        paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
        message = r"b.parquet: column 'c' holds .*string, but int64 in .*a.parquet.*drop='c'"
        with pytest.raises(InputError, match=message):
            open_rows(paths, as_table=True)
        with open_rows(paths, as_table=True, drop=["c"]) as stream:
            assert [block.X.column_names for block in stream] == [["n"], ["n"]]
        with open_rows(paths, as_table=True, optional=["c"]) as stream:
            assert stream.feature_names == ("n",)
            assert [block.X.column_names for block in stream] == [["n"], ["n"]]

    def test_numbers_have_one_dtype(self, tmp_path):
        for name, dtype in (("a", np.float32), ("b", np.float64)):
            np.save(tmp_path / f"{name}.npy", np.full((2, 3), 0.1, dtype))
        with open_rows([tmp_path / "a.npy", tmp_path / "b.npy"]) as stream:
            assert [block.X.dtype for block in stream] == [np.float64, np.float64]

    def test_one_format(self, tmp_path):
        written(tmp_path, a_csv="1,2\n", b_svm="1 1:1\n")
        with pytest.raises(InputError, match=r"b.svm has the format libsvm, but .*a.csv has csv"):
            open_rows([tmp_path / "a.csv", tmp_path / "b.svm"])

    def test_codes_of_one_hash(self, tmp_path):
        X = np.random.default_rng(0).random((4, 3))
        for name, seed in (("a", 0), ("b", 0), ("c", 1)):
            codes = GCWS(8, random_state=seed).fit(X).codes(X)
            write_rows(tmp_path / f"{name}.safetensors", [(codes, None)])
        a, b, c = (tmp_path / f"{name}.safetensors" for name in "abc")
        with open_rows([a, b]) as stream:
            assert sum(len(block.X) for block in stream) == 8
        with pytest.raises(InputError, match=r"c.safetensors holds codes of another hash"):
            list(open_rows([a, c]))


class TestColumns:
    """Columns that are left out, and those that are read beside the features."""

    CONTENT = "id,x,w,y,city\nr1,1,0.5,7,Rome\nr2,2,,8,Oslo\n"

    @pytest.mark.parametrize("as_table", [False, True])
    def test_csv(self, tmp_path, as_table):
        (path,) = written(tmp_path, a_csv=self.CONTENT)
        beside = [("sample_weight", "w"), ("id", "id")]
        with open_rows(path, label="y", drop=["city"], beside=beside, as_table=as_table) as stream:
            assert stream.feature_names == ("x",)
            block = next(stream)
            assert block.X.astype(float).tolist() == [[1], [2]]
            assert {name: column.tolist() for name, column in block.carried.items()} == {
                "w": ["0.5", ""],
                "id": ["r1", "r2"],
            }
            assert stream.place(block, 1).endswith("a.csv, line 3")

    def test_numbers_without_names(self, tmp_path):
        (path,) = written(tmp_path, a_csv="a,1,5,2\nb,3,6,4\n")
        np.save(tmp_path / "a.npy", np.array([[9, 1, 5, 2], [9, 3, 6, 4]]))
        for source, id in ((path, ["a", "b"]), (tmp_path / "a.npy", [9, 9])):
            with open_rows(source, label=-1, drop=[2], beside=[("id", "0")], header=None) as stream:
                block = next(stream)
                assert (block.X.tolist(), block.y.tolist(), block.carried["0"].tolist()) == ([[1], [3]], [2, 4], id)
                assert stream.opened.places == (1,)

    def test_parquet(self, tmp_path):
        pd.read_csv(io.StringIO(self.CONTENT)).to_parquet(tmp_path / "a.parquet")
        with open_rows(tmp_path / "a.parquet", label="y", drop=["city"], beside=[("id", "id"), ("w", "w")]) as stream:
            block = next(stream)
            assert (block.X.tolist(), block.carried["id"].to_pylist()) == ([[1], [2]], ["r1", "r2"])
            assert block.carried["w"].to_pylist() == [0.5, None]
            assert stream.place(block, 1).endswith("a.parquet, row 1")

    def test_only_some_features(self, tmp_path):
        (path,) = written(tmp_path, a_csv=self.CONTENT)
        with open_rows(path, features=["y", "x"]) as stream:  # the other columns may hold text
            assert (stream.feature_names, next(stream).X.tolist()) == (("x", "y"), [[1, 7], [2, 8]])

    def test_what_is_refused(self, tmp_path):
        (path,) = written(tmp_path, a_csv=self.CONTENT)
        (tmp_path / "a.svm").write_text("1 1:1\n")
        for options, message in (
            ({"drop": ["z"]}, "drop='z': .* has no column of that name. Its columns are 'id'"),
            ({"drop": ["y"], "label": "y"}, "drop='y': this column of .* is the label"),
            ({"beside": [("id", "y")], "label": "y"}, "id='y': this column of .* is the label already"),
            ({"beside": [("id", "z")]}, "id='z': .* has no column of that name"),
        ):
            with pytest.raises(InputError, match=message) as found:
                open_rows(path, **options)
            assert found.value.parameter in ("drop", "id")
        with pytest.raises(InputError, match=r"drop='x' does not apply to .*whose format is libsvm"):
            open_rows(tmp_path / "a.svm", drop=["x"])
        with pytest.raises(InputError, match=r"sample_weight='w' does not apply to .*whose format is libsvm"):
            open_rows(tmp_path / "a.svm", beside=[("sample_weight", "w")])

    def test_native_code_passes_over_columns(self, tmp_path, monkeypatch):
        taken = []

        def counted(*given):
            found = _native_text.parse_csv(*given)
            taken.append(found.rows)
            return found

        monkeypatch.setattr(_csv, "parse_csv", counted)
        rows = np.random.default_rng(0).normal(size=(3000, 4)).round(3)
        frame = pd.DataFrame(rows, columns=list("abcd"))
        frame.to_csv(tmp_path / "plain.csv", index=False)
        frame.assign(name="n, o").to_csv(tmp_path / "named.csv", index=False)
        X = [
            np.concatenate([block.X for block in open_rows(tmp_path / name, label="d", block_bytes=1 << 14, **options)])
            for name, options in (("plain.csv", {}), ("named.csv", {"drop": ["name"]}))
        ]
        np.testing.assert_array_equal(*X)
        assert sum(taken) > 4000  # of 6000


class TestEncodings:
    CONTENT = "ville,y\nOrléans,à\nNîmes,é\n"

    @pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig", "UTF8"])
    def test_text_is_the_same(self, tmp_path, encoding):
        (path,) = written(tmp_path, a_csv=self.CONTENT.encode(encoding))
        with open_rows(path, label="y", as_table=True, encoding=encoding) as stream:
            block = next(stream)
        assert (block.X.tolist(), block.y.tolist()) == ([["Orléans"], ["Nîmes"]], ["à", "é"])

    def test_numbers_by_native_code(self, tmp_path):
        paths = written(tmp_path, a_csv="x,y\n1.5,é\n".encode("latin-1"), b_svm="é 1:2\n".encode("utf-16"))
        for path, encoding, X in zip(paths, ("latin-1", "utf-16"), (1.5, 2), strict=True):
            with open_rows(path, label=None if encoding == "utf-16" else "y", encoding=encoding) as stream:
                block = next(stream)
            assert (np.ravel(block.X.sum()).tolist(), block.y.tolist()) == ([X], ["é"])

    def test_the_byte_that_is_wrong(self, tmp_path):
        latin, utf16 = written(tmp_path, a_csv=self.CONTENT.encode("latin-1"), b_csv=self.CONTENT.encode("utf-16"))
        message = r"a.csv, line 2, byte 4: 0xe9 is not UTF-8 .*encoding='cp1252'.*encoding='latin-1'"
        with pytest.raises(InputError, match=message):
            list(open_rows(latin, as_table=True))
        with pytest.raises(InputError, match=r"b.csv has the encoding UTF-16: pass encoding='utf-16'"):
            open_rows(utf16)
        with pytest.raises(InputError, match=r"a.csv, line 2: 0xe9 is not ascii"):
            list(open_rows(latin, as_table=True, encoding="ascii"))
        for wrong in ("klingon", "rot13", 8):
            with pytest.raises(InputError, match="encoding must be the name of an encoding"):
                open_rows(latin, encoding=wrong)
        sparse_rows = tmp_path / "a.npz"
        sparse.save_npz(sparse_rows, sparse.csr_array(np.eye(2)))
        with pytest.raises(InputError, match=r"encoding='iso8859-1' does not apply to .*whose format is npz"):
            open_rows(sparse_rows, encoding="latin-1")


class TestFolders:
    def test_what_is_a_part(self, tmp_path):
        for name in ("part-10.csv", "part-02.csv", "part-1.csv", "_SUCCESS", ".part-10.csv.crc", "part-1.csv.crc"):
            (tmp_path / name).write_text("1,2\n")
        (tmp_path / "part-3.csv").touch()  # as Spark writes a part without rows
        (tmp_path / "_temporary").mkdir()
        (tmp_path / "_temporary" / "part-4.csv").write_text("1,2\n")
        names = [path[len(str(tmp_path)) + 1 :] for path in row_files([str(tmp_path)])]
        assert names == ["part-02.csv", "part-1.csv", "part-10.csv"]
        assert row_files([str(tmp_path / "part-?.csv"), "other.csv"]) == [str(tmp_path / "part-1.csv"), "other.csv"]

    def test_partitions_are_refused(self, tmp_path):
        inner = tmp_path / "sales" / "year=2024"
        inner.mkdir(parents=True)
        (inner / "part-0.csv").write_text("1,2\n")
        with pytest.raises(InputError, match=r"year=2024, whose column 'year' is in no file.*sales/year=\*'"):
            row_files([str(tmp_path / "sales")])
        assert row_files([str(tmp_path / "sales" / "year=*")]) == [str(inner / "part-0.csv")]

    def test_names_with_the_letters_of_patterns(self, tmp_path):
        path = tmp_path / "rows[1].csv"
        path.write_text("1,2\n")
        assert not is_pattern(str(path))
        assert row_files([str(path)]) == [str(path)]

    def test_what_cannot_be_read(self, tmp_path):
        with pytest.raises(InputError, match=r"none\*.csv matches no file"):
            files_like(str(tmp_path / "none*.csv"))
        with pytest.raises(InputError, match="has no files of rows"):
            row_files([str(tmp_path)])
        (tmp_path / "a.csv").touch()
        with pytest.raises(InputError, match="all files are empty"):
            row_files([str(tmp_path)])
        with pytest.raises(InputError, match="standard input is read alone"):
            row_files(["-", "a.csv"])
        assert row_files(["-"]) == ["-"]
        for sources, error in (([], InputError), (["a", "-"], InputTypeError), ([io.BytesIO(), "a"], InputTypeError)):
            with pytest.raises(error, match="source"):
                open_rows(sources)


@pytest.mark.slow
def test_memory_is_that_of_a_block(tmp_path):
    """Thirty parts of 8 MB each are read in the memory of one of them; a limit of the address space enforces it."""
    rows = np.random.default_rng(0).random((10_000, 100)).astype(np.float64)
    for number in range(30):
        np.save(tmp_path / f"part-{number:02}.npy", rows)
    script = textwrap.dedent(f"""
        import resource
        from kernelsketch.formats import open_rows, row_files
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        paths = row_files([{str(tmp_path)!r}])
        list(open_rows(paths[0], block_bytes=1 << 20))[:0]
        before, rows = peak(), 0
        for block in open_rows(paths, block_bytes=1 << 20):
            rows += len(block.X)
        assert rows == 300_000, rows
        assert peak() - before < 40_000_000, peak() - before
    """)
    subprocess.run([sys.executable, "-c", script], check=True)
