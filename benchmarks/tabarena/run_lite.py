"""Run the model on TabArena-Lite, and compare it with the results that TabArena keeps.

    python run_lite.py [--configurations 0] [--datasets NAME,NAME] [--out results]

TabArena-Lite is the first split of each dataset. ``--configurations 25`` tries 25 random configurations beside the
default, which a submission needs; ``--datasets`` takes a part for a first look. TabArena downloads the datasets and the
results of other models.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gcws_tabular import gen_gcws_tabular
from tabarena.benchmark.experiment import TabArenaV0pt1ExperimentBundle
from tabarena.contexts import TabArenaContext


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--configurations", type=int, default=0)
    parser.add_argument("--datasets", default="")
    parser.add_argument("--out", type=Path, default=Path("results"))
    asked = parser.parse_args()
    context = TabArenaContext()
    context.build_and_run_jobs(
        TabArenaV0pt1ExperimentBundle(models=[(gen_gcws_tabular, asked.configurations)]).build_experiments(),
        expname=str(asked.out / "runs"),
        subset="lite",
        build_kwargs={"dataset_names": asked.datasets.split(",")} if asked.datasets else {},
        new_result_prefix="[new] ",
    )
    compared = context.compare(output_dir=asked.out / "figures")
    print(context.leaderboard_to_website_format(leaderboard=compared).to_markdown(index=False))


if __name__ == "__main__":
    main()
