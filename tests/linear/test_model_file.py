"""Damaged and hostile model files are refused with an error of ours; nothing is run, nothing huge is allocated."""

import io
import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from helpers.damage import set_field, set_tensor
from kernelsketch import GCWSClassifier, GCWSClassifierCV, GCWSRegressor, load_model
from kernelsketch.exceptions import InputError
from kernelsketch.storage._container import KEY, read_container, write_container

X = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5], [2.0, -2.0]])
y = np.array([0, 1, 0, 1])


class InMemory:
    """A path to bytes: thousands of files, none of them on disk."""

    def __init__(self, content):
        self.content = content

    def __str__(self):
        return "model"

    def exists(self):
        return True

    def open(self, mode):
        assert mode == "rb"
        return io.BytesIO(self.content)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "model"
    GCWSClassifier(2, bits=1).fit(X, y).save(path)
    return path.read_bytes()


def parts_of(model, tmp_path):
    """Header and tensors of its file, and a way to write them changed, with a right checksum."""
    path = tmp_path / "model"
    model.save(path)
    with path.open("rb") as file:
        header, tensors = read_container(file, "model")
    del header["sha256"], header["header_sha256"]

    def write():
        write_container(path, header, tensors)
        return load_model(path)

    return header, tensors, write


def refused(content):
    from kernelsketch.linear import LINEAR_MODELS as MODELS
    from kernelsketch.linear._model_file import read_model

    with pytest.raises(InputError):
        read_model(InMemory(content), MODELS)


def test_every_bit(small):
    for at in range(len(small)):
        for bit in range(8):
            damaged = bytearray(small)
            damaged[at] ^= 1 << bit
            refused(bytes(damaged))


def test_every_length(small):
    for length in range(len(small)):
        refused(small[:length])
    refused(small + b"\0")
    refused(small + small)


def test_bytes_at_random(small):
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(small)
        start = int(rng.integers(len(small)))
        damaged[start : start + int(rng.integers(1, 40))] = rng.bytes(int(rng.integers(0, 40)))
        if bytes(damaged) != small:
            refused(bytes(damaged))
        refused(rng.bytes(int(rng.integers(0, 500))))


def test_huge_sizes_do_not_allocate(small):
    length = int.from_bytes(small[:8], "little")
    entries = json.loads(small[8 : 8 + length])
    tracemalloc.start()
    try:
        for name in set(entries) - {"__metadata__"}:
            for huge in (1 << 34, 1 << 46, 1 << 62, 10**30):
                changed = json.loads(json.dumps(entries))
                changed[name]["shape"][-1] = huge
                changed[name]["data_offsets"][1] = huge * 8
                text = json.dumps(changed).encode()
                refused(len(text).to_bytes(8, "little") + text + small[8 + length :])
        for text in (
            b"[" * 100_000,
            b"{" * 1000,
            b'{"a":' * 20_000,
            b"9" * 20_000,
            b"\xff\xfe[]",
            b"null",
            b"[]",
            b"1",
        ):
            refused(len(text).to_bytes(8, "little") + text)
        inner = json.dumps({"__metadata__": {KEY: "[" * 100_000}}).encode()
        refused(len(inner).to_bytes(8, "little") + inner)
        assert tracemalloc.get_traced_memory()[1] < 30 << 20
    finally:
        tracemalloc.stop()


