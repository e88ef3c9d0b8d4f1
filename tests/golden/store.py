"""Fills the stored workspaces: ``python -m tests.golden.store moment asking …`` at the commit that the README names.

Models are played by the rehearsal's stand-in over HTTP; some of the replies are spoilt by a rule on the request's key, so that
refusals, cut-off replies, failures and replies that nobody can read are in the stores, too. Tests never run this.
"""

# ruff: noqa: I001 - it runs at an older commit, where other modules are there

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from tests.golden import store_people
from tests.golden.cells import CELLS
from tests.golden.playing import KEY, Asked, Table, clip_name, collect, listening, replaced, typed_into
from tests.media.make_video import make_grey_video
from tests.stages.instructional.material import row, write_rows
from tests.typed import proctor as run

import proctor.llm.registry
from proctor.generate import recipe_picture
from proctor.llm.caller import Caller
from proctor.llm.fence import FENCE_FILE
from proctor.llm.message import Request
from proctor.llm.model import ModelName
from proctor.llm.outcome import Failure, Outcome, Refusal, Reply, Truncated
from proctor.llm.registry import resolve as real_resolve
from proctor.media import clips, frames, paint, probe, times
from proctor.stages.experiment.rehearse import played_keys
from proctor.samples import copy_sample
from proctor.stages.rehearsal import rehearse, write_marks

STORED = Path(__file__).parent / "stored"
PROTOCOLS = {"openai": "/v1", "anthropic": "", "google": ""}


# -- models and pictures -------------------------------------------------------------------------------------------------


