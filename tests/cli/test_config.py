"""``--config FILE``: options from TOML."""

import json

import pytest


@pytest.fixture
def config(tmp_path):
    def write(text):
        path = tmp_path / "kernelsketch.toml"
        path.write_text(text)
        return path

    return write


def test_options_of_a_file(command, files, tmp_path, config):
    """They have the effect of those of the command line, which win; other tables do not matter."""
    model = tmp_path / "m.safetensors"
    path = config(
        f'[train]\nn-components = 96\nC = 3.5\nmodel = "{model.as_posix()}"\nquiet = true\n[hash]\nbits = 2\n'
    )
    facts = json.loads(command("train", files["svm"][0], "--config", path, "--json").stdout)
    assert facts["C"] == 3.5
    assert "96 hashes" in command("train", "--config", path, files["svm"][0]).stdout
    assert "32 hashes" in command("train", files["svm"][0], "-k", 32, "--config", path).stdout
    again = config("[train]\nn_components = 40\n")
    assert "40 hashes" in command("train", files["svm"][0], "--config", again, "-m", model).stdout


def test_commands_of_an_index_and_lists(command, iris, tmp_path, config):
    source, index = tmp_path / "in.jsonl", tmp_path / "i.safetensors"
    source.write_text('{"body": "one two three", "key": "a"}\n')
    path = config(
        '[index.build]\ntext = "body"\nid = "key"\nngram = 2\n[train]\ndrop = ["petal length (cm)"]\nlabel = "kind"\n'
    )
    facts = json.loads(command("index", "build", source, "-i", index, "--config", path, "--json").stdout)
    assert facts["ngram"] == 2
    table = ("train", iris[1], "--effort", "quick", "-m", tmp_path / "m", "--json", "-q")
    columns = json.loads(command(*table, "--config", path).stdout)["columns"]
    assert [column["name"] for column in columns if not column["used"]] == ["petal length (cm)"]


def test_a_file_counts_as_the_command_line(command, iris, tmp_path, config):
    """Options that do not fit the input are refused in a file too."""
    path = config("[train]\nn-components = 64\n")
    found = command("train", iris[1], "--label", "kind", "-m", tmp_path / "m", "--config", path, status=2)
    assert "add --plain to use --n-components" in found.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[train]\nlabels = 'x'\n", "[train] has 'labels', which is no option of the command. Did you mean label"),
        ("[trian]\nlabel = 'x'\n", "[trian] is no command. Did you mean train?"),
        ("[index.biuld]\ntext = 'x'\n", "[index.biuld] is no command. Did you mean index.build?"),
        ("label = 'x'\n", "label is in no table: write it below the name of a command"),
        ("[train]\nquiet = 'yes'\n", "quiet in [train] must be true or false, got 'yes'"),
        ("[train]\nseed = [1]\n", "seed in [train] must be a single value, got [1]"),
        ("[train]\ndrop = [true]\n", "drop in [train] must be a single value or a list, got [True]"),
        ("[train]\nlabel\n", "is not TOML"),
        ("[train]\nn-components = 'many'\n", "Invalid value for '--n-components'"),
    ],
)
def test_files_that_are_wrong(command, files, tmp_path, config, text, message):
    found = command("train", files["svm"][0], "-m", tmp_path / "m", "--config", config(text), status=2)
    shown = " ".join(found.stderr.replace("│", " ").split())
    assert message in shown
    assert not (tmp_path / "m").exists()


def test_a_file_that_is_not_there(command, files, tmp_path):
    found = command("hash", files["svm"][0], tmp_path / "c.safetensors", "--config", tmp_path / "no.toml", status=2)
    assert "no.toml cannot be read: No such file or directory" in found.stderr.replace("\n", " ")


def test_every_command_has_it(command):
    for words in (["train"], ["predict"], ["index", "query"], ["info"], ["demo"], ["dedup"]):
        assert "--config" in command(*words, "--help").stdout
