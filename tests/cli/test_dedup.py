"""``kernelsketch dedup``: what stays, unchanged; the other results; bad input; interruptions."""

import gzip
import json
import os
import re
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from kernelsketch import dedup
from kernelsketch.cli._options import RunOptions
from kernelsketch.cli.work import dedup as work
from kernelsketch.formats import DocumentStream, Fields, _documents
from kernelsketch.neighbors import _text_join
from kernelsketch.text import PlainShingles, Shingles, StoredTexts

WORDS = [f"word{i}" for i in range(400)]


def corpus(n=120, seed=0):
    """Texts in groups of edited copies, with some exact copies."""
    rng = np.random.default_rng(seed)
    originals = [list(rng.choice(WORDS, rng.integers(30, 60))) for _ in range(n // 3)]
    texts = []
    for i in range(n):
        words = list(originals[rng.integers(len(originals))]) if i >= len(originals) else list(originals[i])
        if i >= len(originals) and rng.random() < 0.7:
            words[rng.integers(len(words))] = "edited"
        texts.append(" ".join(words) + rng.choice(["", ".", " \u00fc\u00df\u2014"]))
    return texts


TEXTS = corpus()
KEEP = dedup(TEXTS, threshold=0.6)[1]


def write(path, texts=TEXTS, **more):
    """Write documents in the format that the name tells."""
    frame = pd.DataFrame({"doc": [f"d{i}" for i in range(len(texts))], "body": texts, **more})
    if ".jsonl" in path.suffixes:
        lines = "".join(
            json.dumps(row, ensure_ascii=i % 2 == 0) + "\n" for i, row in enumerate(frame.to_dict("records"))
        )
        path.write_bytes(gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode())
    elif path.suffix in (".csv", ".tsv"):
        frame.to_csv(path, index=False, sep="," if path.suffix == ".csv" else "\t")
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        feather.write_feather(pa.Table.from_pandas(frame, preserve_index=False), path)
    return path


def lines_of(path):
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).splitlines(keepends=True)


@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz", "in.csv", "in.tsv"])
def test_lines_that_stay_are_unchanged(command, tmp_path, name):
    source = write(tmp_path / name)
    output = tmp_path / name.replace("in", "out")
    found = command("dedup", source, "--text", "body", "-t", 0.6, "-o", output)
    header = 0 if "jsonl" in name else 1
    before = lines_of(source)
    kept = [line for line, stays in zip(before[header:], KEEP, strict=True) if stays]
    assert lines_of(output) == before[:header] + kept
    assert f"120, of which {KEEP.sum()} stay and {(~KEEP).sum()} go" in found.output
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, output.name])


@pytest.mark.parametrize("name", ["in.parquet", "in.arrow"])
def test_tables(command, tmp_path, name):
    source, output = write(tmp_path / name, n=np.arange(120)), tmp_path / name.replace("in", "out")
    command("dedup", source, "--text", "body", "-t", 0.6, "-o", output)
    read = pq.read_table if name.endswith("parquet") else feather.read_table
    before = read(source)
    assert read(output).equals(before.filter(pa.array(KEEP)))


def test_several_files_and_a_folder(command, tmp_path):
    for i in range(3):
        write(tmp_path / f"{i}.jsonl", TEXTS[40 * i : 40 * i + 40])
    command(
        "dedup", *(tmp_path / f"{i}.jsonl" for i in range(3)), "--text", "body", "-t", 0.6, "-o", tmp_path / "all.jsonl"
    )
    folder = tmp_path / "texts"
    (folder / "inner").mkdir(parents=True)
    (folder / ".hidden").write_text(TEXTS[0])
    for i, text in enumerate(TEXTS):
        path = folder / ("inner" if i % 2 else "") / f"{i:03}.txt"
        path.write_text(text) if i % 5 else path.with_suffix(".txt.gz").write_bytes(gzip.compress(text.encode()))
    command("dedup", folder, "-t", 0.6, "-o", tmp_path / "folder.jsonl")
    bodies = [json.loads(line)["body"] for line in lines_of(tmp_path / "all.jsonl")]
    assert bodies == [text for text, stays in zip(TEXTS, KEEP, strict=True) if stays]
    found = [json.loads(line) for line in lines_of(tmp_path / "folder.jsonl")]
    assert len(found) == KEEP.sum()
    assert all((folder / one["id"]).exists() for one in found)


