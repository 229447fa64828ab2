"""Shingles: equal to the specification and to scikit-learn's words, and what users may rely on."""

import pickle
from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline

from kernelsketch import GCWS, GCWSIndex, NearDuplicates, dedup, gmm_kernel
from kernelsketch.backends import ShingleParams, available
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.backends.reference import ReferenceBackend
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.text import Shingles, texts_of

WORDS = ["new", "York", "ÄRGER", "Straße", "_x1", "a", "internationalization", "слово", "漢字", "İ", "ΣΑΣ", "e\u0301"]
marks = st.sampled_from([" ", "  ", "\n", ", ", "\u3000", "\u00a0", "-", "🙂", "\ufffd", "\u0000"])
sentences = st.lists(st.tuples(st.sampled_from(WORDS), marks), max_size=40).map(
    lambda parts: "".join(word + mark for word, mark in parts)
)
texts = st.lists(st.one_of(sentences, st.text(max_size=60)).map(str.encode) | st.binary(max_size=60), max_size=6)
params = st.builds(
    lambda words, n, more, lowercase: ShingleParams(words, n, n + more, lowercase),
    st.booleans(), st.integers(1, 6), st.integers(0, 3), st.booleans(),
)  # fmt: skip
DOCUMENTS = [
    "The quick brown fox jumps over the lazy dog. The quick brown fox!",
    "A package that provides the development files of libfoo_2, and documentation of its functions; see README.",
    "Große Straßen in Köln und übermäßig lange Wörter wie Donaudampfschifffahrtsgesellschaft kommen vor, oder?",
    "один два три четыре пять один два три четыре пять",
]


@given(documents=texts, params=params, threads=st.integers(1, 3))
def test_native_code_equals_the_specification(documents, params, threads):
    joined = texts_of(documents)
    expected = ReferenceBackend().shingles(*joined, params)
    apart = tuple(text.decode() if text.isascii() else text for text in documents)
    for name in available():
        backend = ReferenceBackend() if name == "reference" else CpuBackend(name, threads)
        for found in (backend.shingles(*joined, params), backend.shingles_of_texts(apart, params)):
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)
                assert a.dtype == b.dtype


def test_long_texts_equal_the_specification():
    """Words and shingles across the boundaries of blocks of 8, 16 and 64 bytes, and several parts of threads."""
    rng = np.random.default_rng(0)
    alphabet = np.array(list("abcXYZ019_ ,.é漢\u00a0"))
    documents = ["".join(rng.choice(alphabet, size)) for size in range(200)]
    joined = texts_of(documents * 20)
    for words, threads in product((True, False), (1, 2)):
        params = ShingleParams(words, 2, 3, True)
        expected = ReferenceBackend().shingles(*texts_of(documents), params)
        found = CpuBackend(available()[0], threads).shingles(*joined, params)
        np.testing.assert_array_equal(found[0][: len(documents) + 1], expected[0])
        np.testing.assert_array_equal(found[1], np.tile(expected[1], 20))
        np.testing.assert_array_equal(found[2], np.tile(expected[2], 20))


def test_long_words_equal_the_specification():
    """Words of up to four blocks of 64 bytes, which begin at any place of a block."""
    documents = [f"{' ' * (size % 67)}{'ab1X_' * 60}"[: size + size % 67] + ", end" for size in range(260)]
    for params in (ShingleParams(True, 1, 1, True), ShingleParams(True, 1, 2, False)):
        expected = ReferenceBackend().shingles(*texts_of(documents), params)
        found = CpuBackend(available()[0], 1).shingles(*texts_of(documents), params)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("size", [255, 256, 257, 65_535, 65_536, 70_000])
def test_features_ascend_however_many_there_are(size):
    """Counters of one, two and eight bytes: every number comes twice, apart from the last ones."""
    words = [str(number) for number in range(size // 2)] * 2 + ["once"] * (size % 2)
    row = Shingles().transform([" ".join(words)])
    assert (np.diff(row.indices) > 0).all()
    assert row.nnz == size - size // 2
    assert row.sum() == size
    one_by_one = Shingles().transform(sorted(set(words)))
    np.testing.assert_array_equal(row.indices, np.sort(one_by_one.indices))


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 3), (4, 5)])
def test_words_are_those_of_scikit_learn(ngram_range):
    """The same counts as HashingVectorizer: only the numbers of the features differ."""
    peer = HashingVectorizer(
        ngram_range=ngram_range, token_pattern=r"(?u)\w+", alternate_sign=False, norm=None, n_features=2**31 - 1
    )
    ours, theirs = Shingles(ngram_range).transform(DOCUMENTS), peer.transform(DOCUMENTS)
    for row in range(len(DOCUMENTS)):
        assert sorted(ours[[row]].data) == sorted(theirs[[row]].data)
    np.testing.assert_allclose(gmm_kernel(ours), gmm_kernel(theirs.astype(np.float32)), rtol=1e-6)


