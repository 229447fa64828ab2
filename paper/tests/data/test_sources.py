"""Small made-up files in the layout of each source, from a server on this machine to ``load``."""

import dataclasses
import gzip
import io
import zipfile
from urllib.parse import urldefrag, urlsplit

import numpy as np
import pytest
from scipy.io import savemat

from kernelsketch.exceptions import InputError
from kernelsketch_paper.data import _entry, _load, entry, load
from kernelsketch_paper.data._download import Patience
from kernelsketch_paper.data._remote import download

from .packing import compress, tarred, zipped

QUICK = Patience(timeout=5, attempts=2, pause=0.001)
RNG = np.random.default_rng(0)


def lines(rows, separator=" "):
    return "".join(separator.join(map(str, row)) + "\n" for row in rows).encode()


def numbers(n, d):
    return RNG.normal(size=(n, d)).round(4).tolist()


def daily_sports():
    files = {
        f"data/a{a:02}/p{p}/s{s:02}.txt": lines(numbers(125, 45), ",") for a in (1, 19) for p in (1, 8) for s in (1, 60)
    }
    return {"activities.zip": zipped({"data/readme.txt": b"", **files})}


def pamap(subject):
    """Time, activity, heart rate (mostly missing), and three times 17 columns."""
    rows = [[0.01 * k, k % 3, "NaN" if k % 10 else 99, *row] for k, row in enumerate(numbers(30, 51))]
    rows[7][5] = rows[8][53] = "NaN"
    inner = {f"PAMAP2_Dataset/{part}/subject{subject}.dat": lines(rows) for part in ("Protocol", "Optional")}
    return {"monitoring.zip": zipped({"readme.pdf": b"%PDF", "PAMAP2_Dataset.zip": zipped(inner)})}


def mhealth():
    files = {
        f"MHEALTHDATASET/mHealth_subject{k}.log": lines([[*row, k % 3] for row in numbers(4, 23)], "\t")
        for k in range(1, 11)
    }
    return {"mhealth": zipped({"MHEALTHDATASET/README.txt": b"about", **files})}


def semg(database):
    people = {
        1: ("female_1", "female_2", "female_3", "male_1", "male_2"),
        2: ("male_day_1", "male_day_2", "male_day_3"),
    }
    width = {1: 3000, 2: 2500}[database]
    files = {}
    for person in people[database]:
        content = io.BytesIO()
        names = [f"{move}_ch{c}" for move in ("cyl", "hook", "lat", "palm", "spher", "tip") for c in (1, 2)]
        savemat(content, {name: np.full((2, width), k / 8) for k, name in enumerate(names)}, do_compression=True)
        files[f"Database {database}/{person}.mat"] = content.getvalue()
    return {"semg": zipped({"sEMG_Basic_Hand_movements_upatras.zip": zipped(files)})}


def youtube(family, d):
    def text(n):
        rows = (f"{k % 31 + 1} " + " ".join(f"{j}:{k + 1}" for j in (1, 5, d)) + "\n" for k in range(n))
        return gzip.compress("".join(rows).encode())

    parts = {"train": 50, "validation": 20, "test": 12}
    return {"dir_data.tar": tarred({f"dir_data/{part}/{family}.txt.gz": text(n) for part, n in parts.items()})}


def amat(train, test):
    def text(n):
        digits = [[f"{v:.8f}" for v in row] + [f"{k % 10:.8f}"] for k, row in enumerate(RNG.random((n, 784)))]
        return lines(digits)

    return {"zip": zipped({train: text(12), test: text(20)})}


def musk():
    rows = [[f"MUSK-{k}", f"{k}_1+1", *RNG.integers(-300, 300, 166), f"{k % 2}."] for k in range(10)]
    return {"musk": zipped({"clean2.info": b"about", "clean2.data.Z": compress(lines(rows, ","))})}


def shuttle():
    train, test = (lines([*RNG.integers(0, 99, 9), k % 7 + 1] for k in range(n)) for n in (20, 14))
    return {"shuttle": zipped({"shuttle.trn.Z": compress(train), "shuttle.tst": test})}


def msd():
    rows = [[year, *row] for year, row in zip((1990, 2001, 2002, 2010), numbers(4, 90), strict=True)]
    return {"msd": zipped({"YearPredictionMSD.txt": lines(rows, ",")})}