def test_clusters_pairs_and_report(command, tmp_path):
    source = write(tmp_path / "in.jsonl")
    outputs = {name: tmp_path / name for name in ("clusters.tsv", "pairs.jsonl", "report.html")}
    command(
        "dedup", source, "--text", "body", "--id", "doc", "-t", 0.6, "-o", tmp_path / "out.jsonl",
        "--clusters", outputs["clusters.tsv"], "--pairs", outputs["pairs.jsonl"], "--report", outputs["report.html"],
    )  # fmt: skip
    stays, keep = dedup(TEXTS, threshold=0.6)
    table = pd.read_csv(outputs["clusters.tsv"], sep="\t")
    members = [i for i in range(120) if (stays == stays[i]).sum() > 1]
    assert dict(zip(table.document, table.cluster, strict=True)) == {f"d{i}": f"d{stays[i]}" for i in members}
    assert table.similarity.between(0.3, 1).all()
    assert (table.similarity[table.document == table.cluster] == 1).all()
    pairs = [json.loads(line) for line in lines_of(outputs["pairs.jsonl"])]
    assert all(pair["similarity"] >= 0.6 for pair in pairs)
    joined = dedup(Shingles(5).transform(TEXTS), threshold=0.6)[0]
    assert {joined[int(pair["document"][1:])] for pair in pairs} == set(joined[~keep].tolist())
    page = outputs["report.html"].read_text()
    assert "<mark>" in page
    sizes = sorted(((stays == i).sum() for i in set(stays[~keep].tolist())), reverse=True)
    heads = re.findall(r"<summary>(d\d+) stays, (\d+) goe?s?</summary>", page)
    assert [int(count) + 1 for _, count in heads] == sizes[:20]
    assert sum(len(names.split(", ")) for names in re.findall("as another one: (.*?)</p>", page)) > 0
    assert "http" not in re.sub(r'xmlns="[^"]*"', "", page)


def test_keep(command, tmp_path):
    score = np.random.default_rng(3).permutation(120)
    day = np.datetime_as_string(np.datetime64("2019-12-01") + score)
    source = write(tmp_path / "in.csv", score=score, day=day)
    for keep, priority in (("longest", [len(text) for text in TEXTS]), ("score", score), ("day", score)):
        command("dedup", source, "--text", "body", "-t", 0.6, "--keep", keep, "-o", tmp_path / "out.csv")
        expected = dedup(TEXTS, threshold=0.6, keep=np.array(priority))[1]
        assert pd.read_csv(tmp_path / "out.csv").doc.tolist() == [f"d{i}" for i in np.flatnonzero(expected)]


@pytest.mark.parametrize(
    "options", [("--how", "star"), ("--ngram", 2), ("--analyzer", "char", "--ngram", 7), ("--weight", "log")]
)
def test_options_are_those_of_python(command, tmp_path, options):
    source = write(tmp_path / "in.jsonl")
    command("dedup", source, "--text", "body", "-t", 0.6, "-o", tmp_path / "out.jsonl", *options)
    given = dict(zip([name.strip("-") for name in options[::2]], options[1::2], strict=True))
    shingles = Shingles(
        given.get("ngram", 5), analyzer=given.get("analyzer", "word"), weight=given.get("weight", "count")
    )
    keep = dedup(TEXTS, threshold=0.6, how=given.get("how", "single"), shingles=shingles)[1]
    assert [json.loads(line)["doc"] for line in lines_of(tmp_path / "out.jsonl")] == [
        f"d{i}" for i in np.flatnonzero(keep)
    ]


