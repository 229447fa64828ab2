"""``kernelsketch dedup --against``: which new documents are known, from files and from a collection that grows."""

import datetime
import json

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet

from kernelsketch import DocumentCollection, dedup, gmm_kernel
from kernelsketch.text import Shingles

from .test_dedup import corpus, lines_of, write

_SHUFFLED = np.random.default_rng(2).permutation(np.array(corpus(150, seed=1), object)).tolist()
OLD, NEW = _SHUFFLED[:90], _SHUFFLED[90:]
THRESHOLD = 0.6
SIMILARITY = gmm_kernel(*(Shingles(5).transform(texts).astype(np.float64) for texts in (NEW, OLD)))
KNOWN = SIMILARITY.max(axis=1) >= THRESHOLD


@pytest.fixture
def files(tmp_path):
    """New documents, and old ones in two files of different formats."""
    return (
        write(tmp_path / "new.jsonl", NEW),
        write(tmp_path / "a.csv", OLD[:50]),
        write(tmp_path / "b.parquet", OLD[50:]),
    )


def expected():
    """The new documents that stay."""
    rest = [text for text, known in zip(NEW, KNOWN, strict=True) if not known]
    places = np.flatnonzero(~KNOWN)
    return places[dedup(rest, threshold=THRESHOLD)[1]].tolist()


def options(*more):
    return ["--text", "body", "--id", "doc", "-t", THRESHOLD, *more]


def kept(path):
    return [int(json.loads(line)["doc"][1:]) for line in lines_of(path)]


def test_files(command, files, tmp_path):
    new, a, b = files
    output, matches = tmp_path / "out.jsonl", tmp_path / "matches.tsv"
    found = command("dedup", new, "--against", a, "--against", b, "-o", output, "--matches", matches, *options())
    assert 5 < KNOWN.sum() < 50
    assert kept(output) == expected()
    table = pd.read_csv(matches, sep="\t")
    assert table.document.tolist() == [f"d{i}" for i in np.flatnonzero(KNOWN)]
    for row in table.itertuples():
        similarities = SIMILARITY[int(row.document[1:])]
        best = int(similarities.argmax())
        assert row.similarity == pytest.approx(similarities[best], abs=1e-5)
        name, number = (a, best) if best < 50 else (b, best - 50)
        assert (row.known, row.source) == (f"d{number}", str(name))
    assert f"{KNOWN.sum()} documents repeat old ones" in found.output
    assert f"60, of which {len(expected())} stay and {60 - len(expected())} go" in found.output


def test_small_memory_reads_old_files_several_times(command, files, tmp_path, monkeypatch):
    from kernelsketch.neighbors import _known_texts

    monkeypatch.setattr(_known_texts, "LEAST_ROOM", 4000)
    monkeypatch.setattr(_known_texts, "PER_NONZERO", 10**9)
    new, a, b = files
    command("dedup", new, "--against", a, "--against", b, "-o", tmp_path / "out.jsonl", *options())
    assert kept(tmp_path / "out.jsonl") == expected()


def test_a_collection_that_grows(command, files, tmp_path):
    new, _, _ = files
    known, output, matches = tmp_path / "known", tmp_path / "out.jsonl", tmp_path / "matches.jsonl"
    write(tmp_path / "old.jsonl", OLD)
    command("dedup", tmp_path / "old.jsonl", "--against", known, "--append", "-o", tmp_path / "first.jsonl", *options())
    first = kept(tmp_path / "first.jsonl")
    assert first == np.flatnonzero(dedup(OLD, threshold=THRESHOLD)[1]).tolist()
    assert len(DocumentCollection(known)) == len(first)
    found = command(
        "dedup", new, "--against", known, "--append", "-o", output, "--matches", matches, "--json", *options()
    )
    facts = json.loads(found.stdout)
    similar = SIMILARITY[:, first].max(axis=1) >= THRESHOLD
    assert facts["known"] == similar.sum() == len(lines_of(matches))
    assert facts["known_equal"] == (SIMILARITY[:, first].max(axis=1) == 1).sum()
    assert facts["appended"] == facts["stay"] == len(kept(output))
    assert len(DocumentCollection(known)) == len(first) + facts["stay"]
    content = output.read_bytes()
    again = command("dedup", new, "--against", known, "--append", "-o", output, *options())  # changes nothing
    assert "nothing is left to do" in again.output
    told = command("dedup", new, "--against", known, "--append", "-o", output, "--json", *options()).stdout
    assert json.loads(told) == {"output": str(output), "appended": 0, "repeated": True}
    assert output.read_bytes() == content
    command("dedup", new, "--against", known, "-o", tmp_path / "none.jsonl", *options())
    assert kept(tmp_path / "none.jsonl") == []  # each is known, or similar to one that stayed
    output.unlink()
    missing = command("dedup", new, "--against", known, "--append", "-o", output, *options(), status=1)
    assert "is not there: choose another name" in missing.output