@dataclass
class Spoilt:
    """A played model some of whose replies are spoilt."""

    inner: Any
    failures: dict[str, Failure]
    fail: bool

    @property
    def name(self) -> str:
        return str(self.inner.name)

    @property
    def endpoint(self) -> str:
        return str(self.inner.endpoint)

    async def attempt(self, request: Request, media: Any, *, timeout: float) -> Outcome:
        said: Outcome = await self.inner.attempt(request, media, timeout=timeout)
        drawn = int(request.key[8:14], 16) / 16**6
        if self.fail and drawn < 0.06:
            self.failures[request.key] = Failure(
                kind="bad_request", message="this request is refused by the store's rule", status=400
            )
            return self.failures[request.key]
        if isinstance(said, Reply) and said.text.startswith(
            "This is the stand-in"
        ):  # it plays no classifier of styles
            said = msgspec.structs.replace(said, text="Yes." if drawn > 0.7 else "No.")
        if not isinstance(said, Reply) or drawn > 0.25:
            return said
        if self.fail and drawn < 0.11:
            return Refusal(
                text="I'm sorry, I can't help with that.", usage=said.usage, model=said.model, stop="refusal"
            )
        if self.fail and drawn < 0.16:
            return Truncated(
                text=said.text[: len(said.text) // 3], usage=said.usage, model=said.model, stop="length"
            )
        if all(m.role != "assistant" for m in request.messages):
            return Reply(text="Hm, that is a hard one. Let me see.", usage=said.usage, model=said.model)
        return said

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class Recorder:
    """Notes which pictures the real functions make."""

    table: Table = field(default_factory=Table)
    images: list[tuple[Any, Any, tuple[Any, ...]]] = field(default_factory=list)

    def shown(self) -> Iterator[tuple[Any, Any]]:
        real = (frames.extract_frames, times.presentation_times, probe.probe, clips.cut_clip)
        extract, present, look, cut = real
        draw, jpeg, png = recipe_picture.draw_procedure, paint.encode_jpeg, paint.encode_png

        def extracted(path: Path, wanted: Any, *, height: int | None = 360, **more: Any) -> Any:
            found = extract(path, wanted, height=height, **more)
            self.presented(path)
            for frame in found:
                place = self.table.frames.setdefault(f"{path.name} {height}", {})
                self.images.append((frame.image, place, (f"{frame.time:.3f}", frame.pts)))
            return found

        def presented(path: Path, **more: Any) -> Any:
            found = present(path, **more)
            self.table.times[path.name] = [*map(float, found[0])], float(found[1])
            return found

        self.presented = presented

        def probed(path: Path, **more: Any) -> Any:
            found = look(path, **more)
            name = Path(path).name
            if not Path(path).parent.name.endswith("videos"):
                import hashlib

                name = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            self.table.probes[name] = {k: v for k, v in msgspec.to_builtins(found).items() if k != "path"} | {
                "path": ""
            }
            return found

        def cutting(path: Path, clip: Path, start: float, end: float, **how: Any) -> None:
            import hashlib

            cut(path, clip, start, end, **how)
            self.table.clips[clip_name(path, start, end, how)] = hashlib.sha256(clip.read_bytes()).hexdigest()

        def drawn(graph: Any) -> Any:
            found = draw(graph)
            self.images.append((found, self.table.drawings, (graph.id,)))
            return found

        def encoder(real_one: Callable[..., bytes]) -> Callable[..., bytes]:
            def encode(image: Any, **how: Any) -> bytes:
                import hashlib

                data = real_one(image, **how)
                for known, place, (name, *pts) in self.images:
                    if known is image:
                        place[name] = (*pts, image.shape[1], image.shape[0], hashlib.sha256(data).hexdigest())
                return data

            return encode

        yield from zip(real, (extracted, presented, probed, cutting), strict=True)
        yield from ((draw, drawn), (jpeg, encoder(jpeg)), (png, encoder(png)))


@contextmanager
def played(
    bench: Path, recorder: Recorder, failures: dict[str, Failure], fail: Callable[[], bool], quality: float
) -> Iterator[None]:
    """Play all models of a workspace, and note what they are shown."""
    with (
        rehearse(bench, quality=quality, seed=5) as server,
        played_keys(server.environment),
        ExitStack() as stack,
    ):

        def resolve(name: str) -> Any:
            parsed = ModelName.parse(name)
            model = real_resolve(f"{parsed.provider}/{parsed.model}@{server.url}{PROTOCOLS[parsed.provider]}")
            return Spoilt(model, failures, fail())

        stack.enter_context(replaced(proctor.llm.registry.resolve, resolve))
        for original, replacement in recorder.shown():
            stack.enter_context(replaced(original, replacement))
        yield


# -- stores --------------------------------------------------------------------------------------------------------------


def typed(*arguments: object) -> str:
    done = run(*arguments)
    if done.status:
        raise SystemExit(f"{' '.join(map(str, arguments))}\n{done.out}\n{done.err}")
    return done.out


def fill(name: str, prepare: Callable[[Path], None], *, quality: float = 0.75, hooks: dict[str, Callable[[Path], None]] | None = None, fail: Callable[[str], bool] = lambda _cell: True, killed: int = 0, begun: str = "") -> None:  # fmt: skip
    """Make one store: prepare its workspace, play its cells, and pack everything."""
    target = STORED / name
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    home = Path(tempfile.mkdtemp(prefix="golden-"))
    bench = home / "bench"
    prepare(bench)
    (bench / FENCE_FILE).write_text("5e" * 32)
    vacuum(bench)
    before = {p: d for p, d in snapshot(bench).items() if p not in ("calls.sqlite", FENCE_FILE)}
    asked, recorder, failures = Asked(), Recorder(), dict[str, Failure]()
    with played(bench, recorder, failures, lambda: fail(asked.cell), quality), listening(asked):
        if killed:
            kill([*CELLS[name][0].commands(bench)[0], *begun.format(w=bench).split()], killed)
            vacuum(bench)
            before = {p: d for p, d in snapshot(bench).items() if p not in ("calls.sqlite", FENCE_FILE)}
            print("killed:", *(p for p in before if not p.startswith(("media", "sample", "data", "docs"))))
        for cell in CELLS[name]:
            asked.cell = cell.name
            if hooks and cell.name in hooks:
                known = set(snapshot(bench))
                hooks[cell.name](bench)
                before |= {p: d for p, d in snapshot(bench).items() if p not in known}
            former = collect(bench, [pattern for pattern in cell.results if "*" in pattern])
            for command in cell.commands(bench):
                done = typed_into(*command)
                if done.status:
                    raise SystemExit(f"{' '.join(command)}\n{done.out}\n{done.err}")
            for path, text in collect(bench, cell.results).items():
                if former.get(path) == text:
                    continue  # what an earlier cell wrote
                place = target / "results" / cell.name / path
                place.parent.mkdir(parents=True, exist_ok=True)
                compact = path.endswith(".json") and not path.startswith("release/")
                place.write_text(
                    json.dumps(json.loads(text), separators=(",", ":")) + "\n" if compact else text
                )
            print(cell.name, {t: len(k) for t, k in asked.keys.get(cell.name, {}).items()})
    for path, value in (
        (
            "requests.json",
            {c: {t: [k[:KEY] for k in keys] for t, keys in by.items()} for c, by in asked.keys.items()},
        ),
        ("failures.json", failures),
    ):
        (target / path).write_bytes(
            msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1) + b"\n"
        )
    pack(bench, before, recorder.table, target / "workspace.zip")
    shutil.rmtree(home)