def test_characters_are_those_of_scikit_learn():
    peer = CountVectorizer(analyzer="char", ngram_range=(3, 4))
    theirs = peer.fit_transform([" ".join(text.split()) for text in DOCUMENTS]).astype(np.float32)
    ours = Shingles((3, 4), analyzer="char").transform([f" {text}\n" for text in DOCUMENTS])
    np.testing.assert_allclose(gmm_kernel(ours), gmm_kernel(theirs), rtol=1e-6)
    assert ours.nnz == theirs.nnz


def test_rows_are_canonical_and_counts_exact():
    text = "spam egg spam spam " * 50
    row = Shingles((1, 2)).transform([text])
    assert row.has_sorted_indices
    assert (np.diff(row.indices) > 0).all()
    assert row.indices.dtype == np.int64
    words = text.split()
    assert sorted(row.data) == sorted([*Counter(words).values(), *Counter(pairwise(words)).values()])


def test_order_and_repetition_count():
    X = Shingles(2).transform(["new york new york", "york new", "new york", "New  York"])
    kernel = gmm_kernel(X)
    assert kernel[0, 1] == np.float32(1 / 3)
    assert kernel[1, 2] == 0
    assert kernel[2, 3] == 1


def test_a_text_with_fewer_words_than_n_is_one_shingle():
    X = Shingles((4, 6)).transform(["one two", "One, two!", "one", "two one", "", " .,", "one two three four"])
    assert np.diff(X.indptr).tolist() == [1, 1, 1, 1, 0, 0, 1]
    assert X.indices[0] == X.indices[1]
    assert len(set(X.indices.tolist())) == 4


def test_bytes_that_are_not_utf8_separate_words():
    broken = [b"caf\xe9 noir", b"\xf0\x9f word \xc3", b"\xed\xa0\x80x", b"ab\xffcd", "lone \ud800 surrogate"]
    replaced = [text.decode("utf-8", "replace") if isinstance(text, bytes) else "lone ? surrogate" for text in broken]
    for analyzer in ("word", "char"):
        found, expected = (Shingles(1, analyzer=analyzer).transform(x) for x in (broken[:4], replaced[:4]))
        assert (found != expected).nnz == 0
    assert (Shingles().transform(broken[4:]) != Shingles().transform(replaced[4:])).nnz == 0


def test_normal_forms_and_case():
    forms = ["ﬁnance Å", "finance A\u030a", "FINANCE Å"]
    apart, same = Shingles(), Shingles(normalize="NFKC")
    assert (gmm_kernel(apart.transform(forms)) < 1).any()
    assert (gmm_kernel(same.transform(forms)) == 1).all()
    assert (gmm_kernel(same.transform([form.encode() for form in forms])) == 1).all()
    assert (gmm_kernel(Shingles(normalize="NFKC", lowercase=False).transform(forms)) < 1).any()


def test_weights():
    X = ["a a a b", "a c"]
    count, binary, log = (Shingles(weight=weight).transform(X) for weight in ("count", "binary", "log"))
    assert sorted(count.data) == [1, 1, 1, 3]
    assert set(binary.data) == {1}
    assert log.max() == np.float32(1 + np.log(3))
    assert log.dtype == np.float32


def test_idf_is_that_of_scikit_learn_and_blocks_do_not_matter():
    peer = TfidfTransformer(norm=None)
    theirs = peer.fit_transform(CountVectorizer(token_pattern=r"\w+").fit_transform(DOCUMENTS[:3] + DOCUMENTS[:1]))
    documents = DOCUMENTS[:3] + DOCUMENTS[:1]
    model = Shingles(weight="idf").fit(documents)
    ours = model.transform(documents)
    for row in range(len(documents)):
        np.testing.assert_allclose(sorted(ours[[row]].data), sorted(theirs[[row]].data), rtol=1e-6)
    parts = Shingles(weight="idf").fit_blocks([documents[:1], documents[1:3], documents[3:]])
    for a, b in zip(model.frequencies_, parts.frequencies_, strict=True):
        np.testing.assert_array_equal(a, b)
    unseen = model.transform(["zzz"]).data
    assert unseen == np.float32(np.log(5 / 2) + 1)


