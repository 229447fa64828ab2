import pytest
import typer

from kernelsketch.cli._memory import memory_of


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 * 10**9), ("2G", 2 * 10**9), ("1.5 MiB", 3 << 19), ("512mb", 512 * 10**6), ("1e9", 10**9), ("7", 7)],
)
def test_sizes(text, size):
    assert memory_of(text) == size


@pytest.mark.parametrize("text", ["", "GB", "2XB", "-1GB", "0", "1..2", "2iB", "nan", "1e10000"])
def test_texts_that_are_not_sizes(text):
    with pytest.raises(typer.BadParameter, match="is not a size"):
        memory_of(text)


@pytest.mark.parametrize("name", ["train", "predict", "evaluate", "hash", "kernel", "convert", "info"])
def test_help_has_examples(command, name):
    found = command(name, "--help").stdout
    assert "Examples" in found
    assert f"kernelsketch {name} " in found
    assert command(name, "-h").stdout == found


@pytest.mark.parametrize("words", [[], ["train"], ["predict"], ["index", "build"], ["dedup"], ["info"]])
def test_flags_are_shown_as_they_are_typed(command, words):
    text = command(*words, "--help").stdout
    assert "--help" in text
    assert "bool" not in text.lower()
