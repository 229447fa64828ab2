"""Requests per second and latency of the service in docs/how-to/serving.rst, on the loopback device of this machine.

Run ``python benchmarks/measure_service.py [--seconds 5] [--rounds 3] [--note TEXT]``. It needs FastAPI and uvicorn.

A model of flats (four columns, 3,000 rows, default effort) is fitted and saved. One process of uvicorn serves
docs/how-to/flats_app.py, with one worker and its default event loop. The client is another process on the same machine:
plain HTTP/1.1 sockets that stay open, 1 or 8 of them, each in a thread, which send a request when the last one is
answered. The line ``without a model`` is a service whose handler returns a constant: what FastAPI and the client take.
The rows of results/service.csv hold the median of the rounds.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter, process_time, sleep

import numpy as np
from machine import RESULTS, installed, machine

from kernelsketch import GCWSTabularClassifier

APP = Path(__file__).parents[1] / "docs" / "how-to" / "flats_app.py"
EMPTY = """
from flats_app import Flat, app

@app.post("/nothing")
async def nothing(flat: Flat):
    return {"False": 0.4, "True": 0.6}
"""
COLUMNS = ("service", "connections", "requests_per_second", "median_ms", "p99_ms", "server_cpu_us", "note")


def flats(n: int) -> tuple[list[dict[str, object]], np.ndarray]:
    """Return rows, and whether the flat was let within a week."""
    rng = np.random.default_rng(0)
    area, rooms = rng.lognormal(4.1, 0.4, n).round(), rng.integers(1, 6, n)
    district = rng.choice([f"district {i}" for i in range(12)], n)
    heating = rng.choice(np.array(["gas", "electric", "district", None], object), n)
    score = area / 60 + rooms / 3 + (heating == "gas") + rng.normal(size=n)
    values = zip(area.tolist(), rooms.tolist(), district.tolist(), heating.tolist(), strict=True)
    return [dict(zip(("area", "rooms", "district", "heating"), row, strict=True)) for row in values], score > 3


def request(path: str, row: dict[str, object]) -> bytes:
    body = json.dumps(row).encode()
    lines = (
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join([*lines, "", ""]).encode() + body


def ask(connection: socket.socket, sent: bytes) -> bytes:
    connection.sendall(sent)
    found = b""
    while b"\r\n\r\n" not in found:
        found += connection.recv(65536)
    head, _, body = found.partition(b"\r\n\r\n")
    size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < size:
        body += connection.recv(65536)
    if b" 200 " not in head[:15]:
        raise RuntimeError(found.decode())
    return body


def load(port: int, requests: list[bytes], connections: int, seconds: float) -> list[float]:
    """Return the seconds of all requests."""
    taken: list[list[float]] = [[] for _ in range(connections)]
    end = perf_counter() + seconds

    def client(times: list[float], first: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            i = first
            while (start := perf_counter()) < end:
                ask(connection, requests[i % len(requests)])
                times.append(perf_counter() - start)
                i += 1

    threads = [threading.Thread(target=client, args=(times, 17 * i)) for i, times in enumerate(taken)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [time for times in taken for time in times]


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--note", default="")
    given = parser.parse_args()
    rows, y = flats(3000)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(APP, folder)
        (Path(folder) / "empty_app.py").write_text(EMPTY)
        model = GCWSTabularClassifier().fit(rows, y)
        model.save(Path(folder) / "flats.safetensors")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = ["-m", "uvicorn", "empty_app:app", "--port", str(port), "--no-access-log", "--log-level", "warning"]
        server = subprocess.Popen([sys.executable, *command], cwd=folder)
        try:
            _wait_for(port)
            expected = dict(zip(map(str, model.classes_), model.predict_proba(rows[:1])[0].tolist(), strict=True))
            with socket.create_connection(("127.0.0.1", port)) as connection:
                assert json.loads(ask(connection, request("/predict", rows[0]))) == expected
            found = _measured(port, server.pid, rows, given)
        finally:
            server.terminate()
            server.wait()
    predictor, start = model.predictor(), process_time()
    for row in rows:
        predictor.predict_proba(row)
    alone = 1e6 * (process_time() - start) / len(rows)
    found.append(("predict_proba of a dict, in the process itself", 0, "", "", "", round(alone, 1), given.note))
    with (RESULTS / "service.csv").open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *found])
    versions = {name: installed(name) for name in ("fastapi", "uvicorn", "pydantic", "starlette")}
    (RESULTS / "service.json").write_text(json.dumps({**machine(), **versions}, indent=2) + "\n")
    for row in found:
        print(*row, sep="\t")


def _wait_for(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            sleep(0.1)
    raise RuntimeError("the service does not answer")


def _measured(
    port: int, process: int, rows: list[dict[str, object]], given: argparse.Namespace
) -> list[tuple[object, ...]]:
    cases = [(path, n) for n in (1, 8) for path in ("/nothing", "/predict")]
    rounds: dict[tuple[str, int], list[tuple[float, ...]]] = {case: [] for case in cases}
    for number in range(given.rounds + 1):  # the first one warms up
        for path, connections in cases:
            requests = [request(path, row) for row in rows[:500]]
            before = cpu_seconds(process)
            times = load(port, requests, connections, given.seconds if number else 1)
            cpu = 1e6 * (cpu_seconds(process) - before) / len(times)
            rate = len(times) / (given.seconds if number else 1)
            if number:
                latency = 1e3 * np.percentile(times, [50, 99])
                rounds[path, connections].append((rate, *latency.tolist(), cpu))
    names = {"/nothing": "FastAPI without a model", "/predict": "FastAPI and a model of tables"}
    found = []
    for (path, connections), measured in rounds.items():
        rate, middle, late, cpu = (statistics.median(values) for values in zip(*measured, strict=True))
        row = (names[path], connections, round(rate), round(middle, 3), round(late, 3), round(cpu, 1), given.note)
        found.append(row)
    return found


if __name__ == "__main__":
    main()
