"""``kernelsketch index`` on texts: ids, pipes, shingles, search by words, and why a text finds nothing."""

import json

import numpy as np
import pytest

from kernelsketch import GCWSIndex, gmm_kernel
from kernelsketch.text import Shingles

WORDS = [f"word{i}" for i in range(300)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """60 texts of words, some frequent and some rare, as JSONL with ids."""
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, 301)
    texts = [" ".join(rng.choice(WORDS, 25, p=share / share.sum())) for _ in range(50)]
    texts += [text.replace(text.split()[9], "Edited!", 1) for text in texts[:10]]
    path = tmp_path_factory.mktemp("corpus") / "texts.jsonl"
    path.write_text("".join(json.dumps({"key": f"t{i}", "body": text}) + "\n" for i, text in enumerate(texts)))
    return texts, path


def answers(found):
    return [line.split("\t") for line in found.stdout.splitlines()[1:]]


@pytest.mark.parametrize(
    ("options", "shingles"),
    [
        ((), Shingles(5)),
        (("--ngram", 2, "--weight", "log"), Shingles(2, weight="log")),
        (("--analyzer", "char", "--ngram", 7, "--normalize"), Shingles(7, analyzer="char", normalize="NFKC")),
        (("--ngram", 1, "--weight", "idf"), Shingles(1, weight="idf")),
        (("--keywords",), Shingles(1, weight="idf")),
    ],
)
def test_options_of_shingles_are_those_of_python(command, corpus, tmp_path, options, shingles):
    texts, path = corpus
    index = tmp_path / "i.safetensors"
    facts = json.loads(command("index", "build", path, "--text", "body", *options, "-i", index, "--json").stdout)
    given = shingles.get_params()
    assert {name: facts[name] for name in ("ngram", "analyzer", "weight", "normalize")} == {
        "ngram": given["ngram_range"],
        **{name: given[name] for name in ("analyzer", "weight", "normalize")},
    }
    assert "n_features" not in facts
    X = shingles.fit(texts).transform(texts)
    assert facts["vocabulary"] == len(np.unique(X.indices))
    kernel = gmm_kernel(X)
    found = command("index", "query", path, "--text", "body", "-i", index, "-t", 0.6, "-q")
    pairs = {(int(a), int(b)): float(value) for a, b, value in answers(found)}
    assert set(pairs) == set(map(tuple, np.argwhere(kernel >= 0.6).tolist()))
    assert len(pairs) > 70
    np.testing.assert_allclose(list(pairs.values()), [kernel[pair] for pair in pairs], rtol=1e-4)


def test_answers_have_ids(command, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelsketch.formats._documents.BLOCK_BYTES", 4000)  # several blocks
    path = corpus[1]
    index = tmp_path / "i.safetensors"
    command("index", "build", path, "--text", "body", "--id", "key", "--ngram", 2, "-i", index)
    query = ("index", "query", path, "--text", "body", "-i", index, "-n", 1)
    assert [line[:2] for line in answers(command(*query, "--id", "key"))] == [[f"t{i}", f"t{i}"] for i in range(60)]
    assert [line[:2] for line in answers(command(*query))] == [[str(i), f"t{i}"] for i in range(60)]
    rows = [json.loads(line) for line in command(*query, "--id", "key", "--json").stdout.splitlines()]
    assert [(row["row"], row["neighbors"]) for row in rows] == [(f"t{i}", [f"t{i}"]) for i in range(60)]
    found = command("index", "dedup", path, "--text", "body", "--id", "key", "--ngram", 1, "-t", 0.9)
    assert {tuple(line[:2]) for line in answers(found)} == {(f"t{i}", f"t{i + 50}") for i in range(10)}
    loaded = GCWSIndex.load(index)
    assert loaded.has_names_
    assert loaded.names_of([59, 3, 3]) == ["t59", "t3", "t3"]


def test_queries_from_a_pipe(command, corpus, tmp_path):
    """JSON lines, plain lines with commas and colons, and lines without a word."""
    texts, path = corpus
    index = tmp_path / "i.safetensors"
    command("index", "build", "-", "--format", "jsonl", "--text", "body", "-i", index, stdin=path.read_bytes())
    query = ("index", "query", "-", "-i", index, "-t", 0.8)
    plain = f"{texts[13]}, and\n\nat 10:30 {texts[20]}"
    assert [line[:2] for line in answers(command(*query, stdin=plain.encode()))] == [["0", "13"], ["2", "20"]]
    found = command(*query, "--format", "lines", stdin=b"{" + texts[13].encode())
    assert [line[:2] for line in answers(found)] == [["0", "13"]]
    for field in ("text", "body"):  # the field text needs no name
        record = json.dumps({field: texts[14]}).encode()
        named = () if field == "text" else ("--text", field)
        assert [line[:2] for line in answers(command(*query, *named, stdin=record))] == [["0", "14"]]
    found = command(*query, stdin=b'{"body": "one"}', status=1)
    assert "If its text is one of these, pass --text" in found.stderr
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(texts))
    command("index", "build", lines, "--format", "lines", "-i", index)
    assert len(answers(command("index", "query", lines, "-i", index, "-n", 1))) == 60


