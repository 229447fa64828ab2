"""results.csv, and the paper's own numbers."""

import pytest

from kernelsketch.exceptions import InputError
from kernelsketch_paper.experiments import Row, published, published_errors, read_results, write_results


def test_rows_come_back(tmp_path):
    rows = [
        Row("kernels", "Car", "linear", "liblinear", intercept=False, C=0.1, accuracy=71.5, n_train=864),
        Row("hashing", 'a "name", quoted', "gcws", "kernelsketch", k=64, b=8, repetition=3, C=1e6, accuracy=12.3457),
    ]
    write_results(tmp_path / "made", rows)
    assert read_results(tmp_path / "made") == rows


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n"])
def test_another_table_is_refused(tmp_path, content):
    (tmp_path / "results.csv").write_text(content)
    with pytest.raises(InputError, match="columns"):
        read_results(tmp_path)


def test_a_damaged_number_is_refused(tmp_path):
    write_results(tmp_path, [Row("kernels", "Car", "gmm", "libsvm", accuracy=1.0)])
    path = tmp_path / "results.csv"
    path.write_text(path.read_text().replace(",1,", ",one,"))
    with pytest.raises(InputError, match="not a table of results"):
        read_results(tmp_path)


def test_a_missing_file_says_what_makes_it(tmp_path):
    with pytest.raises(InputError, match="kernelsketch reproduce"):
        read_results(tmp_path)


def test_the_papers_numbers():
    rows = published()
    assert len(rows) == 57
    assert (rows["Letter"].rbf, rows["Letter"].rbf_gamma, rows["Letter"].gmm) == (97.44, 11, 97.26)
    assert rows["IJCNN"].gmm is None
    assert {row.table for row in rows.values()} == {"uci", "large", "mnist"}
    assert [row["method"] for row in published_errors()] == ["SVM-RBF", "SVM-POLY", "NNET", "Linear", "RBF", "GMM"]