IMAGES = ("mnist_background_images_train.amat", "mnist_background_images_test.amat")
ROTATED = tuple(f"mnist_all_background_images_rotation_normalized_{part}.amat" for part in ("train_valid", "test"))
# name: files, rows of all files, training and test rows, and classes
SOURCES = {
    "DailySports": (daily_sports, 8, 4, 4, 2),
    "MSD20k": (msd, 4, 2, 2, 2),
    "MHealth20k": (mhealth, 40, 20, 20, 3),
    "Musk": (musk, 10, 5, 5, 2),
    "PAMAP101Large": (lambda: pamap(101), 28, 14, 14, 3),
    "PAMAP102": (lambda: pamap(102), 28, 14, 14, 3),
    "PAMAP103": (lambda: pamap(103), 28, 14, 14, 3),
    "PAMAP104": (lambda: pamap(104), 28, 14, 14, 3),
    "PAMAP105Large": (lambda: pamap(105), 28, 14, 14, 3),
    "SEMG1": (lambda: semg(1), 120, 60, 60, 6),
    "SEMG2": (lambda: semg(2), 72, 36, 36, 6),
    "Shuttle": (shuttle, 34, 20, 14, 7),
    "M-Image": (lambda: amat(*IMAGES), 32, 12, 20, 10),
    "M-RotImg": (lambda: amat(*ROTATED), 32, 12, 20, 10),
    "YoutubeAudio10k": (lambda: youtube("audio_mfcc", 2000), 32, 10, 22, 20),
    "YoutubeHOG10k": (lambda: youtube("vision_hog_features", 647), 32, 10, 22, 20),
    "YoutubeMotion10k": (lambda: youtube("vision_hist_motion_estimate", 64), 32, 10, 22, 20),
    "YoutubeSaiBoxes10k": (lambda: youtube("audio_sai_boxes", 7168), 32, 10, 22, 20),
    "YoutubeSpectrum10k": (lambda: youtube("audio_spectrogram_stream", 1024), 32, 10, 22, 20),
}


@pytest.fixture
def served(site, monkeypatch):
    """Put small files of a source on the site, and a registry with its addresses and the small sizes."""
    monkeypatch.setattr(_load, "fetch_dataset", lambda found, folder: download(found, folder, QUICK))

    def put(name, contents, rows, n_train, n_test, n_classes=None):
        found = entry(name)
        assert len(found.remote.addresses) == len(contents) == 1
        path = urlsplit(found.remote.addresses[0]).path
        site.put(path, next(iter(contents.values())))

        def here(urls):
            return tuple(f"{site.url}{path}#{urldefrag(url).fragment}" for url in urls)

        remote = dataclasses.replace(
            found.remote, train=here(found.remote.train), test=here(found.remote.test), rows=rows
        )
        small = dataclasses.replace(
            found, remote=remote, n_train=n_train, n_test=n_test, n_classes=n_classes, sha256=None
        )
        registry = {**_entry._registry(), name: small}
        monkeypatch.setattr(_entry, "_registry", lambda: registry)
        return path

    return put


def test_every_archive_of_the_registry_is_here():
    archives = {
        name
        for name in _entry.names()
        if (remote := entry(name).remote) and remote.addresses[0].endswith((".zip", ".tar")) and not entry(name).part_of
    }
    assert archives - {"Urban"} == set(SOURCES)  # Urban is a plain table in test_parse.py


@pytest.mark.parametrize("name", SOURCES)
def test_a_source(served, cache, name):
    make, rows, n_train, n_test, n_classes = SOURCES[name]
    served(name, make(), rows, n_train, n_test, n_classes)
    data = load(name)
    assert data.X.shape == (rows, entry(name).n_features)
    assert data.X.dtype == np.float32
    assert len(data.classes) == n_classes
    assert [path.name for path in sorted(cache.iterdir()) if path.is_file()] == [f"{name}.json", f"{name}.npz"]


