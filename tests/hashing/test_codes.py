"""PackedCodes: packing, slicing, comparing, files."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

from kernelsketch import GCWS, GCWSClassifier, PackedCodes, backends
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.formats import open_rows, write_rows
from kernelsketch.hashing import Hasher
from kernelsketch.reference import pack as reference

X = np.random.default_rng(0).normal(size=(30, 20))
X[4] = 0


def made(**params):
    return GCWS(**{"n_components": 50, **params}).fit(X).codes(X)


@given(width=st.integers(1, 24), n=st.integers(0, 9), k=st.integers(1, 40), seed=st.integers(0, 99))
def test_packing_on_every_back_end(width, n, k, seed):
    codes = np.random.default_rng(seed).integers(0, 2**width, (n, k)).astype(reference.code_dtype(width))
    expected = reference.pack(codes, width)
    assert expected.shape == (n, -(-k * width // 8))
    for name in backends.available():
        with backends.use_backend(name) as chosen:
            packed = chosen.pack(codes, width)
            np.testing.assert_array_equal(packed, expected)
            back = chosen.unpack(packed, width, k)
            np.testing.assert_array_equal(back, codes)
            assert back.dtype == codes.dtype


@pytest.mark.parametrize(("bits", "t_bits"), [(1, 0), (2, 0), (4, 0), (8, 0), (5, 2), (8, 4), (16, 0), (16, 8), (9, 7)])
def test_codes_are_the_low_bits_of_the_samples(bits, t_bits):
    model = GCWS(50, bits=bits, t_bits=t_bits).fit(X)
    codes = model.codes(X)
    assert codes.packed.shape == (30, -(-50 * (bits + t_bits) // 8))
    np.testing.assert_array_equal(codes.unpack(), reference.encode(*model.signatures(X), bits, t_bits))


def test_a_bit_code_is_lossless_where_it_can_be():
    """On nonnegative data up to 2^b features; the interleaved slots of the paper would halve that."""
    slots = 2 * np.arange(16)
    assert len(set(reference.encode(slots, 0 * slots, 4, 0).tolist())) == 16
    slots = np.arange(16)  # 8 features of both signs
    assert len(set(reference.encode(slots, 0 * slots, 4, 0).tolist())) == 16


def test_views_without_a_copy():
    codes = made(bits=8)
    assert np.shares_memory(codes.unpack(), codes.packed)
    codes = made(bits=16)
    assert codes.unpack().dtype == np.uint16
    assert np.shares_memory(codes.unpack(), codes.packed)


@pytest.mark.parametrize("bits", [1, 3, 8, 12])
def test_slices(bits):
    codes = made(bits=bits)
    whole = codes.unpack()
    for rows in (slice(3, 9), [1, 5, 2], X[:, 0] > 0, slice(None, None, -1)):
        np.testing.assert_array_equal(codes[rows].unpack(), whole[rows])
        np.testing.assert_array_equal(codes[rows].empty, codes.empty[rows])
    assert codes[3].shape == (1, 50)
    for k in (1, 7, 50):
        assert codes[:, :k] == GCWS(k, bits=bits).fit(X).codes(X)
    with pytest.raises(InputError, match="only leading hashes"):
        codes[:, 3:]
    with pytest.raises(InputError, match="only leading hashes"):
        codes[:, np.array([0, 1])]
    with pytest.raises(InputError, match="k above 0"):
        codes[:, :0]


def test_concatenate_and_equality():
    codes = made(bits=3)
    assert PackedCodes.concatenate([codes[:10], codes[10:]]) == codes
    assert codes != made(bits=4)
    assert codes != made(bits=3, random_state=1)
    assert codes[:5] != codes[5:10]
    assert (codes == 3) is False
    with pytest.raises(InputError, match="nothing to concatenate"):
        PackedCodes.concatenate([])
    with pytest.raises(TypeError, match="expected PackedCodes, got int"):
        PackedCodes.concatenate([1, codes])
    with pytest.raises(InputError, match="codes of 50 and of 20 hashes"):
        PackedCodes.concatenate([codes, codes[:, :20]])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"random_state": 9}, "seed 0 against 9"),
        ({"p": 2.0}, "p 1.0 against 2.0"),
        ({"gamma": 2.0}, "gamma None against 2.0"),
        ({"center": "mean"}, "center"),
        ({"bits": 4}, "bits 8 against 4"),
    ],
)
def test_codes_of_different_hashes_are_not_compared(params, message):
    with pytest.raises(InputError, match=f"different hashes \\({message}"):
        made().match_counts(made(**params))


@pytest.mark.parametrize(("bits", "t_bits"), [(2, 0), (8, 0), (8, 3), (16, 0), (16, 8)])
@pytest.mark.parametrize("k", [1, 63, 64, 200])
def test_match_counts_on_every_back_end(bits, t_bits, k):
    codes = made(bits=bits, t_bits=t_bits, n_components=k)
    whole = codes.unpack()
    nonempty = ~codes.empty
    expected = (whole[:, None] == whole[None]).sum(axis=2) * (nonempty[:, None] & nonempty[None])
    for name in backends.available():
        with backends.use_backend(name):
            np.testing.assert_array_equal(codes.match_counts(), expected)
            np.testing.assert_array_equal(codes[:7].match_counts(codes[:, :], n_jobs=2), expected[:7])


def test_estimates_and_their_standard_error():
    codes = made(n_components=400, bits=16, t_bits=8)
    estimate, error = codes.estimate_kernel(return_std=True)
    assert not estimate[4].any()
    assert (np.diag(estimate) == (np.arange(30) != 4)).all()
    np.testing.assert_allclose(error, np.sqrt(estimate * (1 - estimate) / 400))


class TestFiles:
    @pytest.mark.parametrize("mmap", [False, True])
    @pytest.mark.parametrize("params", [{}, {"bits": 3}, {"center": "mean", "p": 0.5}, {"gamma": 2.0}])
    def test_round_trip(self, tmp_path, params, mmap):
        codes = made(**params)
        codes.save(tmp_path / "codes.safetensors")
        back = PackedCodes.load(tmp_path / "codes.safetensors", mmap=mmap)
        assert back == codes
        assert isinstance(back.packed, np.memmap) == mmap
        assert back[:, :10].match_counts().shape == (30, 30)
        assert [p.name for p in tmp_path.iterdir()] == ["codes.safetensors"]  # no partial file is left

    @pytest.mark.skipif(os.name == "nt", reason="a mapped file cannot be replaced")
    def test_a_mapped_file_is_saved_to_itself(self, tmp_path):
        codes, path = made(), tmp_path / "codes.safetensors"
        codes.save(path)
        mapped = PackedCodes.load(path, mmap=True)
        mapped.save(path)
        assert PackedCodes.load(path) == codes
        mapped[:7].save(path)
        assert PackedCodes.load(path) == codes[:7]
        assert mapped == codes

    def test_files_of_others_are_refused(self, tmp_path):
        save_file({"packed": np.zeros((2, 2), np.uint8)}, tmp_path / "other.safetensors")
        with pytest.raises(InputError, match="was not written by kernelsketch"):
            PackedCodes.load(tmp_path / "other.safetensors")
        (tmp_path / "text").write_text("hello, this is no such file at all")
        with pytest.raises(InputError, match="is not a safetensors file"):
            PackedCodes.load(tmp_path / "text")
        (tmp_path / "text").write_bytes((4).to_bytes(8, "little") + b"[[[[")
        with pytest.raises(InputError, match="cannot be read as packed codes"):
            PackedCodes.load(tmp_path / "text")
        GCWSClassifier(8).fit(np.eye(4), [0, 0, 1, 1]).save(tmp_path / "model.safetensors")
        with pytest.raises(InputError, match="does not hold packed codes"):
            PackedCodes.load(tmp_path / "model.safetensors")

    def test_damaged_files_are_refused(self, tmp_path):
        path = tmp_path / "codes.safetensors"
        made().save(path)
        good = path.read_bytes()
        for damaged in (
            good[:-10],
            good[:20],
            good.replace(b'\\"bits\\": 8', b'\\"bits\\": 99'),
            good.replace(b"n_components", b"m_components"),
        ):
            path.write_bytes(damaged)
            with pytest.raises(InputError):
                PackedCodes.load(path)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b'seed\\": 0', b'seed\\": -1'),
            (b'p\\": 1.0', b'p\\": NaN'),
            (b'p\\": 1.0', b'p\\": "x"'),
            (b'n_features\\": 20', b'n_features\\": -2'),
            (b'n_components\\": 50', b'n_components\\": 5.'),
            (b'format_version\\": 1', b'format_version\\": 0'),
        ],
    )
    def test_hostile_headers_are_refused(self, tmp_path, old, new):
        path = tmp_path / "codes.safetensors"
        made().save(path)
        content = path.read_bytes()
        assert old in content
        length = int.from_bytes(content[:8], "little") + len(new) - len(old)
        path.write_bytes(length.to_bytes(8, "little") + content[8:].replace(old, new))
        with pytest.raises(InputError):
            PackedCodes.load(path)

    def test_flags_of_the_wrong_shape_are_refused(self, tmp_path):
        codes = made()
        codes.save(tmp_path / "codes.safetensors")
        with safe_open(str(tmp_path / "codes.safetensors"), framework="numpy") as file:
            metadata, packed = file.metadata(), file.get_tensor("packed")
        save_file({"packed": packed, "empty": np.zeros((30, 2), np.uint8)}, tmp_path / "bad.safetensors", metadata)
        with pytest.raises(InputError, match=r"the tensor empty has shape \(30, 2\), which is not \(rows\)"):
            PackedCodes.load(tmp_path / "bad.safetensors")

    def test_every_bit_counts(self, tmp_path):
        path = tmp_path / "codes.safetensors"
        made().save(path, np.arange(30) % 3)
        good = path.read_bytes()
        for place in np.random.default_rng(0).integers(0, 8 * len(good), 200):
            damaged = bytearray(good)
            damaged[place // 8] ^= 1 << place % 8
            path.write_bytes(damaged)
            with pytest.raises(InputError):
                PackedCodes.load(path)

    @pytest.mark.parametrize(
        "y", [np.arange(30) - 7, np.arange(30) / 4, np.array(["ä", "bc", "d"] * 10), np.ones(30, bool)]
    )
    def test_labels(self, tmp_path, y):
        codes = made()
        codes.save(tmp_path / "codes.safetensors", y)
        assert PackedCodes.load(tmp_path / "codes.safetensors") == codes
        (found,) = open_rows(tmp_path / "codes.safetensors")
        assert codes == found.X
        assert found.y.tolist() == y.tolist()

    @pytest.mark.parametrize("labelled", [False, True])
    def test_blocks(self, tmp_path, labelled):
        """A file that grew holds what one that was saved at once does."""
        codes, y = made(bits=3), np.array(["a", "b", "c"] * 10) if labelled else None
        parts = [(codes[rows], None if y is None else y[rows]) for rows in (slice(0, 7), slice(7, 7), slice(7, 30))]
        assert write_rows(tmp_path / "codes.safetensors", parts) == 30
        assert PackedCodes.load(tmp_path / "codes.safetensors") == codes
        found = list(open_rows(tmp_path / "codes.safetensors", block_bytes=10 * codes.packed.shape[1]))
        assert [len(part.X) for part in found] == [10, 10, 10]
        assert PackedCodes.concatenate([part.X for part in found]) == codes
        assert [part.y is not None for part in found] == [labelled] * 3
        if labelled:
            assert np.concatenate([part.y for part in found]).tolist() == y.tolist()

    def test_blocks_must_agree(self, tmp_path):
        codes, y, path = made(), np.arange(30), tmp_path / "codes.safetensors"
        for parts, message in [
            ([(codes, y), (codes, None)], "to all rows or to none"),
            ([(codes, None), (codes, y)], "to all rows or to none"),
            ([(codes, y), (codes, y.astype(str))], "some are text"),
            ([(codes, y), (made(p=2.0), y)], "different hashes"),
            ([(codes, y), (codes[:, :10], y)], "10 codes per row"),
        ]:
            with pytest.raises(InputError, match=message):
                write_rows(path, parts)
        with pytest.raises(InputTypeError, match="hash the rows first"):
            write_rows(path, [(np.eye(3), None)])
        assert list(tmp_path.iterdir()) == []

    def test_a_file_that_was_cut_after_it_was_opened(self, tmp_path):
        path = tmp_path / "codes.safetensors"
        made().save(path)
        with open_rows(path, block_bytes=500) as stream:
            next(stream)
            os.truncate(path, 5000)
            with pytest.raises(InputError, match="changed while it was read"):
                list(stream)

    def test_others_may_read_the_file(self, tmp_path):
        made().save(tmp_path / "codes.safetensors")
        plain = tmp_path / "plain"
        plain.write_text("")
        assert (tmp_path / "codes.safetensors").stat().st_mode == plain.stat().st_mode

    def test_newer_versions_are_refused(self, tmp_path):
        path = tmp_path / "codes.safetensors"
        made().save(path)
        path.write_bytes(path.read_bytes().replace(b'{\\"version\\": 1', b'{\\"version\\": 7'))
        with pytest.raises(InputError, match="newer kernelsketch"):
            PackedCodes.load(path)


def test_the_parts_must_fit():
    with pytest.raises(InputError, match="packed must be uint8 of shape"):
        PackedCodes(np.zeros((2, 3), np.uint8), np.zeros(2, bool), Hasher(10, 0))
