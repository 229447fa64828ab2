import io

import pytest

from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.formats import open_rows


@pytest.mark.parametrize(
    ("name", "text", "format"),
    [
        ("a9a", b"-1 3:1 11:1\n", "libsvm"),
        ("rows.txt", b"# made by\n\n1 qid:3 5:1\n", "libsvm"),
        ("rows.txt", b"a,b\n1,2\n", "csv"),
        ("rows.txt", b"1\t2\n", "tsv"),
        ("rows.tsv", b"1\t2\n", "tsv"),
        ("ROWS.CSV", b"1\n", "csv"),
        ("rows.svm", b"1\n", "libsvm"),
    ],
)
def test_formats(tmp_path, name, text, format):
    path = tmp_path / name
    path.write_bytes(text)
    with open_rows(path) as stream:
        assert stream.format == format
    if "." not in name or name.endswith(".txt"):
        assert open_rows(io.BytesIO(text)).format == format


@pytest.mark.parametrize("text", [b"", b"1\n2\n", b"\0\1\2"])
def test_unknown(text):
    with pytest.raises(
        InputError,
        match=r"the stream: the format cannot be recognized by the name or by the first bytes\. Pass format=",
    ):
        open_rows(io.BytesIO(text))


@pytest.mark.parametrize("text", [b'{"a": 1, "b": 2}\n{"a"', b'\xef\xbb\xbf{ "a": 1}\n', b'[\n {"a": 1}]', b"{}\n"])
def test_json_is_no_table_whose_first_line_is_a_header(text):
    with pytest.raises(InputError, match=r"the stream holds JSON, which is read for its texts only: .* --text"):
        open_rows(io.BytesIO(text))


def test_options_that_a_format_has_not():
    with pytest.raises(InputError, match="header=True does not apply to the stream, whose format is libsvm: leave"):
        open_rows(io.BytesIO(b"1 1:1\n"), header=True)
    with pytest.raises(InputError, match="zero_based=False does not apply to the stream, whose format is csv"):
        open_rows(io.BytesIO(b"1,2\n"), zero_based=False)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"format": "xls"}, InputError, "format must be one of libsvm, csv"),
        ({"label": 1.5}, InputTypeError, "label must be the name or the number"),
        ({"dtype": "int8"}, InputError, "dtype must be float32 or float64, got 'int8'"),
        ({"dtype": "no"}, InputError, "dtype must be"),
        ({"block_bytes": 0}, InputError, "block_bytes must be a whole number above 0"),
        ({"n_features": 0}, InputError, "n_features must be"),
        ({"header": 1}, InputTypeError, "header must be None, True or False, got 1"),
        ({"delimiter": ", "}, InputError, "delimiter must be one character"),
        ({"delimiter": 1}, InputTypeError, "delimiter must be one character"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        open_rows(io.BytesIO(b"1,2\n"), **options)


def test_repr():
    assert repr(open_rows(io.BytesIO(b"1,2\n"))) == "RowStream('the stream': csv, ? rows, 2 features)"