def test_files_and_a_collection_together(command, files, tmp_path):
    new, _, b = files
    collection = DocumentCollection.create(tmp_path / "known", threshold=0.5)
    collection.add(OLD[:50], ids=[f"d{i}" for i in range(50)])
    command("dedup", new, "--against", b, "--against", tmp_path / "known", "-o", tmp_path / "out.jsonl", *options())
    assert kept(tmp_path / "out.jsonl") == expected()


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        (["--against", "nowhere"], 1, "--against nowhere cannot be read: no such file, folder or collection"),
        (["--append"], 2, "--append needs a collection"),
        (["--matches", "m.tsv"], 2, "--matches needs old documents: name them with --against"),
        (["--against", "a.csv", "--append"], 2, "--append needs one collection"),
        (["--against", "known", "--ngram", "3"], 1, "made with other shingles: pass --ngram 5"),
        (["--against", "known", "--weight", "log"], 1, "pass --weight count"),
        (["--against", "known", "-t", "0.5"], 1, "made for similarities from 0.6: pass -t 0.6 or more"),
        (["--against", "bad.jsonl"], 1, "bad.jsonl, line 2 is not JSON"),
        (["--against", "new.jsonl", "-o", "new.jsonl"], 2, "are the same file"),
    ],
)
def test_bad_input(command, files, tmp_path, monkeypatch, more, status, words):
    monkeypatch.chdir(tmp_path)
    DocumentCollection.create("known", threshold=THRESHOLD)
    (tmp_path / "bad.jsonl").write_text('{"doc": 1, "body": "a"}\n{"doc": 2,\n')
    (tmp_path / "out.jsonl").write_text("before")
    given = options() if "-t" not in more else ["--text", "body", "--id", "doc"]
    given += [] if "-o" in more else ["-o", "out.jsonl"]
    found = command("dedup", "new.jsonl", *given, *more, status=status)
    assert words in " ".join(found.output.split())
    assert (tmp_path / "out.jsonl").read_text() == "before"
    assert len(DocumentCollection("known")) == 0


def test_folders_of_parts(command, tmp_path):
    """Two folders of JSONL, as Spark writes them: the parts are the files."""
    for name, texts in (("old", OLD), ("new", NEW)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "_SUCCESS").touch()
        for part in range(3):
            write(tmp_path / name / f"part-{part}.jsonl", texts[part::3])
    known, matches, more = tmp_path / "known.jsonl", tmp_path / "matches.jsonl", ["--text", "body", "-t", THRESHOLD]
    new, old = tmp_path / "new", ["--against", tmp_path / "old"]
    command("dedup", new, *old, "-o", known, "--matches", matches, *more)
    assert len(lines_of(matches)) == KNOWN.sum()
    assert {json.loads(line)["source"] for line in lines_of(matches)} <= {
        str(tmp_path / "old" / f"part-{part}.jsonl") for part in range(3)
    }
    command("dedup", new / "part-*.jsonl", *old, "-o", tmp_path / "b.jsonl", *more)
    assert lines_of(tmp_path / "b.jsonl") == lines_of(known)
    made = ["--against", tmp_path / "c", "--append", "-o", tmp_path / "o.jsonl"]
    assert "documents to the collection" in command("dedup", tmp_path / "old", *made, *more).output
    found = command("dedup", tmp_path / "c", "-o", tmp_path / "d.jsonl", status=1)
    assert "is a collection of documents: name it with --against" in found.output


def test_ids_of_parquet(command, tmp_path):
    """Dates and bytes are texts in a collection and in JSON, as in columns."""
    ids = {"day": [datetime.date(2026, 1, day) for day in range(1, 4)], "raw": [b"a", b"b", b"c"]}
    table = pyarrow.table({"text": ["a b c d e f", "a b c d e f", "k l m n o p"], **ids})
    parquet.write_table(table, tmp_path / "new.parquet")
    for name, first in (("day", "2026-01-01"), ("raw", "b'a'")):
        given = ["dedup", tmp_path / "new.parquet", "--id", name, "--against", tmp_path / name]
        clusters, matches = tmp_path / "clusters.jsonl", tmp_path / "matches.tsv"
        command(*given, "--append", "-o", tmp_path / f"{name}.parquet", "--clusters", clusters)
        assert [json.loads(line)["cluster"] for line in lines_of(clusters)] == [first, first]
        command(*given, "-o", tmp_path / "none.parquet", "--matches", matches)
        assert lines_of(matches)[1].decode().split("\t")[:3] == [first, first, "1"]


def test_a_collection_in_a_folder_of_documents(command, tmp_path):
    """Its files are no documents."""
    folder = tmp_path / "texts"
    folder.mkdir()
    write(folder / "new.jsonl", NEW)
    given = [folder, "--against", folder / "known", "--append", *options()]
    command("dedup", *given, "-o", tmp_path / "first.jsonl")
    write(folder / "more.jsonl", OLD)
    command("dedup", *given, "-o", tmp_path / "second.jsonl")
    both = dedup(OLD + NEW, threshold=THRESHOLD)[1]
    assert len(lines_of(tmp_path / "second.jsonl")) <= len(OLD)
    found = command("dedup", folder, "--against", folder / "known", "-o", tmp_path / "third.jsonl", *options("--json"))
    assert json.loads(found.stdout)["documents"] == len(both)


def test_standard_output_is_not_empty_in_silence(command, files, tmp_path):
    """What was appended was written to standard output once, and cannot be written again."""
    given = ["dedup", files[0], "--against", tmp_path / "known", "--append", "-o", "-", *options()]
    assert command(*given).stdout
    assert "its output cannot be written again" in command(*given, status=1).output