def test_is_a_scikit_learn_transformer():
    model = Shingles((2, 3), analyzer="char", n_jobs=2)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(Shingles(weight="idf").fit(DOCUMENTS)))
    assert again.transform(DOCUMENTS).shape == (4, 2**62)
    codes = make_pipeline(Shingles(3), GCWS(64)).fit_transform(DOCUMENTS)
    assert codes.shape[0] == 4
    np.testing.assert_array_equal(Shingles().transform(np.array(DOCUMENTS)).data, Shingles().transform(DOCUMENTS).data)
    assert Shingles().transform([]).shape == (0, 2**62)


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("one text", InputTypeError, r"pass \[text\]"),
        (["a", None], InputTypeError, r"X\[1\] is missing"),
        (["a", float("nan")], InputTypeError, r"X\[1\] is missing"),
        (["a", 3], InputTypeError, r"X\[1\] is 3 of type int"),
        (7, InputTypeError, "got int"),
        (np.array([["a"]]), InputError, r"shape \(1, 1\)"),
    ],
)
def test_what_is_not_text_is_refused(X, error, message):
    with pytest.raises(error, match=message):
        Shingles().transform(X)


@pytest.mark.parametrize("ngram_range", [0, (3, 2), (1, 2, 3), ("a", "b"), (1.5, 2)])
def test_bad_ranges_are_refused(ngram_range):
    with pytest.raises((InputError, InputTypeError), match="ngram_range"):
        Shingles(ngram_range).transform(["text"])


def test_idf_needs_fit():
    with pytest.raises(ValueError, match="not fitted"):
        Shingles(weight="idf").transform(["text"])


TEXTS = ["one two three four", "Größe und Gewicht", "one two three four", ""]


def columns_of_texts(texts):
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    yield pandas.Series(texts)
    yield pandas.Series(texts, dtype="string")
    yield pandas.Series(texts, dtype=pandas.ArrowDtype(pyarrow.string()))
    yield pandas.Series(texts, dtype="category")
    yield polars.Series(texts)
    yield polars.Series(texts, dtype=polars.Categorical)
    yield pyarrow.array(texts)
    yield pyarrow.array(texts, pyarrow.string_view())
    yield pyarrow.array(texts).dictionary_encode()
    yield pyarrow.chunked_array([texts[:1], texts[1:]])
    yield pytest.importorskip("narwhals").from_native(polars.Series(texts), series_only=True)
    if None not in texts and hasattr(np.dtypes, "StringDType"):
        yield np.array(texts, np.dtypes.StringDType())


def test_columns_of_every_library():
    expected = Shingles(2).transform(TEXTS)
    index = GCWSIndex(n_tables=2, shingles=Shingles(2), n_neighbors=1)
    ids = index.fit(TEXTS).kneighbors(TEXTS)[1]
    for column in columns_of_texts(TEXTS):
        found = Shingles(2).fit(column).transform(column)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.data, expected.data)
        for keep in ("first", "longest"):
            clusters, _ = dedup(column, keep=keep)
            np.testing.assert_array_equal(clusters, dedup(TEXTS, keep=keep)[0])
        np.testing.assert_array_equal(index.fit(column).kneighbors(column)[1], ids)
        with pytest.raises(InputTypeError, match="NearDuplicates takes rows of numbers"):
            NearDuplicates().fit(column)


def test_a_data_frame_of_texts():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    for frame in (polars.DataFrame({"t": TEXTS}), polars.LazyFrame({"t": TEXTS}), pyarrow.table({"t": TEXTS})):
        with pytest.raises(InputTypeError, match=r"got a data frame .*: pass one column of it"):
            Shingles(2).transform(frame)
        with pytest.raises(InputError, match=r"X\['t'\] holds values of type .*real numbers are needed"):
            dedup(frame)


def test_gaps_in_columns_of_every_library():
    for column in columns_of_texts(["one", None]):
        for call in (Shingles(2).transform, dedup, lambda texts: dedup(texts, keep="longest")):
            with pytest.raises(InputTypeError, match=r"X\[1\] is missing"):
                call(column)