def kill(command: list[str], after: int) -> None:
    """Type a command in a process that is killed, as a machine that loses its power, when it makes its n-th request."""
    child = os.fork()
    if child == 0:
        prepare, made = Caller.prepare, itertools.count(1)

        def deadly(self: Caller, request: Request, stage: str) -> Any:
            if next(made) == after:
                os.kill(os.getpid(), signal.SIGKILL)
            return prepare(self, request, stage)

        Caller.prepare = deadly  # type: ignore[method-assign]
        print(run(*command))
        os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "it was not killed"


def snapshot(bench: Path) -> dict[str, bytes]:
    return {p.relative_to(bench).as_posix(): p.read_bytes() for p in sorted(bench.rglob("*")) if p.is_file()}


def vacuum(bench: Path) -> None:
    """Make databases small, and one file each."""
    for database in sorted(bench.rglob("*.sqlite")):
        for pragma in ("PRAGMA journal_mode=DELETE", "VACUUM"):
            connection = sqlite3.connect(database, isolation_level=None)
            connection.execute(pragma)
            connection.close()


def pack(bench: Path, before: dict[str, bytes], pictures: Table, target: Path) -> None:
    """Write a workspace as it is now, what of it was there before, and where that was different."""
    vacuum(bench)
    now = {p: d for p, d in snapshot(bench).items() if not p.endswith((".mp4", "-wal", "-shm", ".lock"))}
    now |= {p: b"" for p in snapshot(bench) if p.endswith(".mp4")}  # nobody opens them
    names = [p for p in before if p in now and not p.endswith(".mp4")]
    files = {f"bench/{p}": d for p, d in now.items()}
    files |= {f"before/{p}": before[p] for p in names if before[p] != now[p]}
    files["pictures.json"] = msgspec.json.encode(pictures, order="sorted")
    files["before.json"] = json.dumps(sorted(names), indent=1).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(files):
            archive.writestr(
                zipfile.ZipInfo(path, (2026, 11, 23, 0, 0, 0)), files[path], zipfile.ZIP_DEFLATED, 9
            )
    print(
        target.parent.name,
        target.stat().st_size,
        sum(p.stat().st_size for p in target.parent.rglob("*") if p.is_file()),
    )