@pytest.mark.parametrize("name", SOURCES)
def test_a_truncated_source_is_not_stored(served, site, cache, name):
    make, *sizes = SOURCES[name]
    path = served(name, make(), *sizes)
    whole = site.files[path]
    end = len(whole.rstrip(b"\0"))  # zeros end a tar file
    for part in (0, 100, end // 2, end - 30):
        site.files[path] = whole[:part]
        with pytest.raises(InputError, match=rf"{name}: the files from .* cannot be used: .*Nothing was stored"):
            load(name)
    assert not list(cache.glob("*.npz"))


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_with_another_number_of_rows_is_not_stored(served, cache, name):
    make, rows, *sizes = SOURCES[name]
    served(name, make(), rows + 1, *sizes)
    with pytest.raises(InputError, match=f"there are {rows} rows, not {rows + 1}. Nothing was stored"):
        load(name)
    assert not list(cache.glob("*.npz"))


def test_a_row_of_daily_sports_is_a_file(served):
    contents = daily_sports()
    served("DailySports", contents, 8, 4, 4, 2)
    data = load("DailySports")
    with zipfile.ZipFile(io.BytesIO(contents["activities.zip"])) as archive:
        text = archive.read("data/a19/p1/s60.txt").decode()
    expected = np.array([[float(cell) for cell in line.split(",")] for line in text.splitlines()], np.float32)
    np.testing.assert_array_equal(data.X[5], expected.ravel())  # a01 has four files, a19/p1/s01 comes next
    assert data.classes == ("a01", "a19")
    np.testing.assert_array_equal(data.y, [0, 0, 0, 0, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (lines(numbers(124, 45), ","), "has 124 lines and 45 columns, not 125 and 45"),
        (lines(numbers(125, 44), ","), "has 125 lines and 44 columns, not 125 and 45"),
        (lines(numbers(125, 45), ";"), "cannot be read as numbers"),
        (b"", "has 0 lines"),
    ],
)
def test_a_file_of_daily_sports_with_another_shape(served, table, sentence, recwarn):
    served("DailySports", {"a": zipped({"data/a01/p1/s01.txt": table})}, None, 1, 1)
    with pytest.raises(InputError, match=rf"a01/p1/s01\.txt {sentence}"):
        load("DailySports")


def test_pamap_leaves_out_incomplete_rows_and_the_heart_rate(served):
    served("PAMAP102", pamap(102), None, 14, 14)
    data = load("PAMAP102")
    assert data.X.shape == (28, 51)
    assert data.classes == ("0", "1", "2")
    np.testing.assert_array_equal(data.y, [k % 3 for k in range(30) if k not in (7, 8)])


def test_semg_has_one_row_per_trial_and_channel(served):
    served("SEMG2", semg(2), None, 36, 36, 6)
    data = load("SEMG2")
    assert data.classes == ("cyl", "hook", "lat", "palm", "spher", "tip")
    np.testing.assert_array_equal(data.X[:24, 0], np.repeat(np.arange(12) / 8, 2))
    np.testing.assert_array_equal(data.y[:24], np.repeat(np.arange(6), 4))


@pytest.mark.parametrize(
    ("matrices", "sentence"),
    [
        ({"cyl_ch1": np.zeros((2, 2499))}, r"cyl_ch1 is a double of shape \(2, 2499\), not numbers in 2500 columns"),
        ({"cyl_ch1": np.array([["a"]], dtype=object)}, "cyl_ch1 is a cell of shape"),
        ({"other": np.zeros((2, 2500))}, "does not have the matrices of the source"),
        ({"cyl_ch1": np.zeros((4000, 2500))}, "unpacks to more than|does not have the matrices"),
    ],
)
def test_other_matrices(served, matrices, sentence):
    content = io.BytesIO()
    savemat(content, matrices, do_compression=True)
    files = {f"Database 2/male_day_{k}.mat": content.getvalue() for k in (1, 2, 3)}
    served("SEMG2", {"a": zipped(files)}, None, 36, 36)
    with pytest.raises(InputError, match=sentence):
        load("SEMG2")


def test_a_damaged_matlab_file(served, site):
    content = io.BytesIO()
    savemat(content, {"cyl_ch1": RNG.normal(size=(2, 2500))}, do_compression=True)
    whole = content.getvalue()
    path = served("SEMG2", {"a": b""}, None, 2, 2)
    for k in range(60):
        damaged = bytearray(whole)
        damaged[RNG.integers(len(whole) if k % 2 else 200)] ^= 1 << RNG.integers(8)
        files = {f"Database 2/male_day_{day}.mat": bytes(damaged) if day == 1 else whole for day in (1, 2, 3)}
        site.files[path] = zipped(files)
        try:
            load("SEMG2")
        except InputError:
            continue
        for kept in _load.cache_folder().glob("SEMG2.*"):
            kept.unlink()


def test_an_archive_with_a_password(served):
    content = bytearray(zipped({"YearPredictionMSD.txt": b"x" * 100}))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    served("MSD20k", {"a": bytes(content)}, None, 2, 2)
    with pytest.raises(InputError, match=r"cannot be used: .*password required"):
        load("MSD20k")


def test_years_become_two_classes(served):
    served("MSD20k", msd(), 4, 2, 2, 2)
    data = load("MSD20k")
    assert [data.classes[k] for k in data.y] == ["below 2002", "below 2002", "2002 or more", "2002 or more"]


@pytest.mark.parametrize("first", [0, 1])
def test_features_of_youtube_may_count_from_0(served, first):
    rows = "".join(f"{k} {first}:1 {first + 63}:2\n" for k in (1, 2))
    part = gzip.compress(rows.encode())
    names = [f"dir_data/{part}/vision_hist_motion_estimate.txt.gz" for part in ("validation", "test")]
    served("YoutubeMotion10k", {"a": tarred(dict.fromkeys(names, part))}, 4, 2, 2, 2)
    X = load("YoutubeMotion10k").X.toarray()
    np.testing.assert_array_equal(X[:, [0, 63]], [[1, 2]] * 4)


def test_the_steps_for_parkinson_make_a_file_that_loads(tmp_path, monkeypatch):
    """Subject, 26 features, UPDRS, class, as in the file of the source."""
    rows = [[k // 26 + 1, *row, 23, int(k < 520)] for k, row in enumerate(numbers(1040, 26))]
    (tmp_path / "train_data.txt").write_bytes(lines(rows, ","))
    monkeypatch.chdir(tmp_path)
    steps = entry("Parkinson").by_hand
    exec(steps[steps.index("t = np.") : steps.rindex(".")], {"np": np})
    data = load("Parkinson", folder=tmp_path, verify=False)
    np.testing.assert_array_equal(data.X[30], np.array(rows[30][1:27]))
    np.testing.assert_array_equal(data.y, [row[-1] for row in rows])
