"""Free text in columns: when it is used, the numbers that it becomes, and files with it."""

import uuid
from dataclasses import replace

import numpy as np
import pandas
import pytest
from scipy.stats import false_discovery_control, norm

from helpers.damage import set_tensor
from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.exceptions import InputError
from kernelsketch.storage import load_file, save_file
from kernelsketch.tabular import _free_text, _text_fit
from kernelsketch.tabular._columns import TablePlan
from kernelsketch.tabular._file import TABULAR_SCHEMA
from kernelsketch.tabular._free_text import LONGEST, FreeText, TargetOrder, restored_texts, stored_texts
from kernelsketch.tabular._read import read_table
from kernelsketch.tabular._text_fit import BY_CHANCE, correlated, is_free_text, learn_text
from kernelsketch.tabular._weights import targets_of

RANKS = ["Junior", "Senior", "Chief"]
LETTERS = list("abcdefghijklmnopqrstuvwxyz")
FIELDS = ["engineer", "baker", "teacher", "nurse", "painter", "pilot"]
PLACES = [
    f"{first}{second}" for first in ("Nor", "Sut", "Wes", "Oos", "Mid", "Ein") for second in ("ton", "dam", "burg")
]


def titles(n, seed=0):
    """Return titles of which hardly two are equal, and a target that the ranks and the fields determine."""
    rng = np.random.default_rng(seed)
    rank, field = rng.integers(0, len(RANKS), n), rng.integers(0, len(FIELDS), n)
    made = [
        f"{RANKS[r]} {FIELDS[f]}, {rng.choice(PLACES)} and {rng.choice(PLACES)}, {rng.integers(100)}"
        for r, f in zip(rank, field, strict=True)
    ]
    return made, 2.0 * rank + (field % 3)


def frame(n=400, seed=0):
    made, y = titles(n, seed)
    rng = np.random.default_rng(seed)
    return pandas.DataFrame({"a": rng.normal(size=n), "title": made}), y + 0.1 * rng.normal(size=n)


