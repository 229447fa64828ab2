"""Errors of the library name parameters; a command names the options that set them."""

import ast
from pathlib import Path

import pytest

from kernelsketch._warnings import warn_user
from kernelsketch.cli import _errors
from kernelsketch.cli._errors import OptionNames, UsageError, errors_as_sentences, in_options, set_by
from kernelsketch.exceptions import InputError, ParameterError, Sentence, Setting

CSV = "a,b,kind\n1,2,x\n3,4,y\n5,6,x\n"
OPTIONS = {
    "header": OptionNames("--header", "--no-header"),
    "zero_based": OptionNames("--zero-based"),
    "label": OptionNames("--label"),
    "seed": OptionNames("--seed"),
    "to": OptionNames("--to"),
}

# The command line, the exit status, and the sentence. {} is the name of the file of rows.
CASES = {
    "a constraint": (
        ["train", "rows.svm", "-C", "-1"],
        (2, "--C must be a float in the range (0.0, inf). Got -1.0 instead."),
    ),
    "another constraint": (
        ["hash", "rows.svm", "out.svm", "--gamma", "1e9"],
        (2, "--gamma must be a float in the range (0.0, 10000.0] or None. Got 1000000000.0 instead."),
    ),
    "two options": (
        ["hash", "rows.svm", "out.svm", "--gamma", "0.5", "--t-bits", "2"],
        (
            2,
            "--t-bits 2 cannot be used with --gamma 0.5: a hash of eGMM joins several samples and has no t* of its "
            "own. Use --t-bits 0.",
        ),
    ),
    "a power": (["kernel", "rows.svm", "-p", "0"], (2, "--p must be a finite number above 0, got 0.0.")),
    "a name that is not there": (
        ["convert", "table.csv", "out.svm", "--label", "the kind"],
        (2, "--label 'the kind': table.csv has no column of that name. Its columns are 'a', 'b', 'kind'."),
    ),
    "a number of features": (
        ["convert", "table.csv", "out.svm", "--label", "kind", "--n-features", "5"],
        (2, "table.csv has 2 columns of features, but --n-features 5."),
    ),
    "an option of other formats": (
        ["convert", "rows.svm", "out.svm", "--delimiter", ";"],
        (
            2,
            "--delimiter ';' does not apply to rows.svm, whose format is libsvm: leave it out. It applies to csv, tsv.",
        ),
    ),
    "a flag of other formats": (
        ["convert", "rows.svm", "out.svm", "--no-header"],
        (2, "--no-header does not apply to rows.svm, whose format is libsvm: leave it out. It applies to csv, tsv."),
    ),
    "a delimiter": (
        ["convert", "table.csv", "out.svm", "--delimiter", ";;"],
        (2, "--delimiter must be one character other than a quote and a line end, got ';;'."),
    ),
    "another delimiter": (
        ["convert", "semicolons.csv", "out.svm", "--label", "kind"],
        (
            2,
            "--label kind: semicolons.csv has no column of that name. Its columns are 'a;b;kind'. Its first line has "
            "more ';' than ',': pass --delimiter ';' if they separate the cells.",
        ),
    ),
    "tabs": (
        ["convert", "tabs.csv", "out.svm", "--label", "kind"],
        (
            2,
            "--label kind: tabs.csv has no column of that name. Its columns are 'a\\tb\\tkind'. Its first line has "
            "more tabs than ',': pass --format tsv if they separate the cells.",
        ),
    ),
    "a label among the cells": (
        ["convert", "table.csv", "out.svm"],
        (
            1,
            "table.csv, line 2, column 3 ('kind'): 'x' is not a number. Encode the column, for example with "
            "sklearn.preprocessing.OneHotEncoder, leave it out with --drop kind, or name it with --label if it has the "
            "labels.",
        ),
    ),
    "ids from 0": (
        ["convert", "zero.svm", "out.svm"],
        (1, "zero.svm, line 1, column 3: the id '0' is below 1. If the ids count from 0, pass --zero-based."),
    ),
    "a format": (
        ["convert", "what", "out.svm"],
        (
            2,
            "what: the format cannot be recognized by the name or by the first bytes. Pass --format with "
            "one of libsvm, csv, tsv, parquet, arrow, npy, npz, codes.",
        ),
    ),
    "a format that is written": (
        ["convert", "rows.svm", "out.xls"],
        (
            2,
            "the name 'out.xls' has no ending of a known format: choose one of libsvm, npz, parquet, codes, by "
            "the ending of the name or by --to.",
        ),
    ),
    "a command of a group": (
        ["index", "build", "rows.svm", "--n-features", "1", "-i", "new.index"],
        (
            2,
            "rows.svm, line 1, column 1: the row has the id 3, but --n-features 1. Pass a larger number, or leave it "
            "out.",
        ),
    ),
    "a field of texts": (
        ["dedup", "texts.jsonl", "-o", "out.jsonl"],
        (
            1,
            "texts.jsonl, line 1 has no field 'text'; it has 'body'. If its text is one of these, pass --text. Fix the "
            "record, or pass --on-error skip to leave such records as they are.",
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_sentences(name, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.svm").write_text("1 1:2 3:1\n-1 2:1\n")
    Path("zero.svm").write_text("1 0:2\n")
    Path("table.csv").write_text(CSV)
    Path("semicolons.csv").write_text(CSV.replace(",", ";"))
    Path("tabs.csv").write_text(CSV.replace(",", "\t"))
    Path("what").write_text("what\n")
    Path("texts.jsonl").write_text('{"body": "a text"}\n')
    line, (status, sentence) = CASES[name]
    model = ["-m", "new.safetensors"] if line[0] == "train" else []
    quiet = [] if line[0] == "info" else ["-q"]
    assert command(*line, *model, *quiet, status=status).stderr == f"kernelsketch: {sentence}\n"


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        (Setting("header"), "--header"),
        (Setting("header", True), "--header"),
        (Setting("header", False), "--no-header"),
        (Setting("zero_based", False), "--zero-based False"),
        (Setting("label", ...), "--label"),
        (Setting("label", -1), "--label -1"),
        (Setting("label", "it's"), """--label 'it'"'"'s'"""),
        (Setting("label", "a\tb"), r"--label 'a\tb'"),
        (Setting("random_state", 3), "--seed 3"),
        (Setting("bits", 3), "bits=3"),
    ],
)
def test_settings_become_options(setting, shown):
    assert in_options(Sentence("a ", setting, "."), OPTIONS) == f"a {shown}."
    assert in_options(f"a {setting}.", OPTIONS) == f"a {setting}."  # a text is not searched for parameters


def ended(error, capsys):
    with pytest.raises(SystemExit) as end, errors_as_sentences(lambda: OPTIONS):
        raise error
    return end.value.code, capsys.readouterr().err


def test_the_option_comes_first_if_the_message_does_not_mention_it(capsys):
    error = InputError("it has a header.", parameter="header")
    assert ended(error, capsys) == (2, "kernelsketch: --header: it has a header.\n")
    assert ended(InputError("no option.", parameter="bits"), capsys) == (1, "kernelsketch: no option.\n")


def test_statuses(capsys):
    """An error about an option or a parameter is wrong usage, whoever raises it; every other error is a failure."""
    assert ended(InputError(Setting("seed"), " is wrong."), capsys) == (2, "kernelsketch: --seed is wrong.\n")
    assert ended(InputError(Setting("bits"), " is wrong."), capsys) == (1, "kernelsketch: bits is wrong.\n")
    assert ended(ParameterError(Setting("label"), " is wrong."), capsys) == (2, "kernelsketch: --label is wrong.\n")
    assert ended(UsageError("--label is wrong."), capsys) == (2, "kernelsketch: --label is wrong.\n")
    assert ended(ValueError("label=3 is wrong."), capsys) == (1, "kernelsketch: label=3 is wrong.\n")


def test_errors_of_files_may_mention_options(capsys):
    error = OSError(28, Sentence("No space left on device: choose another ", Setting("label")), "file")
    assert ended(error, capsys) == (1, "kernelsketch: file: No space left on device: choose another --label\n")


@pytest.mark.filterwarnings("always:.* ordered:UserWarning")
def test_warnings_name_options(capsys):
    """A warning of the library appears once, and says which options help."""
    with errors_as_sentences(lambda: OPTIONS):
        for _ in range(2):
            warn_user(Sentence("rows are ordered: pass ", Setting("label", text="label="), "."))
            warn_user("rows are ordered.")
    assert capsys.readouterr().err == (
        "kernelsketch: rows are ordered: pass --label.\nkernelsketch: rows are ordered.\n"
    )


def test_a_parameter_that_another_option_sets(capsys):
    def error(*parts, **about):
        with pytest.raises(InputError) as found, set_by(label="to"):
            raise InputError(*parts, **about)
        return found.value

    named = error(Setting("label", "x"), " is wrong.")
    assert (str(named), named.parameter) == ("label='x' is wrong.", "to")
    assert ended(named, capsys) == (2, "kernelsketch: --to x is wrong.\n")
    other = error("Pass ", Setting("label", ...), ".")  # an error about something else
    assert ended(other, capsys) == (1, "kernelsketch: Pass --label.\n")


def test_sentences_are_not_searched():
    tree = ast.parse(Path(_errors.__file__).read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert "re" not in imported
