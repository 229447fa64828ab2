import json
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from kernelsketch import GCWSIndex, gmm_kernel
from kernelsketch.cli.commands.index import Build
from kernelsketch.cli.work import index as work
from kernelsketch.exceptions import InputError
from kernelsketch.formats import RowBlock, write_rows
from kernelsketch.text import Shingles


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Sparse rows, some of them near-duplicates of others, as LIBSVM text; the kernel between them."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 5000), density=0.01, random_state=0, format="csr")
    X.data = np.round(1 + 5 * X.data)
    copies = X[:60].toarray()
    copies *= np.where(rng.random(copies.shape) < 0.1, 1.5, 1.0)
    X = sparse.csr_array(sparse.vstack([X, sparse.csr_array(copies)]))
    path = tmp_path_factory.mktemp("texts") / "rows.svm"
    write_rows(path, [(X, np.zeros(X.shape[0], int))])
    return X, gmm_kernel(X), path


def test_an_index_that_will_be_too_large_is_refused_before_it_grows(monkeypatch):
    class Blocks(list):
        rows = expected = 0

        def __iter__(self):
            for X in super().__iter__():
                self.rows += X.shape[0]
                yield RowBlock(X, None)

    index, task = GCWSIndex(n_tables=0, n_components=64), Build(inputs=["rows"], index=Path("i"), memory="1GB")
    monkeypatch.setattr(work, "memory_left", lambda running: 1_000_000 + work.STEPS)
    with pytest.raises(InputError, match=r"index of 100,050 rows: pass --memory .*GB or more, or --codes-only"):
        work._indexed(index, Blocks([np.eye(50), np.ones((100_000, 50))]), task, None)
    assert index.n_samples_fit_ == 50
    blocks = Blocks([np.eye(50), np.eye(50)])
    blocks.expected = 100_000
    with pytest.raises(InputError, match="index of about 100,000 rows"):
        work._indexed(index, blocks, task, None)
    assert blocks.rows == 50  # at the start


def lines(found):
    return [line.split("\t") for line in found.stdout.splitlines()]


@pytest.mark.parametrize("options", [(), ("--codes-only",), ("--recall", 0.9), ("--heavy-fraction", 0.7)])
def test_build_and_query(command, texts, tmp_path, options, small_blocks):
    small_blocks()
    X, K, path = texts
    found = command("index", "build", path, "-i", tmp_path / "i.safetensors", *options, "--json")
    facts = json.loads(found.stdout)
    assert facts["rows"] == 460
    assert facts["n_features"] == X.shape[1]
    assert (facts["expected"] is not None) == ("--recall" in options)
    command("index", "build", path, "-i", tmp_path / "i.safetensors", *options)
    index = GCWSIndex.load(tmp_path / "i.safetensors")
    found = lines(command("index", "query", path, "-i", tmp_path / "i.safetensors", "-n", 3))
    assert found[0] == ["row", "neighbor", "similarity"]
    distances, ids = index.kneighbors(X, 3)
    expected = [(i, j, 1 - d) for i in range(460) for j, d in zip(ids[i], distances[i], strict=True) if j >= 0]
    assert [(int(a), int(b)) for a, b, _ in found[1:]] == [(i, j) for i, j, _ in expected]
    np.testing.assert_allclose([float(c) for *_, c in found[1:]], [s for *_, s in expected], atol=1e-5)
    if options != ("--codes-only",):
        np.testing.assert_allclose([s for *_, s in expected], [K[i, j] for i, j, _ in expected], rtol=1e-5)


def test_query_by_similarity(command, texts, tmp_path):
    _, K, path = texts
    command("index", "build", path, "-i", tmp_path / "i.safetensors")
    found = command("index", "query", path, "-i", tmp_path / "i.safetensors", "--threshold", 0.6, "--json")
    answers = [json.loads(line) for line in found.stdout.splitlines()]
    assert [one["row"] for one in answers] == list(range(460))
    for one in answers:
        assert one["row"] in one["neighbors"]
        np.testing.assert_allclose(one["similarity"], K[one["row"], one["neighbors"]], rtol=1e-5)
        assert min(one["similarity"]) >= 0.6
    command("index", "query", path, "-i", tmp_path / "i.safetensors", "-o", tmp_path / "out.tsv.gz", "--n-tables", 4)
    command("index", "build", path, "-i", tmp_path / "m.safetensors", "--heavy-fraction", 0.7)
    some, more = (
        lines(
            command(
                "index",
                "query",
                path,
                "-i",
                tmp_path / "m.safetensors",
                "--threshold",
                0.01,
                "--heavy-fraction",
                heavy_fraction,
            )
        )
        for heavy_fraction in (0.2, 0.7)
    )
    assert set(map(tuple, some)) < set(map(tuple, more))
    assert (tmp_path / "out.tsv.gz").stat().st_size > 1000