IDS = {
    "numbers": lambda rng: f"K{rng.integers(10**5):05d}",
    "a word and a number": lambda rng: f"customer {rng.integers(10**5)}",
    "UUIDs": lambda rng: str(uuid.UUID(bytes=rng.bytes(16))),
    "hexadecimals": lambda rng: rng.bytes(16).hex(),
    "letters": lambda rng: "".join(rng.choice(LETTERS, 8)),
    "number plates": lambda rng: "".join(rng.choice(LETTERS, 3)) + f"-{rng.integers(1000, 9999)}",
    "telephone numbers": lambda rng: f"+31 6 {rng.integers(10**8):08d}",
    "files": lambda rng: f"log_{rng.integers(10**9)}.txt",
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("n", [60, 3000, 30_000])
def test_names_of_things_are_not_text(kind, n):
    rng = np.random.default_rng(0)
    assert not is_free_text(list(dict.fromkeys(IDS[kind](rng) for _ in range(n))))


def test_names_of_things_stay_unused():
    rng = np.random.default_rng(0)
    for make in IDS.values():
        X = pandas.DataFrame({"a": np.arange(400.0), "id": [make(rng) for _ in range(400)]})
        plan = TablePlan.of(read_table(X))
        assert plan.columns[1].treatment == "not used: nearly every row has its own category"


@pytest.mark.parametrize("n", [60, 3000])
def test_titles_are_text(n):
    made, _ = titles(n)
    assert is_free_text(list(dict.fromkeys(made)))
    assert is_free_text([f"{name.split()[1]}@example.org, {i}" for i, name in enumerate(made)])


def test_a_column_of_text():
    X, _ = frame()
    plan = TablePlan.of(read_table(X))
    column = plan.columns[1]
    words = column.text.words
    assert column.treatment == f"text: up to {len(words)} words and 30 components"
    assert {"junior", "senior", "chief", "engineer", "norton"} <= set(words)
    assert column.kind == "category"
    names = [feature.name for feature in plan.features]
    assert names[1] == f"title (has {words[0]!r})"
    assert names[-1] == "title (component 30)"
    found = plan.encode(read_table(X))[:]
    flags = found[:, names.index("title (has 'chief')")]
    np.testing.assert_array_equal(flags, X.title.str.contains("Chief"))


def test_components_are_those_of_weighted_shingles():
    """The directions are orthonormal, and a row is the product of its weights of length 1 with them."""
    made, _ = titles(300)
    text = learn_text(made)
    np.testing.assert_allclose(text.directions.T @ text.directions, np.eye(30), atol=1e-4)
    weights = np.zeros((300, len(text.shingles)))
    rows, places, values = text.weighted(made)
    weights[rows, places] = values
    np.testing.assert_allclose(np.linalg.norm(weights, axis=1), 1, rtol=1e-5)
    out = np.empty((300, len(text.names)))
    text.encode(made, out)
    np.testing.assert_allclose(out[:, len(text.words) :], weights @ text.directions, atol=1e-5)
    exact = np.linalg.svd(weights)[1][:30]
    found = np.linalg.norm(out[:, len(text.words) :], axis=0)
    np.testing.assert_allclose(found[:10], exact[:10], rtol=0.01)


def test_rows_do_not_depend_on_their_neighbours(monkeypatch):
    made, _ = titles(200)
    text = learn_text(made)
    whole, single, parts = (np.empty((200, len(text.names)), order="F") for _ in range(3))
    text.encode(made, whole)
    for i in range(200):
        text.encode(made[i : i + 1], single[i : i + 1])
    monkeypatch.setattr(_free_text, "BLOCK", 500)
    text.encode(made, parts)
    np.testing.assert_array_equal(single, whole)
    np.testing.assert_array_equal(parts, whole)


def test_missing_empty_and_new_text():
    X, _ = frame()
    X.loc[3, "title"] = None
    X.loc[4, "title"] = ""
    plan = TablePlan.of(read_table(X))
    assert plan.columns[1].treatment.endswith("components; missing values have a feature")
    later = pandas.DataFrame({"a": 1.0, "title": [None, "", "zzz", "SENIOR?!", "\N{SNOWMAN}", "x" * 50_000, "12"]})
    names = [feature.name for feature in plan.features]
    found = plan.encode(read_table(later))[:]
    numbers = found[:, 1 : names.index("title: missing")]
    assert np.isnan(numbers[:2]).all()
    np.testing.assert_array_equal(found[:, -1], [1, 1, 0, 0, 0, 0, 0])
    assert np.isfinite(numbers[2:]).all()
    assert not numbers[4].any()
    np.testing.assert_array_equal(numbers[:, names.index("title (has 'senior')") - 1][2:], [0, 1, 0, 0, 0])


def test_categories_with_long_names_are_text_too():
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"a": rng.choice(titles(40)[0], 400), "b": rng.choice([f"city {i}" for i in range(40)], 400)})
    first, second = TablePlan.of(read_table(X)).columns
    assert first.treatment == f"40 categories; text: up to {len(first.text.words)} words and 30 components"
    assert len(first.categories) == 40
    assert second.treatment == "40 categories"
    assert second.text is None
    few = pandas.DataFrame({"a": rng.choice(titles(30)[0], 400)})
    assert TablePlan.of(read_table(few)).columns[0].text is None


@pytest.mark.parametrize("part", ["words", "components"])
def test_one_kind_of_numbers_alone(part):
    made, _ = titles(100)
    whole = learn_text(made)
    if part == "words":
        text = FreeText(whole.words, whole.shingles[:0], whole.idf[:0], whole.directions[:0, :0])
    else:
        text = replace(whole, words=())
    out, expected = np.empty((100, len(text.names))), np.empty((100, len(whole.names)))
    text.encode(made, out)
    whole.encode(made, expected)
    n_words = len(whole.words)
    np.testing.assert_array_equal(out, expected[:, :n_words] if part == "words" else expected[:, n_words:])
    (again,) = restored_texts(stored_texts([text]), 1)
    assert again == text


def test_few_rows_have_few_components():
    made, _ = titles(60)
    assert learn_text(made).directions.shape[1] == 6