def everyday(bench: Path, recordings: tuple[str, ...] = ("lamp_2", "lamp_4", "strips_4", "tea_2")) -> None:
    """Read a few recordings of the shipped sample, one of them slowed down, with tiny videos."""
    sample = copy_sample(bench.parent / "sample")
    for path in (sample / "recordings").iterdir():
        if path.stem not in recordings:
            path.unlink()
    slow = sample / "recordings" / "tea_2.json"

    def slowed(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {k: slowed(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [slowed(v) for v in value]
        return value * 1.6 if name in ("start", "end", "duration") and value is not None else value

    if slow.exists():
        slow.write_text(json.dumps(slowed(json.loads(slow.read_text()))))
    typed("read", "plain", sample, bench)
    typed("derive", bench)
    for name in recordings:
        make_grey_video(bench / "videos" / f"{name}.mp4", 150)


def moment(bench: Path) -> None:
    everyday(bench)
    typed("generate", bench, "--examples", 16, "--per-example", 1, "--seed", 2)
    typed("verify", bench)
    typed("build", bench)
    own_prompts(bench)
    make_grey_video(bench / "some-videos" / "lamp_2.mp4", 150)


def own_prompts(bench: Path) -> None:
    """Write a user's own templates: other words, the same names and variables."""
    from importlib.resources import files

    folder = bench / "prompts" / "evaluate"
    folder.mkdir(parents=True)
    for name in ("predict-recipe", "judge-binary"):
        text = (files("proctor.exam") / "prompts" / f"{name}.md.j2").read_text("utf-8")
        (folder / f"{name}.md.j2").write_text(text.rstrip() + "\n\nThese words are the user's own.\n")


def marks(bench: Path) -> None:
    write_marks(bench, bench / "marks.csv", share=0.7, seed=3)


def project(bench: Path) -> None:
    """A project of verification in the middle: machines' verdicts, three weeks of people's work, candidates that changed since."""
    everyday(bench)
    typed("generate", bench, "--examples", 48, "--seed", 2)
    typed("verify", bench)
    with played(bench, Recorder(), {}, lambda: False, 0.8):
        typed("verify", bench, "--verifier", "openai/gpt-4o")
        judges = (
            "-j",
            "anthropic/claude-sonnet-4-5",
            "-a",
            "openai/gpt-4o",
            "-a",
            "google/gemini-2.0-flash",
            "-a",
            "openai/gpt-4o-mini",
        )
        typed("filter", bench, *judges, "--on", "candidates")
    store_people.machines(bench)
    store_people.weeks(bench)
    typed("build", bench, "--accept", "humans")
    typed("predict", bench, "-p", "constant", "-p", "recipe-text")
    typed("judge", bench)
    store_people.changes(bench)


def people_hashes() -> None:
    """Write beside the project what its verdicts hang on."""
    with (
        tempfile.TemporaryDirectory() as home,
        zipfile.ZipFile(STORED / "people" / "workspace.zip") as archive,
    ):
        archive.extractall(home)
        found = store_people.hashes(Path(home) / "bench")
    (STORED / "people" / "hashes.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def annotated(bench: Path) -> None:
    """Write a few annotated videos, of several data sets, for each has prompts of its own."""
    sets = ("HiREST", "YouCook2", "goalstep", "egoexo4d", "COIN")
    rows = [row(n, steps=14 if n in (2, 3) else 5, dataset=name) for n, name in enumerate(sets)]
    write_rows(bench / "data", [*rows, row(7, steps=0)])
    for n in range(len(sets)):
        make_grey_video(bench / "videos" / f"vid{n:02}.mp4", 150 if n in (2, 3) else 60)


def library(bench: Path) -> None:
    """Write a small corpus of texts, tables and pictures as MultiModalQA does, with questions of its own."""
    from PIL import Image

    towns = ("Arlen", "Borga", "Calder", "Dunmore", "Esker", "Fennick")
    work = (
        "mills by the river",
        "bakeries near the harbour",
        "bridges of oak",
        "towers of stone",
        "schools for weavers",
        "wells",
    )
    files: dict[str, list[dict[str, Any]]] = {
        "MMQA_texts": [],
        "MMQA_tables": [],
        "MMQA_images": [],
        "MMQA_dev": [],
    }
    pictures = (
        bench / "docs"
    )  # pictures of data sets stay where they are, those of documents come into the corpus
    pictures.mkdir(parents=True)
    (bench / "data").mkdir()

    def ask(question: str, answers: tuple[str, ...], *needed: str) -> None:
        support = [
            {"doc_part": part, "doc_id": town} for part, _, town in (name.partition(":") for name in needed)
        ]
        files["MMQA_dev"].append(
            {"qid": f"q{len(files['MMQA_dev'])}", "question": question, "metadata": {"type": "TextQ" if len(support) == 1 else "Compose"},
             "answers": [{"answer": answer} for answer in answers], "supporting_context": support}
        )  # fmt: skip

    for n, (town, built) in enumerate(zip(towns, work, strict=True)):
        facts = " ".join(
            f"In {1203 + 37 * n + 11 * k} the council of {town} built {3 * n + k + 2} {built}."
            for k in range(4)
        )
        rows = [
            [f"{town} {part}", str(n * 17 + 5 * k + 3)] for k, part in enumerate(("east", "west", "port"))
        ]
        page = {"id": town, "title": town, "url": f"https://example.org/wiki/{town}"}
        grid = {
            "header": [{"column_name": "Ward"}, {"column_name": "Houses"}],
            "table_rows": [[{"text": c} for c in r] for r in rows],
        }
        files["MMQA_texts"].append(page | {"text": facts})
        files["MMQA_tables"].append(page | {"title": f"Wards of {town}", "table": grid})
        if n % 2 == 0:
            Image.new("RGB", (32, 24), (40 * n, 90, 200 - 30 * n)).save(pictures / f"{town} at dusk.png")
        if n == 1:  # an image without pixels, shown by words
            files["MMQA_images"].append(page | {"title": f"The harbour of {town}", "path": f"{town}.png"})
        ask(f"How many houses has the ward {town} west?", (rows[1][1],), f"table:{town}")
    ask(
        "Which councils built bridges of oak or towers of stone?",
        ("Calder", "Dunmore"),
        "text:Calder",
        "text:Dunmore",
    )
    for name, records in files.items():
        (bench / "data" / f"{name}.jsonl").write_text(
            "".join(json.dumps(record) + "\n" for record in records)
        )


def answering(cell: str) -> bool:
    """Only answers fail: pairs, filters and options wait for models that owe a reply."""
    return not cell.startswith(("pairs", "filter", "choices", "options", "corpus", "styled"))


def experiment(bench: Path) -> None:
    sample = copy_sample(bench / "sample")
    for path in (sample / "recordings").iterdir():
        if path.stem not in ("lamp_2", "tea_3"):
            path.unlink()


def pairs_experiment(bench: Path) -> None:
    write_rows(bench / "data", [row(n, steps=6) for n in range(3)])


MAKERS: dict[str, Callable[[], None]] = {
    "moment": lambda: fill("moment", moment, hooks={"calibrate": marks}, fail=answering),
    "asking": lambda: fill("asking", everyday, fail=answering),
    "clips": lambda: fill("clips", annotated, fail=answering),
    "documents": lambda: fill("documents", library, fail=answering),
    "experiment-moment": lambda: fill("experiment-moment", experiment, fail=lambda _: False, killed=42),
    "experiment-clips": lambda: fill("experiment-clips", pairs_experiment, fail=lambda _: False, killed=127),
    "experiment-documents": lambda: fill(
        "experiment-documents", library, fail=lambda _: False, killed=36, begun="--data {w}/data"
    ),
    "people": lambda: (fill("people", project), people_hashes())[0],
}

if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    for chosen in sys.argv[1:] or MAKERS:
        MAKERS[chosen]()
