"""``kernelsketch dedup`` and the files around it: its work folder, outputs in a folder that is read, changed inputs."""

import json
import os
import shutil
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kernelsketch.cli.work import dedup as work
from kernelsketch.formats import InputFiles, _document_writer, _documents, text_files
from kernelsketch.storage import LOCK, PARTIAL_SUFFIX

TEXTS = [f"text number {i // 2} of a folder in which {i // 2} texts come twice" for i in range(40)]


@pytest.fixture
def folder(tmp_path):
    """Texts in files, of which each comes twice."""
    made = tmp_path / "texts"
    (made / "inner").mkdir(parents=True)
    for i, text in enumerate(TEXTS):
        (made / ("inner" if i % 3 else "") / f"{i:02}.txt").write_text(text)
    return made


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def ids(path):
    return [json.loads(line)["id"] for line in path.read_bytes().splitlines()]


@pytest.fixture
def stop_in_join(monkeypatch):
    """Ctrl-C after everything has been read."""

    def stop(*args, **options):
        raise KeyboardInterrupt

    def start():
        monkeypatch.setattr(work, "join_texts", stop)

    return start


# The work folder.


def test_a_folder_of_the_user_is_left_alone(command, tmp_path):
    theirs = tmp_path / "out.jsonl.work"
    theirs.mkdir()
    (theirs / "in.jsonl").write_text('{"text": "the only copy"}\n')
    (theirs / "texts.bin").write_bytes(b"precious")
    for source in (theirs / "in.jsonl", theirs):
        found = command("dedup", source, "-o", tmp_path / "out.jsonl", status=1).output.replace("\n", "")
        assert str(theirs) in found
        assert "Rename or remove it, or choose another output" in found
    assert tree(tmp_path) == ["out.jsonl.work", "out.jsonl.work/in.jsonl", "out.jsonl.work/texts.bin"]
    assert (theirs / "texts.bin").read_bytes() == b"precious"


@pytest.mark.skipif(sys.platform == "win32", reason="links")
@pytest.mark.parametrize("name", ["texts.bin", "records.bin", "state.json", LOCK])
def test_links_in_a_work_folder(command, folder, tmp_path, stop_in_join, monkeypatch, name):
    output, target = tmp_path / "out.jsonl", tmp_path / "target"
    target.write_bytes(b"precious")
    stop_in_join()
    command("dedup", folder, "-o", output, status=130)
    monkeypatch.undo()
    (tmp_path / "out.jsonl.work" / name).unlink()
    (tmp_path / "out.jsonl.work" / name).symlink_to(target)
    before = tree(tmp_path)
    assert "out.jsonl.work is changed by others" in command("dedup", folder, "-o", output, status=1).output.replace(
        "\n", ""
    )
    assert target.read_bytes() == b"precious"
    assert tree(tmp_path) == before


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_an_output_that_is_a_link_has_its_work_beside_the_file(command, folder, tmp_path, stop_in_join):
    (tmp_path / "there").mkdir()
    (tmp_path / "out.jsonl").symlink_to(tmp_path / "there" / "real.jsonl")
    stop_in_join()
    command("dedup", folder, "-o", tmp_path / "out.jsonl", status=130)
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["real.jsonl.work"]