def test_rows_of_another_width(command, texts, tmp_path):
    """New features count in the norm of a row."""
    X, _, path = texts
    command("index", "build", path, "-i", tmp_path / "i.safetensors")
    first = X[[0]]
    wide = sparse.csr_array((first.data, first.indices, first.indptr), shape=(1, 9000)).tolil()
    wide[0, 8999] = 2.0
    wide = sparse.csr_array(wide)
    write_rows(tmp_path / "wide.svm", [(wide, np.zeros(1))])
    found = lines(command("index", "query", tmp_path / "wide.svm", "-i", tmp_path / "i.safetensors", "-n", 1))
    assert found[1][:2] == ["0", "0"]
    assert float(found[1][2]) == pytest.approx(first.sum() / (first.sum() + 2), rel=1e-5)


def test_columns_by_name(command, iris, tmp_path):
    frame, _ = iris
    rows = frame.drop(columns="kind")
    rows.to_csv(tmp_path / "a.csv", index=False)
    rows[rows.columns[::-1]].to_csv(tmp_path / "b.csv", index=False)
    command("index", "build", tmp_path / "a.csv", "-i", tmp_path / "i.safetensors")
    found = [
        command("index", "query", tmp_path / name, "-i", tmp_path / "i.safetensors").stdout
        for name in ("a.csv", "b.csv")
    ]
    assert found[0] == found[1]
    assert len(found[0].splitlines()) > 150


@pytest.mark.parametrize("format", ["svm", "npz"])
def test_dedup(command, texts, tmp_path, format, small_blocks):
    small_blocks()
    X, K, path = texts
    if format == "npz":
        path = tmp_path / "rows.npz"
        write_rows(path, [(X.toarray(), None)])
    found = command("index", "dedup", path, "--threshold", 0.7, "--recall", 0.999)
    pairs = lines(found)[1:]
    expected = np.argwhere(np.triu(K, 1) >= 0.7)
    assert len(expected) >= 60
    assert [[int(a), int(b)] for a, b, *_ in pairs] == expected.tolist()  # at 0.999 each, and most are above 0.7
    exact = K[tuple(expected.T)]
    np.testing.assert_allclose([float(pair[3]) for pair in pairs], exact, rtol=1e-5)
    estimated = np.array([float(pair[2]) for pair in pairs])
    k = 128
    assert (np.abs(estimated - exact) < 4.5 * np.sqrt(exact * (1 - exact) / k) + 2 / k).all()
    assert f"{len(expected)} with a similarity of at least 0.7" in found.stderr
    objects = [json.loads(line) for line in command("index", "dedup", path, "-t", 0.7, "--json").stdout.splitlines()]
    assert set(objects[0]) == {"row", "other", "estimated", "exact"}


def test_equal_rows_are_listed_once(command, tmp_path):
    """5000 equal rows are no reason for 12,497,500 pairs."""
    rng = np.random.default_rng(1)
    X = rng.integers(1, 9, (300, 20)).astype(float)
    X[50], X[60], X[70] = X[7], X[7], X[7] * np.linspace(0.95, 1, 20)
    X = np.concatenate([X, np.repeat(X[9:10], 5000, axis=0)])
    np.save(tmp_path / "x.npy", X)
    for input in ("x.npy", "x.svm"):
        command("convert", tmp_path / "x.npy", tmp_path / "x.svm")
        found = lines(command("index", "dedup", tmp_path / input, "-t", 0.9))[1:]
        equal = [(7, 50), (7, 60), *((9, i) for i in range(300, 5300))]
        assert [(int(a), int(b)) for a, b, *_ in found] == sorted([*equal, (7, 70)])
        assert [float(s) for *_, s in found].count(1) == len(equal)