CHANGES = {
    **{
        f"without {name}": set_field(name, KeyError)
        for name in ("format", "estimator", "hash", "parameters", "training")
    },
    "another estimator": set_field("estimator", "SVC"),
    "an estimator that is a list": set_field("estimator", ["GCWSClassifier"]),
    "a regressor with classes": set_field("estimator", "GCWSRegressor"),
    "version 0": set_field("format_version", 0),
    "a newer version": set_field("format_version", 2),
    "a newer hash": set_field("hash.version", 2),
    "true hashes": set_field("hash.n_components", True),
    "other hashes": set_field("hash.n_components", 3),
    "many hashes": set_field("hash.n_components", 1 << 60),
    "no hashes": set_field("hash.n_components", 0),
    "bits": set_field("hash.bits", 17),
    "fewer bits": set_field("hash.bits", 1),
    "bits of a string": set_field("hash.bits", "8"),
    "p": set_field("hash.p", -1.0),
    "huge p": set_field("hash.p", 1e300),
    "gamma": set_field("hash.gamma", 1e9),
    "a seed below 0": set_field("hash.seed", -1),
    "a seed above 64 bits": set_field("hash.seed", 1 << 64),
    "features": set_field("hash.n_features", -1),
    "an unknown parameter": set_field("parameters.backdoor", 1),
    "a parameter out of range": set_field("parameters.C", -1.0),
    "a loss": set_field("parameters.loss", "os.system"),
    "a list": set_field("parameters.n_jobs", [1]),
    "an object": set_field("parameters.n_jobs", {"__class__": "os"}),
    "a vector that is not there": set_field("parameters.center", {"vector": True}),
    "pairs": set_field("parameters.class_weight", {"pairs": [1, 2]}),
    "passes": set_field("training.n_iter", -1),
    "passes of text": set_field("training.n_iter", "many"),
    "labels": set_field("labels", "pickle"),
    "labels of text": set_field("labels", "str"),
    "labels of nothing": set_field("labels", None),
    "no labels": set_field("labels", KeyError),
    "an unknown tensor": set_tensor("else", np.zeros(3)),
    "no weights": set_tensor("weights", None),
    "no classes": set_tensor("classes", None),
    "weights of integers": set_tensor("weights", lambda w: w.astype(np.int32)),
    "weights of halves": set_tensor("weights", lambda w: w.astype(np.float16)),
    "weights of 2 sides": set_tensor("weights", lambda w: w[0]),
    "fewer tables": set_tensor("weights", lambda w: w[:1]),
    "no tables": set_tensor("weights", lambda w: w[:0]),
    "weights that are not numbers": set_tensor("weights", lambda w: w * np.float32(np.nan)),
    "infinite biases": set_tensor("bias", lambda b: b * np.inf),
    "fewer used codes": set_tensor("used_codes", lambda a: a[1:]),
    "used codes twice": set_tensor("used_codes", lambda a: a * 0),
    "used codes below 0": set_tensor("used_codes", lambda a: a - 1000),
    "used codes above their bits": set_tensor("used_codes", lambda a: a + 1000),
    "classes in another order": set_tensor("classes", lambda c: c[::-1].copy()),
    "classes twice": set_tensor("classes", lambda c: c * 0),
    "classes that are not numbers": set_tensor("classes", lambda c: c * np.nan),
    "fewer classes": set_tensor("classes", lambda c: c[:-1]),
    "one class": set_tensor("classes", lambda c: c[:1]),
    "a center of another length": set_tensor("center", np.zeros(7)),
    "gaps alone": set_tensor("objective", None),
    "half a stream": set_tensor("stream_bias", np.zeros(3)),
    "names without ends": set_tensor("feature_names", np.zeros(2, np.uint8)),
    "duals of fewer problems": set_tensor("duals", np.zeros((1, 4), np.float32)),
    "parts of cross-validation": set_tensor("cv_Cs", np.ones(2)),
}


SPARSE = {
    "no values": set_tensor("weight_values", None),
    "fewer values": set_tensor("weight_values", lambda w: w[1:]),
    "values that are not numbers": set_tensor("weight_values", lambda w: w * np.float32(np.nan)),
    "no flags": set_tensor("weight_flags", None),
    "fewer flags": set_tensor("weight_flags", lambda f: f[:, :, :-1].copy()),
    "more flags": set_tensor("weight_flags", lambda f: np.pad(f, ((0, 0), (0, 0), (0, 1)))),
    "other flags": set_tensor("weight_flags", lambda f: f | np.uint8(1)),
    "flags of other hashes": set_tensor("weight_flags", lambda f: f[:, :-1].copy()),
    "weights twice": set_tensor("weights", np.zeros((3, 64, 256), np.float32)),
}


