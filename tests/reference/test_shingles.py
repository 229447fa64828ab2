"""Version 1 of shingles, held by golden features: a changed feature is a new version."""

import json
from pathlib import Path

from kernelsketch.backends import SHINGLE_VERSION
from kernelsketch.reference.shingles import shingles_of

GOLDEN = Path(__file__).parents[1] / f"golden/shingles-v{SHINGLE_VERSION}.json"
TEXTS = [
    "New York, new york",
    "internationalization",
    "Straße ÄÖÜ",
    "漢字 かな",
    "a",
    "",
    "tab\tand\u3000space",
    "x\xff",
]


def features():
    return {
        f"{'word' if words else 'char'} {n}": [
            list(shingles_of(text.encode(), words, n, n + 1, True)) for text in TEXTS
        ]
        for words in (True, False)
        for n in (1, 3)
    }


def test_features_are_the_golden_ones(request):
    """`pytest --overwrite-golden` renews them."""
    if request.config.getoption("--overwrite-golden"):
        GOLDEN.write_text(json.dumps(features(), indent=0) + "\n")
    assert json.loads(GOLDEN.read_text()) == features()
    assert all(0 <= feature < 2**62 for rows in features().values() for row in rows for feature in row)