def test_what_cannot_be(command, texts, files, tmp_path):
    path, index = texts[2], tmp_path / "i.safetensors"
    command("hash", path, tmp_path / "c.safetensors", "-k", 8)
    command("index", "build", *files["npz"], "-i", index)
    by_features = tmp_path / "m.safetensors"
    facts = json.loads(command("index", "build", path, "-i", by_features, "--heavy-fraction", 0.5, "--json").stdout)
    assert (facts["heavy_fraction"], facts["n_tables"]) == (0.5, None)
    (tmp_path / "none.svm").touch()
    for options, message in [
        (("build", tmp_path / "c.safetensors", "-i", index), "holds codes"),
        (("build", tmp_path / "none.svm", "-i", index), "has no rows"),
        (("build", path, "-i", tmp_path / "no" / "i"), "There is no folder"),
        (("build", path, "-i", index, "--memory", "1kB"), "--memory 1kB is too small"),
        (("query", path, "-i", tmp_path / "c.safetensors"), "does not hold an index"),
        (("build", path, "-i", tmp_path), "It is a folder, name a file in it"),
        (
            ("query", path, "-i", index),
            "but the index has 64 features of dense rows: check that the file belongs to the index.",
        ),
    ]:
        found = command("index", *options, status=1)
        assert message in found.stderr, found.stderr
    for options, message in [
        (("build", path, "-i", index, "--n-tables", 1000, "--hashes-per-table", 8), "there can be"),
        (("build", *files["npz"], "-i", index, "--heavy-fraction", 0.5), "needs sparse rows that the index stores"),
        (("query", *files["npz"], "-i", index, "--heavy-fraction", 0.5), "the index was built with None"),
        (
            ("query", *files["npz"], "-i", index, "-n", 10_000),
            "--n-neighbors 10000 is more than the 600 rows of the index",
        ),
        (("query", path, "-i", index, "-n", 2, "--threshold", 0.5), "exclude each other"),
        (("query", path, "-i", index, "--n-rerank", 2, "--threshold", 0.5), "--n-rerank and --threshold exclude"),
        (("query", path, "-i", index, "--fill-missing", "--threshold", 0.5), "--fill-missing and --threshold exclude"),
        (("query", path, "-i", index, "--text", "body", "--label", "y"), "--label applies to rows of numbers"),
        (("dedup", path, "--text", "body", "--no-header"), "--header/--no-header applies to rows of numbers"),
        (("build", path, "-i", index, "--text", "body", "--zero-based"), "--zero-based applies to rows of numbers"),
        (("build", path, "-i", index, "--heavy-fraction", 0), "--heavy-fraction must be above 0 and at most 1"),
        (("build", path, "-i", index, "--recall", 1.5), "--recall must be above 0 and below 1"),
        (("query", path, "-i", index, "--threshold", 1.5), "--threshold must be above 0 and at most 1"),
        (("build", path, "-i", index, "--heavy-fraction", 0.5, "--recall", 0.9), "exclude each other"),
        (("build", path, "-i", index, "--heavy-fraction", 0.5, "--codes-only"), "inverted lists need the stored rows"),
        (("query", path, "-i", by_features, "--n-tables", 4), "has no tables"),
        (("dedup", path, "--threshold", 2), "--threshold must be above 0 and at most 1"),
        (("dedup", path, "--recall", 1), "--recall must be above 0 and below 1"),
    ]:
        assert message in command("index", *options, status=2).stderr
    found = command("index", "dedup", "-", stdin=path.read_bytes(), status=1)
    assert "pass --n-features" in found.stderr
    command("index", "dedup", "-", "--n-features", 5000, stdin=path.read_bytes())
    assert "Examples" in command("index", "build", "--help").stdout