@pytest.mark.skipif(sys.platform == "win32", reason="devices")
@pytest.mark.parametrize("output", ["-", "/dev/null", "/dev/stdout"])
@pytest.mark.parametrize("end", ["done", "stopped", "failed"])
def test_outputs_that_are_no_files_leave_nothing(command, folder, tmp_path, stop_in_join, monkeypatch, output, end):
    """Their work is in a temporary folder, which goes whatever happens."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    seen, read = [], work._read

    def seeing(*args):
        seen.append(tree(temporary))
        return read(*args)

    monkeypatch.setattr(work, "_read", seeing)
    beside = sorted(os.listdir("/dev"))
    if end == "stopped":
        stop_in_join()
    if end == "failed":
        (folder / "99.txt.gz").write_text("not compressed")
    found = command("dedup", folder, "-o", output, "-q", status={"done": 0, "stopped": 130, "failed": 1}[end])
    if output != "/dev/null" and end == "done":
        assert len(found.stdout.splitlines()) == 20
    assert len(seen) == 1
    assert any(name.endswith("work/texts.bin") for name in seen[0])
    assert tree(temporary) == []
    assert sorted(os.listdir("/dev")) == beside


def test_a_name_that_is_too_long_is_refused_before_the_work(command, folder, tmp_path, monkeypatch):
    """The longest that is accepted works: a file is written under a longer name first."""
    for length, status in ((255 - 30, 0), (255 - 29, 1)):
        found = command("dedup", folder, "-o", tmp_path / f"{'n' * (length - 6)}.jsonl", status=status)
        assert status == 0 or "The name has more than 225 bytes" in found.output.replace("\n", "")
        monkeypatch.setattr(work, "_read", None)  # no work is done
    assert len(tree(tmp_path)) == 1 + len(tree(folder)) + 1


# Outputs in a folder that is read.


def test_outputs_in_the_folder_are_no_documents(command, folder, tmp_path, stop_in_join, monkeypatch):
    """Not in the first run, and not in the next ones, which find the outputs of the one before."""
    command("dedup", folder, "-o", tmp_path / "apart.jsonl")
    output = folder / "inner" / "clean.jsonl"
    arguments = ["dedup", folder, "-o", output, "--clusters", folder / "c.tsv", "--report", folder / "r.html"]
    before = tree(folder)
    for _ in range(2):
        found = command(*arguments)
        assert "40, of which 20 stay" in found.output
        assert output.read_bytes() == (tmp_path / "apart.jsonl").read_bytes()
        assert tree(folder) == sorted([*before, "inner/clean.jsonl", "c.tsv", "r.html"])
    stop_in_join()
    command(*arguments, status=130)
    monkeypatch.undo()
    (folder / f"c.tsv.abcdefgh{PARTIAL_SUFFIX}").write_text("half a list")  # of a killed run
    assert (folder / "inner" / "clean.jsonl.work" / "texts.bin").exists()
    found = command("dedup", folder, "-o", folder / "other.jsonl", "--pairs", output, "--clusters", folder / "c.tsv")
    assert "41, of which 21 stay" in found.output  # with r.html, which is no output of this one


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_outputs_are_known_by_identity(folder, tmp_path):
    (tmp_path / "out.jsonl").write_text("an output")
    (folder / "link").symlink_to(tmp_path / "out.jsonl")
    (folder / "hard").hardlink_to(tmp_path / "out.jsonl")
    (folder / "nowhere").symlink_to(tmp_path / "missing")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file.txt").write_text("a text of another folder")
    (folder / "linked").symlink_to(tmp_path / "other")
    (folder / "aside.txt").symlink_to(tmp_path / "other" / "file.txt")
    names = text_files(str(folder))
    assert {"link", "hard", "aside.txt"} < set(names)
    assert not {"nowhere", "linked", "linked/file.txt"} & set(names)
    assert set(names) - set(text_files(str(folder), [str(tmp_path / "out.jsonl"), "-"])) == {"link", "hard"}


def test_an_index_and_its_answers_are_no_texts(command, folder):
    """Of a folder in which they lie, also when they are there from an earlier run."""
    index, output = folder / "i.safetensors", folder / "answers.tsv"
    for _ in range(2):
        assert "40 texts" in command("index", "build", folder, "--text", "text", "-i", index).output
    for _ in range(2):
        command("index", "query", folder, "--text", "text", "-i", index, "-n", 1, "-o", output)
        assert len(output.read_text().splitlines()) == 41
    index.unlink()
    for _ in range(2):
        assert "40, of which" in command("index", "dedup", folder, "--text", "text", "-o", output).output


# Columns.

COLUMNS = {
    "another order": ("text,id\nfour words of text,7\n", "column 1 is 'id' in a.csv and 'text' in b.csv"),
    "one more": ("id,text,more\n7,four words of text,x\n", "column 3 is missing in a.csv and 'more' in b.csv"),
    "another name": ("key,text\n7,four words of text\n", "column 1 is 'id' in a.csv and 'key' in b.csv"),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("turned", [False, True])
def test_csv_files_with_other_columns(command, tmp_path, monkeypatch, kind, turned):
    monkeypatch.chdir(tmp_path)
    content, message = COLUMNS[kind]
    (tmp_path / "a.csv").write_text("id,text\n1,some words of text\n")
    (tmp_path / "b.csv").write_text(content)
    names = ["b.csv", "a.csv"] if turned else ["a.csv", "b.csv"]
    found = command("dedup", *names, "-o", "out.csv", status=1).output.replace("\n", " ")
    assert f"{names[1]} has other columns than {names[0]}: column " in found
    if not turned:
        assert message in found
    assert sorted(os.listdir()) == ["a.csv", "b.csv"]


def test_tsv_files_with_other_columns(command, tmp_path):
    (tmp_path / "a.tsv").write_text("id\ttext\n1\tsome words of text\n")
    (tmp_path / "b.tsv").write_text("text\tid\nsome words of text\t1\n")
    command("dedup", tmp_path / "a.tsv", tmp_path / "b.tsv", "-o", tmp_path / "out.tsv", status=1)


def test_headers_that_are_written_in_another_way(command, tmp_path):
    """A byte order mark, quotes, spaces and line ends are no other columns."""
    (tmp_path / "a.csv").write_bytes(b"id,text\n1,some words of text")
    (tmp_path / "b.csv").write_bytes(b'\xef\xbb\xbf"id", text\r\n2,Some words of text!\r\n3,other words\r\n')
    command("dedup", tmp_path / "a.csv", tmp_path / "b.csv", "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == b"id,text\n1,some words of text\n3,other words\r\n"


def test_parquet_files_with_other_columns_are_refused_at_once(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"n": pa.array([1], pa.int64()), "text": ["some words"]}), "a.parquet")
    pq.write_table(pa.table({"n": pa.array([1], pa.int32()), "text": ["some words"]}), "b.parquet")
    monkeypatch.setattr(work, "_read", None)
    found = command("dedup", "a.parquet", "b.parquet", "-o", "out.parquet", status=1).output.replace("\n", " ")
    assert "column 1 is 'n: int64' in a.parquet and 'n: int32' in b.parquet" in found


# Inputs that change.


def replaced(path):
    """Other bytes with the same size and time, in another file."""
    status = path.stat()
    new = path.with_name("new")
    new.write_bytes(path.read_bytes()[::-1])
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(new, path)


CHANGES = {
    "edited": lambda path: path.write_text(path.read_text().replace("text", "TEST")),
    "replaced": replaced,
    "longer": lambda path: path.write_text(path.read_text() + " more"),
    "renamed": lambda path: path.rename(path.with_name("05b.txt")),
    "removed": lambda path: path.unlink(),
    "added": lambda path: path.with_name("05b.txt").write_text("a new text"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_resumed_run_reads_changed_files_again(command, folder, tmp_path, stop_in_join, monkeypatch, kind):
    arguments = ["dedup", folder, "-o", tmp_path / "out.jsonl", "--threads", 1]
    stop_in_join()
    command(*arguments, status=130)
    monkeypatch.undo()
    changed = folder / "inner" / "05.txt"
    times = folder.stat(), changed.parent.stat()
    CHANGES[kind](changed)
    for path, status in zip((folder, changed.parent), times, strict=True):  # so that only the files show it
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "continuing" not in command(*arguments).output
    command("dedup", folder, "-o", tmp_path / "fresh.jsonl")
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "fresh.jsonl").read_bytes()


def test_a_resumed_run_continues_with_the_same_files(command, folder, tmp_path, stop_in_join, monkeypatch):
    arguments = ["dedup", folder, "-o", tmp_path / "out.jsonl"]
    stop_in_join()
    command(*arguments, status=130)
    monkeypatch.undo()
    assert "continuing after 40 documents" in command(*arguments).output


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_the_target_of_a_link_counts(folder, tmp_path):
    (tmp_path / "target").write_text("one")
    (folder / "link").symlink_to(tmp_path / "target")
    before = InputFiles([str(folder)], []).signature()
    assert InputFiles([str(folder)], []).signature() == before
    (tmp_path / "target").write_text("other")
    assert InputFiles([str(folder)], []).signature() != before


def test_an_output_that_another_command_replaces_meanwhile_is_no_document(folder, tmp_path, monkeypatch):
    """It is another file then, at the same place."""
    output = folder / "inner" / "out.jsonl"
    output.write_text("an output")
    (tmp_path / "same").symlink_to(folder / "inner")
    real, before = os.scandir, text_files(str(folder), [str(output)])

    def replacing(path):
        (tmp_path / "new").write_text("a new output")
        os.replace(tmp_path / "new", output)
        return real(path)

    monkeypatch.setattr(os, "scandir", replacing)
    assert text_files(str(folder), [str(tmp_path / "same" / "out.jsonl")]) == before


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("moment", ["before", "while"])
def test_files_that_change_between_the_passes(command, folder, tmp_path, monkeypatch, kind, moment):
    """Before the output is written, or while it is."""
    monkeypatch.setattr(_documents, "BLOCK_BYTES", 1000)
    where, name = (work, "join_texts") if moment == "before" else (_document_writer.DocumentWriter, "write")
    real, calls = getattr(where, name), []

    def changing(*args, **options):
        if not calls:
            CHANGES[kind](folder / "inner" / "05.txt")
        calls.append(1)
        return real(*args, **options)

    monkeypatch.setattr(where, name, changing)
    found = command("dedup", folder, "-o", tmp_path / "out.jsonl", status=1).output.replace("\n", "")
    assert "05.txt" in found or "05b.txt" in found
    assert "changed while it was read" in found or "no such file" in found.lower()
    assert not (tmp_path / "out.jsonl").exists()


def test_a_file_that_is_replaced_between_the_passes(command, tmp_path, monkeypatch):
    """By one with as many lines and bytes."""
    source = tmp_path / "in.jsonl"
    source.write_text("".join(f'{{"text": "{text}"}}\n' for text in TEXTS))
    real = work.join_texts

    def changing(*args, **options):
        replaced(source)
        return real(*args, **options)

    monkeypatch.setattr(work, "join_texts", changing)
    found = command("dedup", source, "-o", tmp_path / "out.jsonl", status=1).output.replace("\n", "")
    assert "in.jsonl changed while it was read" in found


def test_a_folder_that_cannot_be_listed(folder, monkeypatch):
    real = os.scandir

    def refusing(path):
        if str(path).endswith("inner"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(ValueError, match="inner cannot be read: Permission denied"):
        text_files(str(folder))


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_pipe_is_no_input(command, tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    found = command("dedup", tmp_path / "pipe.jsonl", "-o", tmp_path / "out.jsonl", status=1).output
    assert "can be read only once" in found.replace("\n", " ")


# Names and ids that are not UTF-8.

BAD = "caf\udce9.txt"


@pytest.mark.skipif(sys.platform != "linux", reason="file names of any bytes")
def test_names_of_files_that_are_not_utf8(command, folder, tmp_path):
    shutil.copy(folder / "00.txt", folder / BAD)
    (folder / "two\nlines.txt").write_text("a text of its own")
    output = tmp_path / "out\udcff.jsonl"
    lists = {name: tmp_path / f"\udcfe{name}" for name in ("c.tsv", "p.jsonl", "r.html")}
    found = command(
        "dedup", folder, "-o", output, "--id", "id", "--keep", "longest",
        "--clusters", lists["c.tsv"], "--pairs", lists["p.jsonl"], "--report", lists["r.html"],
    )  # fmt: skip
    assert "\\udcff.jsonl" in found.output
    assert "two\nlines.txt" in ids(output)
    assert "caf\\udce9.txt" in lists["c.tsv"].read_text()
    assert BAD in {name for line in lists["p.jsonl"].read_text().splitlines() for name in json.loads(line).values()}
    assert "caf\\udce9.txt" in lists["r.html"].read_text()
    (folder / "00.txt").unlink()
    (folder / "inner" / "01.txt").unlink()
    facts = command("dedup", folder, "-o", output, "--json", "-q").stdout
    assert json.loads(facts)["output"] == str(output)
    assert BAD in ids(output)
    assert os.path.exists(os.path.join(folder, BAD))
    assert output.read_bytes().decode()  # is UTF-8


def test_ids_with_lone_surrogates(command, tmp_path):
    """They stay apart in all lists, and the same in JSON."""
    names = ["\ud800", "\ud801", "z\udfff"]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps({"id": name, "text": "the same \ud800 text"}) + "\n" for name in names))
    lists = {name: tmp_path / name for name in ("c.tsv", "p.jsonl", "r.html")}
    command(
        "dedup", source, "-o", tmp_path / "out.jsonl", "--id", "id",
        "--clusters", lists["c.tsv"], "--pairs", lists["p.jsonl"], "--report", lists["r.html"],
    )  # fmt: skip
    assert ids(tmp_path / "out.jsonl") == names[:1]
    rows = [line.split("\t")[0] for line in lists["c.tsv"].read_text().splitlines()]
    assert rows == ["document", "\\ud800", "\\ud801", "z\\udfff"]
    pairs = [json.loads(line) for line in lists["p.jsonl"].read_text().splitlines()]
    assert [pair["other"] for pair in pairs] == names[1:]
    assert "\\ud801, z\\udfff</p>" in lists["r.html"].read_text()  # as the names of copies
