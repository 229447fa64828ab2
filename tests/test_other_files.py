"""A file of one kind, given to what loads another kind: the message says what it holds and what loads it."""

import numpy as np
import pytest

from kernelsketch import (
    GCWS,
    GCWSClassifier,
    GCWSClassifierCV,
    GCWSIndex,
    GCWSRegressor,
    GCWSRegressorCV,
    GCWSTabularClassifier,
    GCWSTabularRegressor,
    PackedCodes,
    load_model,
)
from kernelsketch.exceptions import InputError
from kernelsketch.hashing import _codes_file
from kernelsketch.neighbors import _collection_file, _folder, _storage
from kernelsketch.serving import Predictor, _model_file
from kernelsketch.storage import CONTENTS
from kernelsketch.tabular import _file

X = np.random.default_rng(0).gamma(1.0, size=(60, 3))
y = (X[:, 0] > X[:, 1]).astype(int)
FILES = ("classifier", "regressor", "table", "codes", "index", "folder")
LOADERS = {
    GCWSClassifier.load: ("classifier",),
    GCWSClassifierCV.load: (),
    GCWSRegressor.load: ("regressor",),
    GCWSRegressorCV.load: (),
    GCWSTabularClassifier.load: ("table",),
    GCWSTabularRegressor.load: (),
    GCWSIndex.load: ("index",),
    PackedCodes.load: ("codes",),
    Predictor.load: ("classifier", "regressor", "table"),
    load_model: ("classifier", "regressor", "table"),
}
WORDS = {
    "classifier": r"holds a (GCWSClassifier|model on codes)",
    "regressor": r"holds a (GCWSRegressor|model on codes)",
    "table": r"holds a (GCWSTabularClassifier|tabular model)",
    "codes": r"holds packed codes: load it with PackedCodes\.load\(path\)",
    "index": r"holds an index: load it with GCWSIndex\.load\(path\)",
    "folder": r"holds the list of an index folder: load it with GCWSIndex\.load\(folder\)",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    GCWSClassifier(8).fit(X, y).save(folder / "classifier")
    GCWSRegressor(8).fit(X, y).save(folder / "regressor")
    GCWSTabularClassifier("quick").fit(X, y).save(folder / "table")
    GCWS(8).fit(X).codes(X).save(folder / "codes")
    index = GCWSIndex(n_tables=2).fit(X)
    index.save(folder / "index")
    index.save_folder(folder / "lists")
    (folder / "folder").write_bytes((folder / "lists" / "index.safetensors").read_bytes())
    return folder


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("load", LOADERS, ids=lambda load: getattr(load, "__qualname__", "?"))
def test_every_loader_with_every_file(files, load, file):
    if file in LOADERS[load]:
        load(files / file)
        return
    with pytest.raises(InputError, match=WORDS[file]) as error:
        load(files / file)
    assert "load" in str(error.value)
    assert "'kernelsketch." not in str(error.value)


def test_messages_know_every_schema():
    tables = (_file.TABULAR_SCHEMA, _file._schema_of_several(2))
    indexes = (_storage.INDEX_SCHEMA, _folder.LIST_SCHEMA, _collection_file.LIST_SCHEMA)
    schemas = (_codes_file.CODES_SCHEMA, *indexes, _model_file.MODEL_SCHEMA, *tables)
    assert {schema.format: schema.kind for schema in schemas} == {name: kind for name, (kind, _) in CONTENTS.items()}