def test_blocks_and_passes_do_not_matter(command, tmp_path, monkeypatch):
    source = write(tmp_path / "in.jsonl")
    monkeypatch.setattr(_documents, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(_text_join, "BLOCK_BYTES", 700)
    monkeypatch.setattr(_text_join, "PER_ENTRY", 10_000)
    command("dedup", source, "--text", "body", "-t", 0.6, "-o", tmp_path / "out.jsonl", "--threads", 2)
    assert [json.loads(line)["doc"] for line in lines_of(tmp_path / "out.jsonl")] == [
        f"d{i}" for i in np.flatnonzero(KEEP)
    ]


def test_an_interrupted_run_continues(command, tmp_path, monkeypatch):
    source, output = write(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    monkeypatch.setattr(_documents, "BLOCK_BYTES", 2000)
    monkeypatch.setattr(work, "CHECKPOINT_SECONDS", 0)
    read, calls = work._priorities, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return read(*args)

    monkeypatch.setattr(work, "_priorities", interrupted)
    arguments = ("dedup", source, "--text", "body", "-t", 0.6, "-o", output)
    stopped = command(*arguments, status=130)
    assert "stopped" in stopped.output
    assert not output.exists()
    assert (tmp_path / "out.jsonl.work").is_dir()
    again = command(*arguments)
    assert "continuing after" in again.output
    assert [json.loads(line)["doc"] for line in lines_of(output)] == [f"d{i}" for i in np.flatnonzero(KEEP)]
    assert not (tmp_path / "out.jsonl.work").exists()


def test_another_run_does_not_continue_it(command, tmp_path, monkeypatch):
    source, output = write(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    monkeypatch.setattr(work, "join_texts", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
    command("dedup", source, "--text", "body", "-t", 0.6, "-o", output, status=130)
    monkeypatch.undo()
    found = command("dedup", source, "--text", "body", "-t", 0.6, "--ngram", 3, "-o", output)
    assert "continuing" not in found.output


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such locks")
def test_two_commands_with_one_output(command, tmp_path):
    source, output = write(tmp_path / "in.jsonl"), tmp_path / "out.jsonl"
    other = StoredTexts(tmp_path / "out.jsonl.work", "another", PlainShingles())
    assert "is in use by another command" in command("dedup", source, "--text", "body", "-o", output, status=1).output
    other.close(remove=False)
    command("dedup", source, "--text", "body", "-o", output)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


BAD = {
    "thousands of brackets": (b'{"body": ' + b"[" * 100_000 + b"\n", "line 2 is not JSON"),
    "brackets and other bytes": (b'{"\xff": ' + b"[" * 100_000 + b"\n", "line 2 is not JSON"),
    "not json": (b"{nonsense\n", "line 2 is not JSON: Expecting property name [a-z ]*, at column 2. Fix"),
    "more": (b'{"body": "x"} {}\n', "line 2 is not JSON: there is more after column 13. Fix"),
    "blank": (b"\n", "line 2 is blank"),
    "no object": (b"[1]\n", r"line 2 is \[1\], not a JSON object"),
    "no field": (
        b'{"other": "x"}\n',
        "has no field 'body'; it has 'other'. If its text is one of these, pass --text. ",
    ),
    "null": (b'{"body": null}\n', "field 'body' is null, not a text"),
    "number": (b'{"body": 7}\n', "field 'body' is 7, not a text"),
}


@pytest.mark.parametrize("kind", BAD)
def test_records_without_a_text(command, tmp_path, kind):
    line, message = BAD[kind]
    source = tmp_path / "in.jsonl"
    content = b'{"body": "a text of some words that counts"}\n'
    source.write_bytes(content + line + content)
    found = command("dedup", source, "--text", "body", "-o", tmp_path / "out.jsonl", status=1)
    assert re.search(message, found.output.replace("\n", " "))
    assert "--on-error skip" in found.output
    assert not (tmp_path / "out.jsonl").exists()
    found = command("dedup", source, "--text", "body", "-o", tmp_path / "out.jsonl", "--on-error", "skip")
    assert (tmp_path / "out.jsonl").read_bytes() == content + line
    assert "1 record without a text" in found.output


@pytest.mark.parametrize("kind", ["jsonl", "csv", "folder"])
def test_a_document_that_is_too_long(command, tmp_path, kind):
    text = b"some words of a text " * 100_000
    source = tmp_path / ("in" if kind == "folder" else f"in.{kind}.gz")
    if kind == "folder":
        source.mkdir()
        (source / "a.txt.gz").write_bytes(gzip.compress(text))
    else:
        source.write_bytes(gzip.compress(b'{"text": "%s"}\n' % text if kind == "jsonl" else b'text\n"%s"\n' % text))
    options = ["--memory", "270MB", "-o", tmp_path / f"out.{'jsonl' if kind == 'folder' else kind}"]
    found = command("dedup", source, *options, status=1).output
    assert "the document has more than 1048576 bytes. Raise --memory, or split the document." in found.replace(
        "\n", " "
    )


def test_a_field_that_no_record_has(command, tmp_path):
    """With --on-error skip too: else nothing would be compared, and the output would be the input."""
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"body": "one text"}\n{"body": "One text!"}\n')
    found = command("dedup", source, "-o", output, "--on-error", "skip", status=1).output.replace("\n", " ")
    assert "no record has a text in the field 'text': name the field of the texts with --text" in found
    assert not output.exists()
    building = ("index", "build", source, "--text", "text", "--on-error", "skip", "-i", tmp_path / "i.safetensors")
    assert "name the field with --text" in command(*building, status=1).output
    command("dedup", source, "--text", "body", "-o", output)


def test_ids_that_no_record_has(command, tmp_path):
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"name": 1, "text": "one text"}\n{"text": "quite another"}\n')
    found = command("dedup", source, "-o", output, "--id", "nosuch", status=1)
    assert "has no field 'nosuch' for ids. Its fields are 'name', 'text'" in found.output.replace("\n", " ")
    assert not output.exists()
    command("dedup", source, "-o", output, "--id", "name")


def test_empty_documents_stay_and_bytes_that_are_not_utf8_are_kept(command, tmp_path):
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [
        b'{"text": ""}\n',
        b'{"text": "..."}\n',
        b'{"text": "caf\xe9 au lait"}\n',
        b'{"text": ""}\n',
        b'{"text": "x"}',
    ]
    source.write_bytes(b"".join(lines))
    found = command("dedup", source, "-o", output, "--json", "-q")
    assert output.read_bytes() == b"".join(lines)
    facts = json.loads(found.stdout)
    assert (facts["documents"], facts["stay"], facts["empty"], facts["not_utf8"]) == (5, 5, 3, 1)


def test_csv_with_line_ends_in_cells(command, tmp_path):
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    content = b'id,text\r\n1,"one two\r\nthree ""four"" five"\r\n2,"One two three\nfour five"\r\n3,other words\r\n'
    source.write_bytes(content)
    command("dedup", source, "-o", output, "--id", "id", "--clusters", tmp_path / "c.tsv")
    assert output.read_bytes() == b'id,text\r\n1,"one two\r\nthree ""four"" five"\r\n3,other words\r\n'
    assert (tmp_path / "c.tsv").read_text() == "document\tcluster\tsimilarity\n1\t1\t1\n2\t1\t1\n"
    source.write_bytes(content + b"4,x,y\r\n")
    assert "line 7 has 3 cells" in command("dedup", source, "-o", output, status=1).output
    command("dedup", source, "-o", output, "--on-error", "skip")
    assert output.read_bytes().endswith(b"4,x,y\r\n")


def test_csv_with_another_delimiter(command, tmp_path):
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("id;text\n1;one, two\n2;One two\n3;other words\n")
    found = command("dedup", source, "-o", output, status=1).output.replace("\n", " ")
    assert "has no column 'text', or several. Its columns are 'id;text'." in found
    assert "more ';' than ',': pass --delimiter ';' if they separate the cells" in found
    command("dedup", source, "-o", output, "--delimiter", ";")
    assert output.read_text() == "id;text\n1;one, two\n3;other words\n"
    assert "one character" in command("dedup", source, "-o", output, "--delimiter", ";;", status=2).output


def test_repeated_ids_are_told(command, tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"id": 1, "text": "one text"}\n{"id": 1, "text": "quite another"}\n')
    assert "1 document has an id that" in command("dedup", source, "--id", "id", "-o", tmp_path / "out.jsonl").output


def test_missing_ids_are_told(command, tmp_path):
    """They are not repeated ids, and have no name in the lists."""
    source, lists = tmp_path / "in.jsonl", tmp_path / "clusters.tsv"
    names = ['"a"', "null", '""', '"b"', "null"]
    source.write_text("".join(f'{{"id": {name}, "text": "the same text"}}\n' for name in names) + '{"text": "other"}\n')
    arguments = ["dedup", source, "--id", "id", "-o", tmp_path / "out.jsonl", "--clusters", lists]
    found = command(*arguments).output
    assert "4 documents have an empty id or none, field 'id'" in found
    assert "an id that an earlier one has" not in found
    assert lists.read_text().splitlines()[1:4] == ["a\ta\t1", "\ta\t1", "\ta\t1"]
    facts = json.loads(command(*arguments, "--json").stdout)
    assert (facts["missing_ids"], facts["repeated_ids"]) == (4, 0)


def test_one_and_many(command, tmp_path):
    source = tmp_path / "in.jsonl"
    source.write_text('{"text": "one text"}\n{"text": "One text!"}\n{"text": ""}\n{"x": 1}\n')
    found = command("dedup", source, "--on-error", "skip", "-o", tmp_path / "out.jsonl").output
    for line in (
        "documents  4, of which 3 stay and 1 goes",
        "skipped    1 record without a text, which stays",
        "empty      1 document without a word, which stays",
        "equal      1 document has the same shingles as another one of the cluster",
    ):
        assert line in found
    source.write_text('{"text": "one text"}\n')
    found = command("dedup", source, "-o", tmp_path / "out.jsonl").output
    assert "documents  1, of which 1 stays and 0 go" in found


def test_nothing_but_the_summary(command, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": "one text"}\n')
    found = command("dedup", tmp_path / "in.jsonl", "-o", os.devnull, "--clusters", os.devnull, "--pairs", os.devnull)
    assert "documents  1, of which 1 stays" in found.output


@pytest.mark.parametrize("content", ["", '{"body": "another field"}\n'])
def test_a_run_that_read_nothing_leaves_nothing(command, tmp_path, content):
    (tmp_path / "in.jsonl").write_text(content)
    command("dedup", tmp_path / "in.jsonl", "-o", tmp_path / "out.jsonl", status=1)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["in.jsonl", "-o", "in.jsonl"], 2, "--output in.jsonl and INPUT in.jsonl are the same file"),
        (["in.jsonl", "-o", "out.csv"], 1, "has the ending of csv, but the output has the format of the input, jsonl"),
        (["in.jsonl", "in.csv", "--text", "body", "-o", "out.jsonl"], 1, "several formats"),
        (["missing.jsonl", "-o", "out.jsonl"], 1, "no such file"),
        (["-", "-o", "out.jsonl"], 2, "store it in a file"),
        (["in.csv", "--text", "nothing", "-o", "out.csv"], 1, "no column 'nothing', or several"),
        (["in.parquet", "--text", "n", "-o", "out.parquet"], 1, "holds int64, not texts"),
        (["in.jsonl", "-o", "out.jsonl", "-t", "2"], 2, "--threshold must be above 0"),
        (["in.jsonl", "--text", "body", "-o", "no/out.jsonl"], 1, "no"),
        (
            ["in.jsonl", "-o", "out.jsonl", "--pairs", "out.jsonl"],
            2,
            "--pairs out.jsonl and --output out.jsonl are the same file",
        ),
        (["empty.jsonl", "-o", "out.jsonl"], 1, "there are no documents"),
        (
            ["in.csv", "--text", "body", "--keep", "doc", "-o", "out.csv"],
            1,
            "field 'doc' is 'd0', neither a number nor a date",
        ),
        (["in.jsonl", "--text", "body", "--keep", "new", "-o", "out.jsonl"], 1, "--keep takes first, longest or a fie"),
        (["in.csv", "--text", "body", "--keep", "new", "-o", "out.csv"], 1, "is first, longest or one of them"),
        (["in.parquet", "--text", "body", "--keep", "new", "-o", "out.parquet"], 1, "is first, longest or one of the"),
        (["in.jsonl", "--text", "body", "-o", "out.jsonl", "--memory", "50MB"], 1, "--memory 50MB is too small"),
        (["in.svm", "-o", "out.jsonl"], 1, "holds no texts"),
    ],
)
def test_wrong_usage(command, tmp_path, monkeypatch, arguments, status, message):
    monkeypatch.chdir(tmp_path)
    for name in ("in.jsonl", "in.csv", "in.parquet"):
        write(tmp_path / name, TEXTS[:9], n=np.arange(9))
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "in.svm").write_text("1 1:2\n")
    before = (tmp_path / "in.jsonl").read_bytes()
    assert message in command("dedup", *arguments, status=status).output.replace("\n", " ")
    assert (tmp_path / "in.jsonl").read_bytes() == before
    assert not (tmp_path / "out.jsonl").exists()


