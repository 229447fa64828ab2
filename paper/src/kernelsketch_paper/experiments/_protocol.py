"""What the experiments try: the grids of the paper, and our choices where the paper is silent.

From the paper: 58 values of gamma, k and b of the hashing figures, ten repetitions, rows of unit norm for the linear
and the RBF kernel, and raw rows for GMM. Chosen here, since the paper does not state them: the grid of C, the datasets
of the figure "more datasets", the random splits, and all cross-validation. Any change is a new version of the protocol,
and cells of another version are never reused.
"""

from __future__ import annotations

from dataclasses import dataclass

VERSION = 1

GAMMAS = (
    0.001,
    0.01,
    *(round(0.1 * i, 1) for i in range(1, 21)),
    2.5,
    *(float(g) for g in (*range(3, 21), *range(25, 51, 5), *range(60, 101, 10), 120, 150, 200, 300, 500, 1000)),
)
COARSE_GAMMAS = (0.01, 0.1, 0.4, 1.0, 2.5, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
ALL_CS = (0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
FEWER_CS = (0.1, 1.0, 10.0, 100.0, 1000.0)
MORE_CS = (1e4, 1e5, 1e6)  # for RBF on few rows where 1000 was best: nearly equal unit rows need a large C
LINEAR_CS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)
HASHING_CS = (0.01, 0.1, 1.0, 10.0, 100.0)
KS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
BITS = (1, 2, 4, 8)
TIME_KS, TIME_BITS, TIME_CS = (128, 256, 512, 1024), (2, 4, 8), (0.1, 1.0, 10.0)
POWERS = (0.25, 0.5, 1.0, 2.0, 4.0)
EXPONENTS = (1.0, 2.0, 4.0, 8.0, 16.0)
COMPARISON_CS = (0.1, 1.0, 10.0, 100.0)
COMPARISON_LINEAR_CS = (0.001, 0.01, 0.1, 1.0)  # smaller, since scaled rows are longer than unit rows
WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0)  # gamma of the usual RBF kernel, in units of 1 / (features x variance)

FOLDS = 3
CV_ROWS = 2000  # training rows, drawn at random, that choose parameters
LARGE = 6000  # above this many training rows, gamma is first searched on CV_ROWS, and C has FEWER_CS
SMALL = 3000  # up to this many training rows, MORE_CS are tried
LARGEST = 20000  # above this many training rows, C stops at 100, since LIBSVM needs hours beyond

DETAILED = ("Letter", "Webspam20k", "DailySports", "RobotNavi", "SEMG1", "M-Rotate")
MORE = ("Car", "Isolet2k", "Satimage", "SpamBase", "Splice", "Thyroid2k", "Vowel", "M-Basic")
LARGER = ("PAMAP101Large", "PAMAP105Large", "IJCNN", "RCV1", "SensIT", "Webspam")
# Bundled datasets take part where fewer than FEWEST datasets of the paper are on this machine.
FEWEST = 4
DETAILED_STAND_INS = ("BreastCancer", "Digits", "G-Sensor", "G-Text", "D-Noise1", "D-Rotate")
MORE_STAND_INS = ("Iris", "Wine", "D-Basic", "D-Rand")
LARGER_STAND_INS = ("G-Image", "G-Sensor", "G-Text", "G-Web")
TIMED_STAND_INS = ("Digits", "G-Image", "G-Text", "G-Web")
COMPARED_STAND_INS = ("BreastCancer", "Digits", "Wine", "G-Sensor", "G-Web")
TIMED, TIMED_GAMMA = "CovertypeFull_binary", 90.0  # the paper's best gamma for Covertype25k
COMPARED = ("linear", "rbf", "gmm", "gcws", "nrff", "nystroem", "trees", "lightgbm")
COMPARISON_ROWS = 4000  # largest number of training rows, and of test rows: every method takes about a minute


@dataclass(frozen=True)
class Scale:
    """How much is run: the full grids of the paper (days), or less in hours or minutes on two cores."""

    name: str
    rows: int | None  # largest number of training rows, and of test rows; None for all
    splits: tuple[int, int, int]  # random splits for up to 1500, up to LARGE, and more training rows
    full: bool  # whether to run all values of gamma, repetitions, solvers and sizes
    ks: tuple[int, ...]
    bits: tuple[int, ...]
    repetitions: tuple[int, int, int]  # repetitions of the hash for k up to 256, up to 1024, and above
    cs: tuple[float, ...] | None = None  # replaces the grids of C
    gammas: tuple[float, ...] = COARSE_GAMMAS  # the first values of gamma


FULL = Scale("full", None, (10, 10, 3), True, KS, BITS, (10, 10, 10))
STANDARD = Scale("standard", None, (5, 2, 1), False, (16, 32, 64, 128, 256, 1024, 4096), BITS, (10, 3, 1))
QUICK = Scale(
    "quick",
    600,
    (2, 2, 2),
    False,
    (16, 64, 256, 1024),
    (2, 8),
    (2, 1, 1),
    (1.0, 10.0, 100.0),
    (0.1, 1.0, 5.0, 20.0, 100.0),
)
TINY = Scale("tiny", 120, (1, 1, 1), False, (16, 128), (8,), (1, 1, 1), (1.0, 10.0))
SCALES = {scale.name: scale for scale in (FULL, STANDARD, QUICK, TINY)}
