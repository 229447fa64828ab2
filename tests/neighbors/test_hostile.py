"""What a hostile caller or program does to an index: too many pairs, values beyond float32, files that are cut off."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse

from kernelsketch import GCWS, GCWSIndex, PackedCodes
from kernelsketch.exceptions import InputError, RangeWarning

rng = np.random.default_rng(0)


class TestManyPairs:
    X = 1 + 0.01 * rng.random((300, 4))  # all of them are similar, and no two are equal

    def test_a_result_beyond_the_bound_is_refused(self):
        index = GCWSIndex().fit(self.X)
        with pytest.raises(InputError, match=r"more than max_pairs=1000 pairs of at least threshold=0.9: raise"):
            index.query_pairs(0.9, max_pairs=1000)
        every = 300 * 299 // 2
        assert len(index.query_pairs(0.9, max_pairs=every)[0]) == every
        np.testing.assert_array_equal(index.query_pairs(0.9, max_pairs=None)[0], index.query_pairs(0.9)[0])
        with pytest.raises(InputError, match="more than max_pairs=99"):
            GCWSIndex().fit(np.ones((101, 2))).query_pairs(0.5, max_pairs=99)

    def test_the_search_stops_early(self, monkeypatch):
        """Rows are joined a few at a time, so that the pairs are counted before there are too many of them."""
        index, rows = GCWSIndex().fit(self.X), []
        search = type(index)._search
        monkeypatch.setattr(type(index), "_search", lambda *a: rows.append(len(a[1].codes)) or search(*a))
        with pytest.raises(InputError):
            index.query_pairs(0.9, max_pairs=1000)
        assert sum(rows) <= 64

    @pytest.mark.parametrize("value", [0, -3])
    def test_bad_bounds(self, value):
        with pytest.raises(InputError, match="max_pairs must be a whole number above 0"):
            GCWSIndex().fit(self.X).query_pairs(0.9, max_pairs=value)


class TestRange:
    """Queries that float32 cannot hold at the scale of the index get no answer; the others of their batch do."""

    X = rng.random((50, 5))

    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    @pytest.mark.parametrize("value", [1e200, 1e-200])
    def test_the_other_rows_are_answered(self, make, value):
        index = GCWSIndex().fit(make(self.X))
        queries = self.X[:6].copy()
        queries[[1, 4]] *= value
        expected = index.kneighbors(make(np.delete(queries, [1, 4], axis=0)), 3)
        with pytest.warns(RangeWarning, match=r"\(rows 1, 4\): they get no neighbours"):
            distances, ids = index.kneighbors(make(queries), 3)
        np.testing.assert_array_equal(np.delete(ids, [1, 4], axis=0), expected[1])
        np.testing.assert_array_equal(np.delete(distances, [1, 4], axis=0), expected[0])
        assert (ids[[1, 4]] == -1).all()
        assert np.isinf(distances[[1, 4]]).all()
        with pytest.warns(RangeWarning):
            lists = index.neighbors_above(make(queries), threshold=0.5, return_distance=False)
        assert [len(found) > 0 for found in lists] == [True, False, True, True, False, True]

    def test_without_stored_vectors_codes_answer(self):
        index = GCWSIndex(store_vectors=False).fit(self.X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            index.kneighbors(self.X[:2] * 1e200, 3)


class TestCutOff:
    """A mapped file that another program has cut off is an error, not the end of the process."""

    @pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be cut off there")
    @pytest.mark.parametrize(
        "what",
        [
            "index.kneighbors(X[:3])",
            "index.query_pairs(0.5)",
            "index.ids_",
            "pickle.dumps(index)",
            "codes.match_counts()",
            "codes[[3999]]",
            "codes == PackedCodes.concatenate([codes])",
            "PackedCodes.concatenate([codes, codes])",
            "codes.save(sys.argv[1] + '/again')",
            "copy.deepcopy(codes)",
        ],
    )
    def test_is_an_error(self, tmp_path, what):
        X = rng.random((4000, 8))
        GCWSIndex(n_tables=8).fit(X).save(tmp_path / "index")
        GCWS(256).fit(X).codes(X).save(tmp_path / "codes")
        code = f"""
import copy, os, pickle, sys, numpy as np
from kernelsketch import GCWSIndex, PackedCodes
X = np.random.default_rng(0).random((4000, 8))
index, codes = GCWSIndex.load(sys.argv[1] + "/index", mmap=True), PackedCodes.load(sys.argv[1] + "/codes", mmap=True)
for name in ("index", "codes"):
    os.truncate(sys.argv[1] + "/" + name, 5000)
try:
    {what}
except ValueError as error:
    print(error)
"""
        command = [sys.executable, "-c", code, str(tmp_path)]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr
        assert "the mapped file has been cut off to 5000 of" in found.stdout

    @pytest.mark.skipif(sys.platform == "win32", reason="has other permissions")
    def test_files_that_everybody_may_write_to_are_read(self, tmp_path):
        codes = GCWS(16).fit(np.eye(3)).codes(np.eye(3))
        codes.save(tmp_path / "codes")
        assert isinstance(PackedCodes.load(tmp_path / "codes", mmap=True).packed, np.memmap)
        (tmp_path / "codes").chmod(0o666)
        found = PackedCodes.load(tmp_path / "codes", mmap=True)
        assert not isinstance(found.packed, np.memmap)
        assert found == codes
