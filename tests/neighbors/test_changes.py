"""Any sequence of additions, removals, saves and loads leaves the index that would be built from what is left."""

import tempfile

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from scipy import sparse

from helpers.answers import answers
from helpers.clusters import clusters
from kernelsketch import GCWSIndex
from kernelsketch.exceptions import InputError


class Model(RuleBasedStateMachine):
    """Additions and removals against a dictionary: answers are those of an index made anew from what is in it."""

    X = clusters(60, 16, seed=11)
    X[7] = 0
    parameters = {"n_tables": 6, "hashes_per_table": 2, "n_components": 20, "n_rerank": 5}  # noqa: RUF012

    @initialize(count=st.integers(1, 20))
    def start(self, count):
        self.index = GCWSIndex(**self.parameters).fit(self.X[:count])
        self.model = dict(enumerate(range(count)))
        self.folder = tempfile.TemporaryDirectory()
        self.saved = None

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @rule()
    def save(self):
        self.index.save_folder(self.folder.name)
        self.saved = dict(self.model)

    @rule(mmap=st.booleans())
    def load(self, mmap):
        if self.saved is not None:
            self.index = GCWSIndex.load(self.folder.name, mmap=mmap)
            self.model = dict(self.saved)

    @rule(data=st.data(), rows=st.lists(st.integers(0, 59), min_size=1, max_size=8))
    def add(self, data, rows):
        free = st.integers(-40, 200).filter(lambda i: i not in self.model)
        ids = data.draw(st.lists(free, min_size=len(rows), max_size=len(rows), unique=True))
        self.index.add(self.X[rows], ids)
        self.model |= dict(zip(ids, rows, strict=True))

    @rule(data=st.data())
    def remove(self, data):
        if self.model:
            some = data.draw(st.lists(st.sampled_from(sorted(self.model)), min_size=1, max_size=12, unique=True))
            self.index.remove(some)
            for i in some:
                del self.model[i]

    @rule(data=st.data())
    def refuse(self, data):
        if self.model:
            there = data.draw(st.sampled_from(sorted(self.model)))
            with pytest.raises(InputError, match="already"):
                self.index.add(self.X[:2], [there, 1000])
            with pytest.raises(InputError, match="not in the index"):
                self.index.remove([there, 1000])

    @invariant()
    def answers_are_those_of_a_new_index(self):
        ids = sorted(self.model)
        assert self.index.ids_.tolist() == ids
        assert self.index.n_samples_fit_ == len(ids)
        if len(ids) < 6:
            return
        new = GCWSIndex(**self.parameters).fit(self.X[[self.model[i] for i in ids]], ids=ids)
        assert answers(self.index, self.X[:9]) == answers(new, self.X[:9])
        assert answers(self.index) == answers(new)


class ByFeatures(Model):
    X = sparse.csr_matrix(clusters(60, 16, seed=11, signed=True))
    parameters = {"heavy_fraction": 0.5, "n_components": 4, "n_rerank": 5}  # noqa: RUF012


class ByGraph(Model):
    parameters = {"graph_degree": 12, "n_rerank": 300}  # noqa: RUF012


SETTINGS = settings(max_examples=25, stateful_step_count=12)
TestModel, TestByFeatures, TestByGraph = Model.TestCase, ByFeatures.TestCase, ByGraph.TestCase
TestModel.settings = TestByFeatures.settings = TestByGraph.settings = SETTINGS
