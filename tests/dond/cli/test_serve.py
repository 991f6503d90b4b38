"""``dond serve``: occupants served in a process of its own, until it is stopped."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from contextlib import closing
from http.client import HTTPConnection

import pytest

from tests.command import HERE, PROGRAM, in_process


def started(*names: str) -> tuple[subprocess.Popen[str], int]:
    """The process, and the port that it says."""
    command = [*PROGRAM, "serve", *names, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=HERE)
    assert process.stdout is not None
    address = re.search(r"at http://127\.0\.0\.1:(\d+)/v1; Ctrl-C stops it", process.stdout.readline())
    assert address, process.communicate()
    return process, int(address[1])


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_stopped_also_while_a_client_is_connected(number):
    process, port = started("heuristic", "boulware(exponent=4)")
    with closing(HTTPConnection("127.0.0.1", port)) as client:
        client.request("GET", "/v1/models")
        told = json.loads(client.getresponse().read())
        assert [model["id"] for model in told["data"]] == ["heuristic", "boulware(exponent=4)"]
        process.send_signal(number)
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 128 + number
    assert errors.strip().startswith("stopped: ") and len(errors.strip().splitlines()) == 1
    with pytest.raises(OSError, match=r"refused|Connection"):
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{port}/v1/models")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Missing argument 'OCCUPANT...'"),
        (["heuristicc"], "no occupant is called 'heuristicc'"),
        (["human(interface='dond.table.game:Terminal')"], "cannot be served: it needs a person"),
        (["heuristic", "--port", "70000"], "--port must be an integer in 0..65535"),
    ],
)
def test_a_mistake_is_one_sentence(words, said):
    result = in_process("serve", *words)
    assert result.returncode == 2 and said in result.stderr and len(result.stderr.splitlines()) == 1


def test_port_in_use_is_refused():
    process, port = started("heuristic")
    result = in_process("serve", "heuristic", "--port", port)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    assert result.returncode == 2 and f"--port {port} " in result.stderr
