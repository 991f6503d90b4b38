"""``dond llm-check``: a language model tried on a few positions, in words that say what to do."""

from __future__ import annotations

import re
import threading

import pytest

from dond.cli.llm_check import command, positions
from dond_marl.errors import RunFailure
from partners.llm.reply import legal_rows, reply_line
from tests.command import dond
from tests.loopback import Page, Service
from tests.partners.llm.test_servers import json_mode, llama_cpp_python, plain


@pytest.fixture
def check(monkeypatch, capfd):
    """The exit code and what is printed of a check of a server that answers by a function of a request's body."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def run(answer, *words, parameters=""):
        service = Service(lambda heard, number: answer(heard.body))
        try:
            spec = f"llm(provider=openai, base_url='{service.url}', model=m{parameters})"
            code = dond("llm-check", spec, *words)
        finally:
            service.close()
        told = capfd.readouterr()
        return code, told.out + told.err, service

    return run


def test_good_model_report(check, tmp_path):
    members = "members: [linear, tough, {kind: llm, name: model, provider: hf}]"
    (tmp_path / "three.yaml").write_text(f"{members}\nleague: {{rounds: 2, block_size: 2}}\n")
    words = ["--prompts", 3, "--config", tmp_path / "three.yaml"]
    code, out, service = check(llama_cpp_python, *words, parameters=", prompt_price=1, completion_price=2")
    assert code == 0
    assert re.search(r"json_schema +refused \(500\): .*'json_object'", out)
    assert re.search(r"json_object_schema +enforced; used\n", out)
    assert out.count("HTTP status 200, ") == out.count("reply: '{\\n") == out.count("verdict: legal: END") == 3
    assert "(confidence clipped)" in out
    queries = re.search(r"three.yaml has about ([\d,]+) queries, at most ([\d,]+)", out)
    about, most = (int(number.replace(",", "")) for number in queries.groups())
    assert 0 < about <= most
    assert f"{120 * about:,} tokens, {140e-6 * about:.2f} US dollars, " in out
    assert len(service.heard) == 2 + 3


def test_exit_code_without_legal_replies(check):
    code, out, _ = check(plain, "--prompts", 2)
    assert code == 1
    assert out.count("verdict: refused (unparsable)") == 2
    assert "'Hello! " in out and "0 of 2 " in out
    assert "reading=lenient" in out


def test_refusals_are_shown(check):
    def answer(body):
        return Page(400, "the tier \x1b[31mis not available") if "response_format" not in body else json_mode(body)

    code, out, _ = check(answer, parameters=", structure=text")
    assert code == 1
    assert re.search(r"json_object +(accepted|enforced)", out)
    assert re.search(r"\btext .*used\n", out)
    assert "verdict: no reply (refused)" in out
    assert "(400): the tier [31mis" in out


def test_unreachable_server(capfd):
    assert dond("llm-check", "llm(provider=openai, base_url='http://127.0.0.1:9/v1', model=m, max_attempts=1)") == 1
    assert "(connection)" in capfd.readouterr().err


def test_other_occupants_are_refused(capfd):
    assert dond("llm-check", "heuristic") == 2
    assert "heuristic" in capfd.readouterr().err


def test_checked_positions():
    tried = positions(6)
    assert [turns.turns_taken for turns in tried] == [1, 0, 1, 0, 1, 0]
    for turns in tried:
        (legal,) = legal_rows(turns)
        assert turns.size == 1
        assert (2 in legal.acts) is bool(turns.turns_taken)
        assert reply_line(next(legal.actions()), 0.5)


def test_error_closes_the_connection(monkeypatch, capfd):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    before, service = set(threading.enumerate()), Service(lambda heard, number: Page(401, "no such key"))
    spec = f"llm(provider=openai, base_url='{service.url}', model=m, structure=text)"
    try:
        with pytest.raises(RunFailure, match="401") as caught:  # which keeps all that was in use alive
            command.main([spec], standalone_mode=False)
    finally:
        service.close()
    assert caught.value is not None and service.heard
    assert not [thread for thread in set(threading.enumerate()) - before if "language model" in thread.name]