def test_long_texts_are_cut():
    made, _ = titles(100)
    text = learn_text([*made, "x y " * LONGEST])
    long = [" " * LONGEST + "senior", "senior " * LONGEST]
    out = np.empty((2, len(text.names)))
    text.encode(long, out)
    assert out[:, text.words.index("senior")].tolist() == [0, 1]


def test_learning_takes_some_of_many_texts(monkeypatch):
    made, _ = titles(300)
    monkeypatch.setattr(_text_fit, "MOST_ROWS", 100)
    assert len(_text_fit._some(made)) == 100
    monkeypatch.setattr(_text_fit, "MOST_CHARACTERS", 1000)
    assert 900 < sum(len(made[i]) for i in _text_fit._some(made)) <= 1000


CHANGES = {
    "counts": set_tensor("text_counts", lambda counts: counts + 1),
    "counts below 0": set_tensor("text_counts", lambda counts: counts * np.array([1, -1, -1])),
    "counts of another column": set_tensor("text_counts", lambda counts: counts[::-1]),
    "components of no shingles": set_tensor(
        "text_counts", lambda counts: counts + 2**40 * np.array([[0, 0, 1], [0, 0, 0]])
    ),
    "no words": set_tensor("text_words", None),
    "several words": set_tensor("text_words", lambda words: ["two words", *words[1:]]),
    "a word twice": set_tensor("text_words", lambda words: [words[1], *words[1:]]),
    "no shingles": set_tensor("text_shingles", None),
    "the order of shingles": set_tensor("text_shingles", lambda values: values[::-1]),
    "small weights": set_tensor("text_idf", lambda values: 0 * values),
    "large directions": set_tensor("text_directions", lambda values: values * 1e6),
    "fewer directions": set_tensor("text_directions", lambda values: values[:-1]),
}


class TestTargets:
    def test_numbers_that_say_nothing_are_left_out(self):
        """Each column of noise keeps a number in at most 5 % of cases: more than 6 of 40 have a chance below 1 %."""
        kept = 0
        for seed in range(40):
            rng = np.random.default_rng(seed)
            X, targets = frame(200, seed)[0], TargetOrder.of(rng.standard_cauchy(200), is_class=False)
            kept += TablePlan.of(read_table(X), targets).columns[1].text is not None
        assert kept <= 6

    def test_many_columns_that_say_nothing_share_what_is_expected_by_chance(self):
        """Of 12 tables with 15 columns of noise, more than 3 keep a number with a chance below .3 %."""
        kept = 0
        for seed in range(12):
            rng = np.random.default_rng(seed)
            words = np.array(["".join(rng.choice(LETTERS[:16], 6)) for _ in range(60)])
            texts = {f"text {i}": [" ".join(rng.choice(words, 3)) for _ in range(200)] for i in range(15)}
            targets = TargetOrder.of(rng.permutation(np.arange(200) % 2), is_class=True)
            plan = TablePlan.of(read_table(pandas.DataFrame(texts | {"a": range(200)})), targets)
            kept += any(column.text is not None for column in plan.columns)
        assert kept <= 3

    @pytest.mark.parametrize("is_class", [False, True])
    def test_words_that_matter_are_kept(self, is_class):
        X, y = frame(400)
        targets = TargetOrder.of(np.round(y / 2) if is_class else y, is_class=is_class)
        text = TablePlan.of(read_table(X), targets).columns[1].text
        whole = learn_text(X.title, None)
        assert {"junior", "chief"} <= set(text.words) <= set(whole.words)
        assert len(set(text.words) & {place.lower() for place in PLACES}) <= 2
        assert 0 < text.directions.shape[1] < whole.directions.shape[1]
        assert TablePlan.of(read_table(X), targets).columns[1].treatment == f"text: {text.in_words}"

    def test_the_procedure_is_that_of_scipy(self):
        rng = np.random.default_rng(0)
        numbers = rng.normal(size=(300, 60))
        targets = targets_of(numbers[:, :9] @ np.arange(9) / 20 + rng.normal(size=300), is_class=False)
        r = np.corrcoef(numbers.T, targets[:, 0])[-1, :-1]
        expected = false_discovery_control(2 * norm.sf(np.sqrt(300) * np.abs(r))) <= BY_CHANCE
        assert 2 < expected.sum() < 9
        np.testing.assert_array_equal(correlated(numbers, targets), expected)

    def test_constant_numbers_and_targets(self):
        assert not correlated(np.ones((50, 3)), np.arange(50.0)[:, None] - 24.5).any()
        assert not correlated(np.arange(50.0)[:, None], np.zeros((50, 1))).any()

    def test_held_out_scores_of_noise(self):
        X, _ = frame(400)
        y = np.random.default_rng(5).normal(size=400)
        model = GCWSTabularRegressor("quick").fit(X, y)
        assert model.held_out_score_ < 2 * model.held_out_error_ + 0.01


