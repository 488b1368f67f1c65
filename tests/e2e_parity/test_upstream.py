"""The oracle's process: asking, answers, crashes and restarts."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from e2e.parity.kinds import BEGIN, Case, Kind, text_of
from e2e.parity.upstream import MODULE, Reply, Upstream
from tests.e2e_parity.oracles import oracle

ECHO = Kind("echo", lambda _: {}, lambda question: question)


def asked_at(case: Case, at: datetime) -> Case:
    return {**case, "at": text_of(at)}


LASTING = Kind(
    "lasting", lambda _: {}, lambda question: question, question=asked_at, lasts=lambda _: timedelta(hours=1)
)


def numbered(count: int) -> list[Case]:
    return [{"number": number} for number in range(count)]


def test_answers_come_in_the_order_of_the_questions(tmp_path: Path) -> None:
    with Upstream(oracle(tmp_path, 'return {"answer": question["number"]}')) as upstream:
        sent = upstream.send(ECHO, numbered(500))
        assert [reply.answer for reply in upstream.receive(sent)] == list(range(500))
        assert upstream.ask(ECHO, {"number": 7}) == Reply(answer=7)


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ('{"answer": null}', Reply()),
        ("{}", Reply()),
        ('{"crash": "index out of range"}', Reply(crash="index out of range")),
        ('{"refused": "unknown kind"}', Reply(refusal="unknown kind")),
    ],
)
def test_a_reply_is_an_answer_a_crash_or_a_refusal(tmp_path: Path, line: str, reply: Reply) -> None:
    with Upstream(oracle(tmp_path, f"return json.loads('{line}')")) as upstream:
        assert upstream.ask(ECHO, {}) == reply


def test_a_question_that_ends_the_process_is_a_crash_and_the_others_are_answered(tmp_path: Path) -> None:
    body = """if question["number"] in (2, 3):
    sys.stderr.write("panic: concurrent map writes\\nexample.test/pkg/model.go:7\\nsomething else\\n")
    sys.stderr.flush()
    os._exit(2)
return {"answer": question["number"]}"""
    with Upstream(oracle(tmp_path, body)) as upstream:
        replies = upstream.receive(upstream.send(ECHO, numbered(6)))
    crash = Reply(crash="panic: concurrent map writes | example.test/pkg/model.go:7")
    assert replies == [Reply(0), Reply(1), crash, crash, Reply(4), Reply(5)]


def test_a_process_that_ends_without_a_word_twice_tells_its_status(tmp_path: Path) -> None:
    with Upstream(oracle(tmp_path, "os._exit(3)")) as upstream:
        assert upstream.ask(ECHO, {}) == Reply(crash="it ended with status 3")


def test_a_process_that_somebody_ended_is_asked_once_more(tmp_path: Path) -> None:
    body = f"""if question["number"] == 1 and not os.path.exists("{tmp_path}/ended"):
    open("{tmp_path}/ended", "w").close()
    os.kill(os.getpid(), 9)
return {{"answer": question["number"]}}"""
    with Upstream(oracle(tmp_path, body)) as upstream:
        assert upstream.receive(upstream.send(ECHO, numbered(4))) == [Reply(n) for n in range(4)]


def test_cases_that_share_one_time_follow_each_other(tmp_path: Path) -> None:
    with Upstream(oracle(tmp_path, 'return {"answer": question["at"]}')) as upstream:
        moments = [datetime.fromisoformat(str(upstream.ask(LASTING, {}).answer)) for _ in range(3)]
    assert moments[0] > BEGIN
    assert all(later - earlier > timedelta(hours=1) for earlier, later in pairwise(moments))


def test_a_process_that_keeps_what_it_started_is_replaced(tmp_path: Path) -> None:
    with Upstream(oracle(tmp_path, 'return {"answer": [os.getpid(), question["at"]]}')) as upstream:
        replies = [upstream.receive(upstream.send(LASTING, [{}] * 150)) for _ in range(2)]
    pids = [{str(reply.answer[0]) for reply in batch if isinstance(reply.answer, list)} for batch in replies]
    assert [len(of_batch) for of_batch in pids] == [1, 1]
    assert pids[0] != pids[1]
    firsts = [batch[0].answer for batch in replies]
    assert isinstance(firsts[0], list)
    assert isinstance(firsts[1], list)
    assert firsts[0][1] == firsts[1][1], "time begins anew"


def test_the_program_is_built_from_sources_of_our_own() -> None:
    assert (MODULE.source / "go.mod").read_text().startswith("module evenkeel.dev/")
    assert {"main.go", "go.sum"} <= {path.name for path in MODULE.source.iterdir()}