def test_to_standard_output(command, tmp_path):
    source = write(tmp_path / "in.jsonl")
    found = command("dedup", source, "--text", "body", "-t", 0.6, "-o", "-", "-q")
    assert found.stdout_bytes.splitlines() == [
        line.rstrip(b"\n") for line, s in zip(lines_of(source), KEEP, strict=True) if s
    ]


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_blocks_of_blank_lines_are_small(tmp_path, kind):
    """Each of them is a record, which takes hundreds of bytes."""
    source = tmp_path / f"in.{kind}"
    source.write_bytes((b'{"text": "a"}' if kind == "jsonl" else b"text\na") + b"\n" * 100_000)
    with DocumentStream(str(source), Fields()) as stream:
        sizes = [len(block.records) for block in stream]
    assert sum(sizes) == 100_000
    assert max(sizes) < 40_000


def test_too_many_documents_are_refused_at_once(command, tmp_path, monkeypatch):
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b'{"text": "a"}\n' * 200_000)
    monkeypatch.setattr(work, "PER_DOCUMENT", 10_000)
    stored = []
    append = StoredTexts.append
    monkeypatch.setattr(StoredTexts, "append", lambda *args: stored.append(1) or append(*args))
    found = command("dedup", source, "-o", output, "--memory", "700MB", status=1).output.replace("\n", " ")
    assert "--memory 700MB is too small for" in found
    assert len(stored) < 3


