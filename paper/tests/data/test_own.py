"""Files of a user as datasets."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from kernelsketch.exceptions import InputError
from kernelsketch_paper.data import _own, entry, import_file, is_own, load

RNG = np.random.default_rng(0)
X = RNG.normal(size=(31, 4))
Y = np.array(["b", "a", "c"])[np.arange(31) % 3]


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(_own, "_registered", {})


def _csv(path):
    lines = ["u,v,w,x,kind", *(",".join([*map(repr, row.tolist()), label]) for row, label in zip(X, Y, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return "kind"


def _npz(path):
    np.savez(path, X=X, y=Y)


def _libsvm(path):
    dump_svmlight_file(X, np.arange(31) % 3, str(path), zero_based=False)


def _parquet(path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({**{f"f{j}": X[:, j] for j in range(4)}, "kind": Y}), path)
    return "kind"


@pytest.mark.parametrize(
    ("name", "write"), [("a.csv", _csv), ("b.npz", _npz), ("c.svm", _libsvm), ("d.parquet", _parquet)]
)
def test_rows_and_labels_come_back(tmp_path, name, write):
    path = tmp_path / name
    label = write(path)
    assert is_own(str(path))
    assert import_file(str(path), label, tmp_path / "out") == name
    assert not is_own(name)
    data = load(name)
    found = data.X.toarray() if sparse.issparse(data.X) else data.X
    np.testing.assert_allclose(found, X, rtol=1e-15)
    assert [data.classes[i] for i in data.y] == list(
        Y if label or name == "b.npz" else map(str, map(float, np.arange(31) % 3))
    )
    assert (len(data.train), len(data.test), data.split) == (16, 15, "random")
    assert entry(name).origin == "your file"


def test_files_that_cannot_be_used_are_refused(tmp_path):
    with pytest.raises(InputError, match="neither a dataset of the registry nor a file"):
        import_file(str(tmp_path / "no.csv"), "kind", tmp_path)
    assert is_own("no.csv")  # so that the error is that of a file, not of a dataset or of --label
    assert not is_own("Cat")
    files = {
        "many.csv": ("u,v\n" + "".join(f"1,{i}\n" for i in range(201)), "v", "201 different labels.* 2 to 200 classes"),
        "one.csv": ("u,v\n1,2\n3,2\n", "v", "1 different labels"),
        "none.csv": ("u,v\n1,2\n3,4\n", None, "has no labels: name the column of the classes with --label"),
        "text.csv": ("u,v\nx,2\ny,4\n", "v", "line 2, column 1 .'u'.: 'x' is not a number"),
    }
    for name, (text, label, message) in files.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=message):
            import_file(str(tmp_path / name), label, tmp_path)
        assert not (tmp_path / f"{name}.npz").exists()


def test_the_digest_belongs_to_the_content_and_the_label(tmp_path):
    (tmp_path / "a.csv").write_text("u,v\n1,2\n3,4\n")
    first = _own.digest(tmp_path / "a.csv", "v")
    assert _own.digest(tmp_path / "a.csv", "u") != first
    (tmp_path / "a.csv").write_text("u,v\n1,2\n3,5\n")
    assert _own.digest(tmp_path / "a.csv", "v") != first