def test_texts_are_rows_of_shingles(command, tmp_path):
    """Build, query and dedup; the file of the index tells how to make the rows."""
    texts = [f"{start} one two three four five six seven eight nine ten eleven twelve" for start in "abcd"]
    texts += ["something quite different that no other text has", texts[0].upper()]
    source = tmp_path / "texts.jsonl"
    source.write_text("".join(json.dumps({"body": text}) + "\n" for text in texts))
    index = tmp_path / "index.safetensors"
    command("index", "build", source, "--text", "body", "--ngram", 3, "-i", index)
    found = command("index", "query", source, "--text", "body", "-i", index, "--threshold", 0.7, "-q")
    answers = [line.split("\t") for line in found.stdout.splitlines()[1:]]
    kernel = gmm_kernel(Shingles(3).transform(texts))
    assert {(int(a), int(b)) for a, b, _ in answers} == set(map(tuple, np.argwhere(kernel >= 0.7).tolist()))
    assert all(abs(float(value) - kernel[int(a), int(b)]) < 1e-5 for a, b, value in answers)
    found = command("index", "dedup", source, "--text", "body", "--ngram", 3, "-t", 0.7, "-q")
    pairs = [line.split("\t")[:2] for line in found.stdout.splitlines()[1:]]
    assert ["0", "5"] in pairs
    assert len(pairs) == 7
    assert "pass --text" in command("index", "query", source, "-i", index, status=1).output
    assert "--ngram applies to texts" in command("index", "dedup", source, "--ngram", 3, status=2).output
    source.write_text('{"body": 1}\n')
    assert "is 1, not a text" in command("index", "dedup", source, "--text", "body", status=1).output


def test_records_without_a_text(command, tmp_path):
    """They stop the command, or are rows that no other is similar to: rows have the numbers of the records."""
    text = "one two three four five six seven eight"
    records = [json.dumps({"body": None}), "not JSON", *(json.dumps({"body": text}) for _ in range(3)), "{}"]
    records[3] = json.dumps({"body": 7})
    source, index = tmp_path / "texts.jsonl", tmp_path / "index.safetensors"
    source.write_text("\n".join(records) + "\n")
    building = ("index", "build", source, "--text", "body", "-i", index)
    querying = ("index", "query", source, "--text", "body", "-i", index, "--threshold", 0.5)
    pairing = ("index", "dedup", source, "--text", "body")
    for arguments in (building, pairing):
        assert "pass --on-error skip" in command(*arguments, status=1).output.replace("\n", " ")
    assert not index.exists()
    found = command(*building, "--on-error", "skip").output
    assert "6 texts" in found
    assert "4 records without a text; no row is similar to them" in found
    assert json.loads(command(*building, "--on-error", "skip", "--json", "-q").stdout)["skipped"] == 4
    assert "pass --on-error skip" in command(*querying, status=1).output.replace("\n", " ")
    found = command(*querying, "--on-error", "skip")
    assert found.stdout.splitlines()[1:] == ["2\t2\t1", "2\t4\t1", "4\t2\t1", "4\t4\t1"]
    assert "4 records without a text" in found.stderr
    found = command(*pairing, "--on-error", "skip")
    assert [line.split("\t")[:2] for line in found.stdout.splitlines()[1:]] == [["2", "4"]]
    assert "4 records without a text" in found.stderr
    assert "--on-error applies to texts" in command("index", "dedup", source, "--on-error", "skip", status=2).output


@pytest.mark.parametrize("wanted", [("-n", 3), ("-n", 400), ("--threshold", 0.01)])
def test_queries_are_answered_a_few_at_a_time(command, texts, tmp_path, monkeypatch, wanted):
    """All rows of an index may be similar to all queries."""
    path, index = texts[2], tmp_path / "i.safetensors"
    command("index", "build", path, "-i", index, "--n-tables", 64, "--hashes-per-table", 1)
    expected = command("index", "query", path, "-i", index, *wanted).stdout
    sizes = []
    for name in ("kneighbors", "neighbors_above"):
        search = getattr(GCWSIndex, name)
        watched = lambda self, X, *args, search=search, **named: (  # noqa: E731
            sizes.append(X.shape[0]) or search(self, X, *args, **named)
        )
        monkeypatch.setattr(GCWSIndex, name, watched)
    monkeypatch.setattr(work, "FEW_ROWS", 2)
    monkeypatch.setattr(work, "MOST_ANSWERS", 100)
    assert command("index", "query", path, "-i", index, *wanted).stdout == expected
    assert sum(sizes) == 460
    assert max(sizes) <= 100