@pytest.mark.parametrize("line", [b"[]," * 340_000, b"[[]]," * 200_000, b"{}," * 340_000])
def test_a_line_whose_lists_take_too_much_memory(command, tmp_path, line):
    source = tmp_path / "in.jsonl"
    source.write_bytes(b'{"text": "a", "x": [' + line + b"0]}\n")
    found = command("dedup", source, "-o", tmp_path / "out.jsonl", "--memory", "270MB", status=1).output
    assert "line 1: the document has more than 1048576 bytes" in found.replace("\n", " ")


def test_a_record_of_many_lines_takes_too_much_memory(command, tmp_path):
    source = tmp_path / "in.csv"
    source.write_bytes(b'text\n"' + b"a\n" * 30_000)
    found = command("dedup", source, "-o", tmp_path / "out.csv", "--memory", "270MB", status=1).output
    assert "the document has more than 1048576 bytes" in found.replace("\n", " ")


def test_a_normal_form_that_is_longer_than_a_document_may_be(command, tmp_path, monkeypatch):
    """One character becomes eighteen."""
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"text": "\ufdfa" * 100_000}) + "\n")
    monkeypatch.setattr(RunOptions, "document_bytes", 1 << 20)
    arguments = ("dedup", source, "-o", tmp_path / "out.jsonl")
    found = command(*arguments, "--normalize", status=1).output.replace("\n", " ")
    assert "a text in normal form: the document has more than 1048576 bytes" in found
    command(*arguments)


