"""A C compiler: a program of a user with the exported header of a model of a table."""

import shutil
import subprocess

import numpy as np
import pytest

from helpers.clients import customers
from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler: apt install gcc")
X, LEAVES, PAYS = customers()
X = X.drop(columns="comment")  # free text cannot be exported
ROW = """
    leaving_row row = {.months = 12, .spent = 3.5, .calls = NAN, .plan = "family", .region = NULL};
    paying_row same = {.months = 12, .spent = 3.5, .calls = NAN, .plan = "family", .region = NULL};
"""
PROGRAM = f"""
#include <stdio.h>
#include "leaving.h"
#include "paying.h"

int main(void) {{{ROW}
    double shares[2];
    leaving_probabilities(&row, shares);
    printf("%.9g %.9g %s\\n", shares[0], paying_predict(&same), leaving_classes[leaving_predict(&row)]);
    return 0;
}}
"""


def test_a_program_with_two_models(tmp_path):
    leaving, paying = GCWSTabularClassifier("quick").fit(X, LEAVES), GCWSTabularRegressor("quick").fit(X, PAYS)
    (tmp_path / "leaving.h").write_text(leaving.predictor().to_c("leaving"))
    (tmp_path / "paying.h").write_text(paying.predictor().to_c("paying"))
    (tmp_path / "main.c").write_text(PROGRAM)
    subprocess.run([COMPILER, "-O2", "-Wall", "-Werror", "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    told = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout.split()
    row = [{"months": 12, "spent": 3.5, "calls": None, "plan": "family", "region": None}]
    np.testing.assert_allclose(float(told[0]), leaving.predict_proba(row)[0, 0], atol=1e-5)
    np.testing.assert_allclose(float(told[1]), paying.predict(row)[0], rtol=1e-5)
    assert told[2] == leaving.predict(row)[0]