def test_what_is_new(command, corpus, tmp_path):
    path = corpus[1]
    index, new = tmp_path / "i.safetensors", tmp_path / "new.jsonl"
    known = tmp_path / "known.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    known.write_bytes(b"".join(lines[:30]))
    command("index", "build", known, "--text", "body", "--ngram", 1, "-i", index)
    query = ("index", "query", path, "--text", "body", "-i", index, "-t", 0.8, "--new")
    found = command(*query, new, "-o", tmp_path / "pairs.tsv")
    assert new.read_bytes() == b"".join(lines[30:50])  # the last ten are copies of the first
    assert f"{new}, 20 of 60 texts" in found.stderr.replace("\n", "")
    assert "another name" in command(*query, tmp_path / "new.csv", status=1).stderr
    assert "--new" in command(*query, tmp_path / "new.csv", "-o", tmp_path / "new.csv", status=2).stderr
    gone = command(*query, new, "--quiet").stderr
    assert "no neighbour" not in gone


def test_why_a_text_finds_nothing(command, corpus, tmp_path):
    texts, path = corpus
    index = tmp_path / "i.safetensors"
    command("index", "build", path, "--text", "body", "-i", index)
    asked = [
        *({"body": text} for text in ("two words", "...", "none of these words is in any text", texts[0][:120])),
        {"body": None},
    ]
    source = tmp_path / "asked.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in asked))
    query = ("index", "query", source, "--text", "body", "-i", index, "-t", 0.9, "--on-error", "skip")
    rows = [json.loads(line) for line in command(*query, "--json", "-q").stdout.splitlines()]
    assert [row["reason"] for row in rows] == [
        "shorter than a shingle", "no word", "none above the threshold", "none above the threshold", "no text",
    ]  # fmt: skip
    shown = " ".join(command(*query).stderr.split())
    assert "no neighbour 5 of 5 texts" in shown
    assert "shorter than a shingle 1; a shingle has 5 words: build the index with a smaller --ngram" in shown
    assert "none above the threshold 2; the most similar row to one of them has 0." in shown
    source.write_text(json.dumps(asked[2]))
    for options in (("-t", 0.9), ("-n", 2)):
        shown = " ".join(command(*query[:7], *options).stderr.split())
        assert "1; no shingle in common with any indexed text: build the index with a smaller --ngram" in shown
    assert "no neighbour" not in command(*query[:7], "-q").stderr
    assert command("index", "query", path, "--text", "body", "-i", index, "-n", 1).stderr == ""


