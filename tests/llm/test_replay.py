"""Exported calls come back equal, and are replayed without ever answering another question."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from pathlib import Path

import msgspec
import pytest

from proctor.errors import UserError
from proctor.llm.export import export_calls, import_calls
from proctor.llm.media import MediaStore
from proctor.llm.message import Parameters, Request, user
from proctor.llm.model import ModelName
from proctor.llm.outcome import AttemptRecord, Failure, Outcome, Refusal, Reply, Usage, is_final
from proctor.llm.replay import provider
from proctor.llm.store import CallStore, Selection, StoredCall
from proctor.records import canonical_json

MODEL = "openai/gpt-4o"


def ask(text: str = "q", model: str = MODEL, **more: object) -> Request:
    return Request(model=model, messages=(user(text),), **more)  # type: ignore[arg-type]


def stored(
    request: Request, outcome: Outcome, created: float = 5.0
) -> tuple[StoredCall, list[AttemptRecord]]:
    final = is_final(outcome)
    kind = outcome.kind if isinstance(outcome, Failure) else type(outcome).__name__.lower()
    call = StoredCall(
        key=request.key,
        model=request.model,
        stage="s",
        kind=kind,
        created=created,
        seconds=0.25,
        input=outcome.usage.input,
        output=outcome.usage.output,
        cached=outcome.usage.cached,
        cost=12 if final else None,
        outcome=canonical_json(outcome).decode() if final else None,
        request=canonical_json(request).decode(),
    )
    record = AttemptRecord.of(1, 4.5, 0.25, outcome)
    return call, [msgspec.structs.replace(record, cost=call.cost)]


REPLY = Reply(text="Ünï\u2028\x00 </call>\n", usage=Usage(3, 2, 1), model="gpt-4o-2024", stop="stop")


@pytest.fixture
def media() -> MediaStore:
    return MediaStore()


@pytest.fixture
def store(tmp_path: Path, media: MediaStore) -> CallStore:
    """Five calls: one with an image, one that failed."""
    image = media.image("frame 1", lambda: (b"\xff\xd8 a picture", 4, 3))
    pairs = [
        stored(ask(), REPLY),
        stored(ask("no"), Refusal(text="I cannot")),
        stored(ask("blocked"), Failure(kind="content_filter", message="no", usage=Usage(4, 0))),
        stored(ask("failed"), Failure(kind="overload", message="busy")),
        stored(
            Request(model=MODEL, messages=(user("Where?", image),), parameters=Parameters(temperature=0)),
            REPLY,
        ),
    ]
    with CallStore.open(tmp_path / "calls.sqlite") as opened:
        opened.put(pairs)
    return CallStore.open(tmp_path / "calls.sqlite")


def contents(store: CallStore) -> list[tuple[StoredCall, list[AttemptRecord]]]:
    calls = list(store.calls())
    tries = store.attempts(call.key for call in calls)
    return [(call, tries[call.key]) for call in calls]


@pytest.mark.parametrize("name", ["calls.jsonl", "calls.jsonl.gz"])
def test_what_is_exported_comes_back_equal(
    tmp_path: Path, store: CallStore, media: MediaStore, name: str
) -> None:
    steps: list[int] = []
    with store, CallStore.open(tmp_path / "other.sqlite") as other:
        assert export_calls(store, tmp_path / name, seen=lambda: steps.append(1)) == (5, 0)
        assert len(steps) == 5
        assert import_calls(other, tmp_path / name) == (5, 5)
        assert import_calls(other, tmp_path / name) == (5, 0)
        assert contents(other) == contents(store)
        export_calls(other, tmp_path / f"again-{name}")
    assert (tmp_path / name).read_bytes() == (tmp_path / f"again-{name}").read_bytes()


def test_media_go_along_once(tmp_path: Path, store: CallStore, media: MediaStore) -> None:
    file, taken = tmp_path / "c.jsonl.gz", MediaStore()
    with store:
        image = media.image("frame 1", lambda: (b"", 0, 0))
        store.put([stored(Request(model=MODEL, messages=(user("Again?", image),)), REPLY)])
        assert export_calls(store, file, media=media) == (6, 1)
        import_calls(store, file, media=taken)
        assert taken.get(image.sha256) == b"\xff\xd8 a picture"
        with pytest.raises(UserError, match="media"):
            export_calls(store, tmp_path / "x.jsonl", media=MediaStore())
    assert not (tmp_path / "x.jsonl").exists()


def test_a_selection_is_exported(tmp_path: Path, store: CallStore) -> None:
    with store:
        assert export_calls(store, tmp_path / "c.jsonl", Selection(kind="refusal")) == (1, 0)
        assert export_calls(store, tmp_path / "d.jsonl", Selection(stage="none")) == (0, 0)
        assert import_calls(store, tmp_path / "d.jsonl") == (0, 0)


# -- broken files ----------------------------------------------------------------------------------------------


@pytest.fixture
def lines(tmp_path: Path, store: CallStore) -> list[bytes]:
    with store:
        export_calls(store, tmp_path / "good.jsonl")
    return (tmp_path / "good.jsonl").read_bytes().splitlines(keepends=True)


def refused(tmp_path: Path, data: bytes, match: str, name: str = "bad.jsonl") -> None:
    (tmp_path / name).write_bytes(data)
    with CallStore.open(tmp_path / "other.sqlite") as other, pytest.raises(UserError, match=match) as caught:
        import_calls(other, tmp_path / name)
    assert name in str(caught.value)


def test_a_changed_request_is_noticed(tmp_path: Path, lines: list[bytes]) -> None:
    changed = b"".join(lines).replace(b'"text":"no"', b'"text":"on"')
    refused(tmp_path, changed, "not the one of the key")


def test_other_spacing_is_no_change(tmp_path: Path, lines: list[bytes], store: CallStore) -> None:
    loose = b"".join(json.dumps(json.loads(line), indent=None).encode() + b"\n" for line in lines)
    (tmp_path / "loose.jsonl").write_bytes(loose)
    with CallStore.open(tmp_path / "other.sqlite") as other:
        assert import_calls(other, tmp_path / "loose.jsonl") == (5, 5)
        assert [hashlib.sha256(call.request.encode()).hexdigest() for call in other.calls()] == [
            call.key for call in other.calls()
        ]


@pytest.mark.parametrize("cut", [1, 3, -1])
def test_a_file_that_was_cut_off_is_told(tmp_path: Path, lines: list[bytes], cut: int) -> None:
    refused(tmp_path, b"".join(lines[:cut]), "cut off")


def test_a_line_that_was_cut_off_is_told(tmp_path: Path, lines: list[bytes]) -> None:
    refused(tmp_path, b"".join(lines)[:-60], r"bad\.jsonl:\d+")


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "empty"),
        (b'{"question": 1}\n', "not a file of calls"),
        (b"\x00\x01\xff", "not a file of calls"),
        (b'{"proctor":"calls","format":99}\n', "newer Proctor"),
        (b'{"proctor":"end","calls":0}\n', "first line"),
        (b'{"proctor":"calls","format":1}\n{"proctor":"call","key":1}\n', "bad.jsonl:2"),
        (b'{"proctor":"calls","format":1}\n{"proctor":"media","sha256":"00","data":"!"}\n', "base64"),
        (b'{"proctor":"calls","format":1}\n{"proctor":"media","sha256":"00","data":"AAAA"}\n', "their name"),
        (gzip.compress(b"x" * 100, mtime=0)[:-12], "gzip file is broken"),
    ],
)
def test_another_file_is_a_user_error(tmp_path: Path, data: bytes, match: str) -> None:
    (tmp_path / "bad.jsonl").write_bytes(data)
    with CallStore.open(tmp_path / "o.sqlite") as other, pytest.raises(UserError, match=match):
        import_calls(other, tmp_path / "bad.jsonl", media=MediaStore())


def test_a_missing_file_or_a_folder_is_a_user_error(tmp_path: Path) -> None:
    for place in (tmp_path / "none", tmp_path):
        with pytest.raises(UserError, match=str(place)):
            provider(ModelName.parse(f"replay/{place}"))


# -- replay ----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["calls.jsonl.gz", "calls.jsonl", "calls.sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path, store: CallStore) -> Path:
    """An exported file or a store, to be replayed."""
    path: Path = tmp_path / request.param
    with store:
        if path.suffix != ".sqlite":
            export_calls(store, path)
    return path


def answer(name: str, *requests: Request) -> list[Outcome]:
    async def run() -> list[Outcome]:
        model = provider(ModelName.parse(name))
        try:
            return [
                await model.attempt(msgspec.structs.replace(r, model=name), MediaStore(), timeout=1.0)
                for r in requests
            ]
        finally:
            await model.close()

    return asyncio.run(run())


def test_calls_are_replayed_whatever_the_model_is_called_now(place: Path) -> None:
    replies = answer(f"replay/{place}", ask(), ask("no"), ask("blocked"), ask("q", "google/other"))
    assert replies == [
        REPLY,
        Refusal(text="I cannot"),
        Failure(kind="content_filter", message="no", usage=Usage(4, 0)),
        REPLY,
    ]


@pytest.mark.parametrize(
    "request_",
    [ask("new"), ask("q "), ask(draw=1), ask(parameters=Parameters(temperature=0.5)), ask("failed")],
    ids=["text", "space", "draw", "parameter", "failed"],
)
def test_what_was_not_recorded_is_a_miss(place: Path, request_: Request) -> None:
    (outcome,) = answer(f"replay/{place}", request_)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "replay_miss"


def test_of_several_models_one_is_named(tmp_path: Path, store: CallStore) -> None:
    other = "compat/qwen@http://127.0.0.1:8000/v1"
    file = tmp_path / "two.jsonl"
    with store:
        store.put([stored(ask("q", other), Reply(text="qwen"))])
        export_calls(store, file)
    with pytest.raises(UserError, match="2 models") as caught:
        provider(ModelName.parse(f"replay/{file}"))
    assert f"replay/{file}#compat/qwen" in str(caught.value)
    assert answer(f"replay/{file}#{MODEL}", ask()) == [REPLY]
    assert answer(f"replay/{file}#{other}", ask()) == [Reply(text="qwen")]
    with pytest.raises(UserError, match="no call of 'openai/none'"):
        provider(ModelName.parse(f"replay/{file}#openai/none"))


def test_a_file_that_changed_is_read_again(tmp_path: Path, store: CallStore) -> None:
    file = tmp_path / "c.jsonl"
    with store:
        export_calls(store, file, Selection(kind="refusal"))
        assert isinstance(answer(f"replay/{file}", ask())[0], Failure)
        export_calls(store, file)
    assert answer(f"replay/{file}", ask()) == [REPLY]


def test_a_database_url_is_refused_without_showing_its_password() -> None:
    with pytest.raises(UserError, match="export it") as caught:
        provider(ModelName.parse("replay/postgresql://ana:geheim@host/db"))
    assert "geheim" not in str(caught.value)


def test_an_empty_file_of_calls_answers_nothing(tmp_path: Path, store: CallStore) -> None:
    with store:
        export_calls(store, tmp_path / "none.jsonl", Selection(stage="none"))
    (outcome,) = answer(f"replay/{tmp_path / 'none.jsonl'}", ask())
    assert isinstance(outcome, Failure)