@pytest.fixture(scope="module")
def model():
    return GCWSTabularRegressor("quick").fit(*frame(600))


class TestModels:
    def test_text_determines_the_target(self, model):
        X, y = frame(300, seed=1)
        assert model.score(X, y) > 0.9
        assert GCWSTabularRegressor("quick").fit(X[["a"]], y).held_out_score_ < 0.2
        assert model.feature_importances_[1] > 0.8

    def test_threads_do_not_matter(self, model):
        X, _ = frame(300, seed=1)
        again = GCWSTabularRegressor("quick", n_jobs=2).fit(*frame(600))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.columns_ == model.columns_

    def test_rows_without_weight_do_not_matter(self):
        X, y = frame(300)
        other = X.assign(title="Senior pilot and another word")
        both, weights = pandas.concat([X, other[:40]]), np.repeat([1.0, 0.0], [300, 40])
        found = GCWSTabularRegressor("quick").fit(both, np.append(y, np.zeros(40)), weights)
        expected = GCWSTabularRegressor("quick").fit(X, y)
        assert found.columns_ == expected.columns_
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))

    def test_files(self, model, tmp_path):
        X, _ = frame(300, seed=1)
        model.save(tmp_path / "a.safetensors")
        again = load_model(tmp_path / "a.safetensors")
        assert again.columns_ == model.columns_
        assert hash(again.columns_) == hash(model.columns_)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))

    @pytest.mark.parametrize("limit", ["MOST_WORDS", "MOST_COMPONENTS"])
    def test_files_without_words_or_components(self, limit, tmp_path, monkeypatch):
        X, y = frame(300)
        monkeypatch.setattr(_text_fit, limit, 0)
        model = GCWSTabularRegressor("quick").fit(X, y)
        assert 0 in model.columns_[1].text.counts
        model.save(tmp_path / "a.safetensors")
        again = load_model(tmp_path / "a.safetensors")
        assert again.columns_ == model.columns_
        np.testing.assert_array_equal(again.predict(X), model.predict(X))

    @pytest.mark.filterwarnings("ignore::kernelsketch.exceptions.RowsWarning")
    def test_files_of_two_columns_of_text(self, tmp_path):
        """One comes with missing values and categories."""
        X, y = frame(200)
        X["other"] = np.random.default_rng(0).choice(titles(60, seed=2)[0], 200)
        X["other"] = X.other.where(y > 2, X.other + " in Arnhem")
        X.loc[:20, "other"] = None
        model = GCWSTabularClassifier("quick").fit(X, y > 2)
        assert model.columns_[2].categories
        model.save(tmp_path / "a.safetensors")
        again = load_model(tmp_path / "a.safetensors")
        assert again.columns_ == model.columns_
        assert again.columns_[1] != replace(again.columns_[1], text=again.columns_[2].text)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))

    @pytest.mark.parametrize("name", CHANGES)
    def test_damaged_content_is_refused(self, model, tmp_path, name, monkeypatch):
        path = tmp_path / "a.safetensors"
        model.save(path)
        header, tensors = load_file(path, TABULAR_SCHEMA, lambda header, tensors: (header, tensors))
        header = {key: header[key] for key in header.keys() - {"format", "format_version", "sha256", "header_sha256"}}
        changed = dict(tensors)
        CHANGES[name](header, changed)
        with monkeypatch.context() as patch:  # a writer without checks
            patch.setattr(type(TABULAR_SCHEMA), "check", lambda *_: None)
            save_file(path, TABULAR_SCHEMA, header, changed)
        with pytest.raises(InputError):
            load_model(path)