def test_rows_of_zeros_have_a_reason(command, tmp_path):
    np.save(tmp_path / "x.npy", np.eye(4)[:3])
    np.save(tmp_path / "q.npy", np.array([[0.0, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]))
    index = tmp_path / "i.safetensors"
    command("index", "build", tmp_path / "x.npy", "-i", index)
    found = command("index", "query", tmp_path / "q.npy", "-i", index, "--json")
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert [row.get("reason") for row in rows] == ["all values are 0", "no candidate", None]
    assert "no feature in common with any indexed row" in found.stderr.replace("\n", " ")


def test_rare_words_count_most(command, corpus, tmp_path):
    texts = ["the cat and the dog and the sea", "the harbour and the bridge", *["the cat and the dog"] * 5]
    source, index = tmp_path / "in.txt", tmp_path / "i.safetensors"
    source.write_text("\n".join(texts))
    command("index", "build", source, "--format", "lines", "--keywords", "-i", index)
    assert answers(command("index", "query", "-", "-i", index, "-n", 1, stdin=b"the cat at the harbour"))[0][1] == "1"
    info = command("info", index).stdout
    assert "index of texts" in info
    assert "heavy fraction" in info
    assert "vocabulary" in info
    assert "features  " not in info
    facts = json.loads(command("info", index, "--json").stdout)
    assert (facts["ngram"], facts["weight"], facts["vocabulary"], facts["has_ids"]) == (1, "idf", 7, "no")


def test_what_cannot_be(command, corpus, files, tmp_path):
    path, index, rows = corpus[1], tmp_path / "i.safetensors", files["svm"][0]
    command("index", "build", rows, "-i", tmp_path / "rows.safetensors")
    command("index", "build", path, "--text", "body", "-i", index)
    build = ("index", "build", path, "-i", tmp_path / "j.safetensors")
    for options, message in [
        ((*build, "--analyzer", "char"), "--analyzer applies to texts: name their field with --text"),
        ((*build, "--keywords"), "--keywords applies to texts"),
        ((*build, "--text", "body", "--keywords", "--ngram", 2), "--keywords stands for --ngram 1"),
        ((*build, "--text", "body", "--keywords", "--heavy-fraction", 0.5), "stands for --heavy-fraction 1"),
        ((*build, "--text", "body", "--keywords", "--recall", 0.9), "--recall"),
        ((*build, "--text", "body", "--format", "npz"), "--format npz is a format of rows of numbers"),
        (("index", "query", rows, "-i", tmp_path / "rows.safetensors", "--on-error", "skip"), "--on-error applies to"),
        (("index", "query", rows, "-i", tmp_path / "rows.safetensors", "--new", tmp_path / "n"), "leave out --new"),
        (("index", "query", path, "-i", index, "--n-features", 3), "--n-features applies to rows of numbers"),
    ]:
        assert message in " ".join(command(*options, status=2).stderr.split())
    piped = ("index", "build", "-", "--format", "jsonl", "--text", "body", "-i", index, "--keywords")
    assert "--keywords reads INPUT twice" in command(*piped, stdin=path.read_bytes(), status=2).stderr
    found = command(*build, "--text", "body", "--id", "doc", status=1).stderr
    assert "has no field 'doc' for ids" in found
    lines = tmp_path / "lines.txt"
    lines.write_text("one\ntwo\n")
    found = command("index", "build", lines, "--format", "lines", "--id", "key", "-i", index, status=1)
    assert "lines of text, which have no field 'key'" in found.stderr


@pytest.mark.parametrize("named", ["files", "folder", "pattern"])
@pytest.mark.parametrize("options", [(), ("--keywords",)])
def test_parts_make_the_index_of_one_file(command, corpus, tmp_path, named, options):
    """Several files, a folder of parts, and a pattern: the rows and ids are those of all texts in one file."""
    _, path = corpus
    lines = path.read_text().splitlines(keepends=True)
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    parts = [folder / f"part-{i}.jsonl" for i in range(3)]
    for part, begin in zip(parts, (0, 20, 35), strict=True):
        part.write_text("".join(lines[begin : {0: 20, 20: 35, 35: 60}[begin]]))
    given = {"files": parts, "folder": [folder], "pattern": [folder / "part-*.jsonl"]}[named]
    indexes = [tmp_path / "one.safetensors", tmp_path / "parts.safetensors"]
    for index, inputs in zip(indexes, ([path], given), strict=True):
        command("index", "build", *inputs, "--text", "body", "--id", "key", *options, "-i", index)
    one, several = map(GCWSIndex.load, indexes)
    assert one.names_of(one.ids_) == several.names_of(several.ids_)
    texts = [json.loads(line)["body"] for line in lines[:7]]
    for a, b in zip(one.kneighbors(texts, 4), several.kneighbors(texts, 4), strict=True):
        np.testing.assert_array_equal(a, b)


def test_faults_of_parts_name_the_file(command, corpus, tmp_path):
    _, path = corpus
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"key": "x", "body": "one two"}\n{"key": "y"}\n')
    index = tmp_path / "i.safetensors"
    found = command("index", "build", path, bad, "--text", "body", "-i", index, status=1)
    assert f"{bad}, line 2 has no field 'body'" in found.output
    assert not index.exists()
    made = command("index", "build", path, bad, "--text", "body", "--on-error", "skip", "-i", index)
    assert "1 record without a text" in made.output
    found = command("index", "build", path, "-", "--text", "body", "-i", index, status=2)
    assert "standard input is read alone" in found.output