@pytest.mark.parametrize("change", SPARSE)
def test_hostile_weights_of_which_most_are_zero(tmp_path, change):
    """With gamma each hash has few of the codes; the file holds their weights alone, and the rest is 0 again."""
    rows = np.random.default_rng(0).normal(size=(30, 4))
    model = GCWSClassifier(64, gamma=0.5).fit(rows, np.arange(30) % 3)
    header, tensors, write = parts_of(model, tmp_path)
    w = model.fitted_.weights[:, :, : len(model.used_codes_)]
    assert tensors["weight_values"].nbytes + tensors["weight_flags"].nbytes < 0.2 * w.nbytes
    np.testing.assert_array_equal(write().fitted_.weights.view(np.uint32), model.fitted_.weights.view(np.uint32))
    SPARSE[change](header, tensors)
    with pytest.raises(InputError):
        write()


@pytest.mark.parametrize("change", CHANGES)
def test_hostile_content_with_a_right_checksum(tmp_path, change):
    model = GCWSClassifier(4).fit(np.vstack([X, X + 1]), np.arange(8) % 3)
    header, tensors, write = parts_of(model, tmp_path)
    np.testing.assert_array_equal(write().code_weights_, model.code_weights_)
    CHANGES[change](header, tensors)
    with pytest.raises(InputError):
        write()


@pytest.mark.parametrize(
    "change",
    [
        set_tensor("class_names_ends", lambda ends: ends[::-1].copy()),
        set_tensor("class_names_ends", lambda ends: ends + 1),
        set_tensor("class_names_ends", lambda ends: ends - 100),
        set_tensor("class_names", lambda letters: letters + np.uint8(128)),
        set_tensor("class_names", lambda letters: letters.astype(np.float64)),
        set_tensor("class_names", lambda letters: letters[::-1].copy()),
        set_tensor("feature_names_ends", lambda ends: ends * 0),
        set_tensor("center", lambda center: center * np.nan),
        set_field("labels", "numbers"),
    ],
)
def test_hostile_names_and_centers(tmp_path, change):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["left", "right"])
    model = GCWSClassifier(4, center="mean").fit(frame, np.array(["a", "bc"])[y])
    header, tensors, write = parts_of(model, tmp_path)
    change(header, tensors)
    with pytest.raises(InputError):
        write()


@pytest.mark.parametrize(
    "change",
    [
        set_field("training.mean", "x"),
        set_field("training.mean", None),
        set_field("training.spread", 0.0),
        set_field("training.spread", -1.0),
        set_field("training.spread", KeyError),
        set_field("training.blocks", -1),
        set_field("training.blocks", 0.5),
        set_field("estimator", "GCWSClassifier"),
        set_tensor("weights", lambda w: w.astype(np.float64)),
        set_tensor("stream_weights", lambda w: w.astype(np.float64)),
        set_tensor("stream_weights", lambda w: w[:, :1]),
    ],
)
def test_hostile_regressors(tmp_path, change):
    header, tensors, write = parts_of(GCWSRegressor(4).partial_fit(X, y), tmp_path)
    write()
    change(header, tensors)
    with pytest.raises(InputError):
        write()


def test_long_names_cannot_blow_up(tmp_path):
    """In an array every name takes the room of the longest."""
    names = np.array([f"{i:06}" for i in range(3000)], dtype=object)
    names[-1] = "z" * 100_000
    model = GCWSClassifier(1, bits=1, max_iter=1, tol=0.9).fit(X, y)
    zeros = np.zeros(3000)
    model.fitted_ = replace(model.fitted_, classes=names, weights=np.zeros((3000, 1, 16), np.float32), intercepts=zeros)
    model.training_ = replace(model.training_, bias=zeros, gap=zeros, objective=zeros)
    header, _, write = parts_of(model, tmp_path)
    assert len(write().classes_) == 3000
    header["labels"] = "str"
    with pytest.raises(InputError, match="shorter labels"):
        write()


def test_the_grid_of_cross_validation(tmp_path):
    _, tensors, write = parts_of(GCWSClassifierCV(4, Cs=[1.0, 2.0], cv=2).fit(X, y), tmp_path)
    assert list(write().Cs) == [1.0, 2.0]
    tensors["cv_scores"] = tensors["cv_scores"][:, :1]
    assert tensors["cv_Cs"].shape == (2,)
    with pytest.raises(InputError, match="cv_"):
        write()
    for name in ("cv_Cs", "cv_scores", "cv_iters"):
        del tensors[name]
    with pytest.raises(InputError, match=r"the tensor cv_Cs is missing, while training\.C is"):
        write()