@pytest.mark.parametrize("ends", [[b"\r"], [b"\r", b"\n", b"\r\n"], [b"\n", b"\n", b"\r"]])
def test_csv_with_line_ends_of_old_files(command, tmp_path, ends):
    texts = ["one two three four", "five six seven eight", "ONE two three four", '"nine\rten, eleven"', "twelve"]
    records = [text.encode() + ends[i % len(ends)] for i, text in enumerate(["text", *texts])]
    (tmp_path / "in.csv").write_bytes(b"".join(records))
    command("dedup", tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == b"".join(records[:3] + records[4:])


def test_jsonl_with_line_ends_of_old_files_says_what_to_do(command, tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b'{"text": "one"}\r{"text": "two"}\r')
    found = command("dedup", tmp_path / "in.jsonl", "-o", tmp_path / "out.jsonl", status=1)
    assert "line 1 is not JSON" in found.output
    assert "Its lines seem to end with CR: end them with LF" in " ".join(found.output.split())


def test_why_documents_go(command, tmp_path):
    """Copies of a document that went count as equal, and links of a chain as chained: in summary, JSON and report."""
    words = [f"w{i}" for i in range(40)]
    chain = [" ".join(words[i : i + 20]) for i in (0, 4, 8)]  # neighbours have 16 of 24 words in common
    texts = [*chain, chain[1].upper(), chain[1], chain[2] + "!", chain[0], "quite another text of seven words here", ""]
    source = write(tmp_path / "in.jsonl", texts)
    run = ("dedup", source, "--text", "body", "--id", "doc", "--ngram", 1, "-t", 0.6, "-o", tmp_path / "out.jsonl")
    facts = json.loads(command(*run, "--json").stdout)
    assert (facts["go"], facts["equal"], facts["chained"]) == (6, 4, 1)
    report = tmp_path / "report.html"
    shown = command(*run, "--report", report).stderr
    page = report.read_text()
    for line in (
        "4 documents have the same shingles as another one of the cluster",
        "1 document goes by chains, with a similarity below 0.6 to the one that stays; --how star keeps them",
    ):
        assert line in shown
        assert line in page
    assert "<summary>d0 stays, 6 go</summary>" in page
    assert "With the same shingles as another one: d3, d4, d5, d6" in page
    assert re.findall(r"(d\d) goes: similarity (\d.\d+)", page) == [("d1", "0.667"), ("d2", "0.429")]
    bars = dict(re.findall(r"<dt>(.*?)</dt>.*?([\d.]+) %", page.split("Similarities", 1)[1].replace("\n", "")))
    assert bars == {"the same shingles as another": "66.7", "0.6 to 0.7": "16.7", "0.4 to 0.5": "16.7"}
    facts = json.loads(command(*run, "--how", "star", "--json").stdout)
    assert (facts["go"], facts["equal"], facts["chained"]) == (5, 4, 0)
    assert "by chains" not in command(*run, "--how", "star").stderr
    facts = json.loads(command(*run, "--keep", "longest", "--json").stdout)
    assert (facts["go"], facts["equal"]) == (6, 4)


def test_formats_that_are_named(command, tmp_path):
    """Lines of text, and JSONL whose name does not tell."""
    source, output = tmp_path / "notes.txt", tmp_path / "out.txt"
    source.write_bytes("\n".join([*TEXTS, TEXTS[0]]).encode())
    command("dedup", source, "-t", 0.6, "-o", output)
    kept = [text for text, stays in zip(TEXTS, KEEP, strict=True) if stays]
    assert output.read_text(encoding="utf-8").splitlines() == kept
    written = write(tmp_path / "in.jsonl")
    odd = written.rename(tmp_path / "in.data")
    command("dedup", odd, "--format", "jsonl", "--text", "body", "-t", 0.6, "-o", tmp_path / "out.jsonl")
    assert len(lines_of(tmp_path / "out.jsonl")) == KEEP.sum()
    assert "which have no field 'doc'" in command("dedup", source, "--id", "doc", "-o", output, status=1).stderr
    assert "the format of the input, lines" in command("dedup", source, "-o", tmp_path / "o.csv", status=1).stderr
    assert "--format" in command("dedup", source, "--format", "npz", "-o", output, status=2).stderr
    listed = tmp_path / "list.data"
    listed.write_text('[{"text": "one"},\n {"text": "two"}]')
    assert "holds JSON" in command("dedup", listed, "-o", output, status=1).stderr
    table = tmp_path / "table.data"
    table.write_text("id,text\n1,one two\n2,one two\n")
    command("dedup", table, "-o", tmp_path / "table.csv")  # a column is called text
    assert (tmp_path / "table.csv").read_text() == "id,text\n1,one two\n"
