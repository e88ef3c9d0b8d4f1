"""One client in a process of its own, so that its CPU time and memory are its own: used by ``calls.py``.

Asks the stand-in ``count`` questions with so many in flight, after a warm-up that opens the connections, and prints one
JSON object. Only what the client itself needs is imported, so that inspect_ai can run from another environment.

Usage: python clients.py '{"client": "proctor", "url": "http://…", "count": 1000, "in_flight": 100, "images": 0}'
"""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

IMAGE_BYTES = 60 * 1024
TEXT = "what should I do next, and why do you think so? " * 10
PRICES = '[prices."compat/*"]\ninput = 1.0\noutput = 2.0\n'


def question(number: int) -> str:
    """Return a text of half a kilobyte that no other question shares."""
    return f"Question {number}: {TEXT}"


def pictures(count: int) -> list[bytes]:
    """Return as many pictures of 60 KB (noise: nobody decodes them)."""
    return [random.Random(number).randbytes(IMAGE_BYTES) for number in range(count)]


def chat(number: int, urls: list[str]) -> list[dict[str, Any]]:
    """Return the messages of a question as OpenAI's protocol has them."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": question(number)}]
    parts += [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return [{"role": "user", "content": parts}]


def data_urls(count: int) -> list[str]:
    """Return pictures as they stand in a body; every question shares them."""
    return ["data:image/jpeg;base64," + base64.b64encode(data).decode() for data in pictures(count)]


class Clock:
    """CPU seconds of all threads, wall seconds, waiting for a core and peak memory since ``start``."""

    def start(self) -> None:
        gc.collect()
        self.memory = resident()
        self.delay = delayed()
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def stop(self) -> dict[str, float]:
        wall, cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {
            "wall": wall,
            "cpu": cpu,
            "delay": delayed() - self.delay,
            "peak_mb": peak,
            "before_mb": self.memory,
        }


def delayed() -> float:
    """Return the seconds that this thread was ready to run and got no core: what others on the machine cost it."""
    return int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9


def resident() -> float:
    """Return the memory of this process now, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


# -- Proctor -------------------------------------------------------------------------------------------------------


class OurClient:
    """A caller with everything on: store on disk, flow, prices, three limits."""

    def __init__(self, folder: Path, in_flight: int) -> None:
        from proctor.llm.budget import Budget
        from proctor.llm.caller import Caller
        from proctor.llm.flow import Flow, FlowSettings, Limits
        from proctor.llm.media import MediaStore
        from proctor.llm.store import CallStore

        (folder / "prices.toml").write_text(PRICES)
        os.environ["PROCTOR_PRICES"] = str(folder / "prices.toml")
        limits = Limits(concurrency=in_flight, max_concurrency=in_flight)
        self.media = MediaStore(folder / "media")
        self.reads = 0
        get = self.media.get

        def counted(sha256: str) -> bytes:
            self.reads += 1  # a picture is read when its base64 text is made, and only then
            return get(sha256)

        self.media.get = counted  # type: ignore[method-assign]
        self.store = CallStore.open(folder / "calls.sqlite")
        self.budget = Budget(max_cost="1000000", max_calls=10**8, max_tokens=10**12)
        self.caller = Caller(
            self.store,
            self.media,
            Flow(FlowSettings(limits=limits)),
            self.budget,
            concurrency=max(512, 2 * in_flight),
        )

    def requests(self, url: str, numbers: range, images: int) -> Iterator[Any]:
        """Yield requests as a stage makes them, one after the other."""
        from proctor.llm.message import Parameters, Request, user

        parameters = Parameters(temperature=0.0, max_tokens=256)
        data = pictures(images)
        for number in numbers:
            parts = [
                self.media.image(f"frame {k}", lambda k=k: (data[k], 640, 360))  # type: ignore[misc]
                for k in range(images)
            ]
            yield Request(
                model=f"compat/m@{url}/v1",
                messages=(user(question(number), *parts),),
                parameters=parameters,
            )


def proctor(job: dict[str, Any], folder: Path, clock: Clock) -> int:
    """From a generator of requests to stored outcomes, in one event loop."""
    from contextlib import aclosing

    from proctor.llm.blocking import new_event_loop
    from proctor.llm.outcome import Reply

    gc.set_threshold(50_000, 20, 50)  # as the commands have it
    ours = OurClient(folder, job["in_flight"])

    async def run(numbers: range) -> int:
        right = 0
        requests = ours.requests(job["url"], numbers, job["images"])
        async with aclosing(ours.caller.ask_all(requests, stage="predict")) as results:
            async for _, outcome in results:
                right += isinstance(outcome, Reply) and bool(outcome.text)
        return right

    async def main() -> int:
        try:
            return await measured(job, clock, run)
        finally:
            await ours.caller.close()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        right = runner.run(main())
    job.update(commits=ours.store.lane.commits, encoded=ours.media.encoded, reads=ours.reads)
    assert ours.budget.spent.calls == job["count"] + job["warm"]
    assert ours.budget.spent.cost > 0
    ours.store.close()
    return right


def stage(job: dict[str, Any], folder: Path, clock: Clock) -> int:
    """As a stage does it: the facade for ordinary code, no warm-up, memory looked at on the way."""
    from proctor.llm.blocking import run_calls
    from proctor.llm.outcome import Reply

    ours = OurClient(folder, job["in_flight"])
    requests = ours.requests(job["url"], range(job["count"]), job["images"])
    samples: list[float] = []
    right = 0
    clock.start()
    for number, (_, outcome) in enumerate(run_calls(ours.caller, requests, stage="predict"), start=1):
        right += isinstance(outcome, Reply) and bool(outcome.text)
        if number % job["sample_every"] == 0:
            samples.append(round(resident(), 1))
    job.update(clock.stop(), samples=samples)
    ours.store.close()
    return right


def fill(job: dict[str, Any], folder: Path, clock: Clock) -> int:
    """Store calls as if they had been made, for ``resume``; the folder stays."""
    from proctor.llm.outcome import AttemptRecord, Reply, Usage
    from proctor.llm.store import StoredCall
    from proctor.records import canonical_json

    ours = OurClient(folder, 1)
    outcome = canonical_json(Reply(text="Whisk the eggs. " * 12, usage=Usage(input=150, output=60))).decode()
    tries = (AttemptRecord(number=1, started=1.0, seconds=0.2, outcome="reply"),)

    def calls() -> Iterator[Any]:
        for request in ours.requests(job["url"], range(job["count"]), 0):
            call = StoredCall(
                key=request.key, model=request.model, stage="predict", kind="reply", created=1.0, seconds=0.2,
                input=150, output=60, cached=None, cost=270_000, outcome=outcome, request=canonical_json(request).decode(),
            )  # fmt: skip
            yield call, tries

    clock.start()
    new = ours.store.put(calls())
    job.update(clock.stop())
    ours.store.close()
    return new


def resume(job: dict[str, Any], folder: Path, clock: Clock) -> int:
    """Ask again for what is all stored: from nothing open to the last outcome."""
    from proctor.llm.outcome import Reply

    made = OurClient(folder, 1)
    requests: Any = made.requests(job["url"], range(job["count"]), 0)
    made.store.close()
    if job["ready"]:
        requests = list(requests)
    gc.collect()
    clock.start()
    ours = OurClient(folder, 100)

    async def main() -> int:
        right = 0
        async for _, outcome in ours.caller.ask_all(requests, stage="predict"):
            right += isinstance(outcome, Reply) and bool(outcome.text)
        return right

    right = asyncio.run(main())
    job.update(clock.stop())
    assert ours.caller.tally.sent == 0
    ours.store.close()
    return right


# -- others --------------------------------------------------------------------------------------------------------


async def measured(job: dict[str, Any], clock: Clock, run: Callable[[range], Awaitable[int]]) -> int:
    """Warm up, then measure."""
    assert await run(range(-job["warm"], 0)) == job["warm"]
    clock.start()
    right = await run(range(job["count"]))
    job.update(clock.stop())
    return right


def aiohttp_client(job: dict[str, Any], folder: Path, clock: Clock) -> int:
    """Nothing but the transport: workers, ``session.post(json=…)``, the reply's JSON."""
    import aiohttp

    urls = data_urls(job["images"])

    async def main() -> int:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=job["in_flight"])) as session:

            async def run(numbers: range) -> int:
                todo = iter(numbers)
                right = 0

                async def worker() -> None:
                    nonlocal right
                    for number in todo:
                        body = {
                            "model": "m",
                            "messages": chat(number, urls),
                            "temperature": 0.0,
                            "max_tokens": 256,
                        }
                        async with session.post(job["url"] + "/v1/chat/completions", json=body) as reply:
                            reply.raise_for_status()
                            right += bool((await reply.json())["choices"][0]["message"]["content"])

                await asyncio.gather(*(worker() for _ in range(job["in_flight"])))
                return right

            return await measured(job, clock, run)

    return asyncio.run(main())


def openai_client(job: dict[str, Any], folder: Path, clock: Clock) -> int:
    """The SDK as its users write it: a task a question, a semaphore around the call."""
    from openai import AsyncOpenAI

    urls = data_urls(job["images"])

    async def main() -> int:
        # (its own limit on connecting, 5 s, is reached on two cores with hundreds of large requests in flight)
        address = job["url"] + "/v1"
        async with AsyncOpenAI(base_url=address, api_key="standin", max_retries=0, timeout=600.0) as client:
            gate = asyncio.Semaphore(job["in_flight"])

            async def one(number: int) -> bool:
                async with gate:
                    messages: Any = chat(number, urls)
                    reply = await client.chat.completions.create(
                        model="m", messages=messages, temperature=0.0, max_tokens=256
                    )
                    return bool(reply.choices[0].message.content)

            async def run(numbers: range) -> int:
                return sum(await asyncio.gather(*(one(number) for number in numbers)))

            return await measured(job, clock, run)

    return asyncio.run(main())


def inspect_client(job: dict[str, Any], folder: Path, clock: Clock) -> int:
    """An evaluation of inspect_ai with the plain solver and no scorer; its log is its durable store."""
    os.environ.update(STANDIN_API_KEY="standin", STANDIN_BASE_URL=job["url"] + "/v1")
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
    from inspect_ai.solver import generate

    urls = data_urls(job["images"])

    def run(numbers: range) -> int:
        samples = [
            Sample(
                input=[
                    ChatMessageUser(
                        content=[ContentText(text=question(n)), *(ContentImage(image=url) for url in urls)]
                    )
                ]
            )
            for n in numbers
        ]
        (log,) = eval(
            Task(dataset=MemoryDataset(samples), solver=generate()),
            model="openai-api/standin/m",
            max_connections=job["in_flight"],
            max_samples=job["in_flight"],
            temperature=0.0,
            max_tokens=256,
            display="none",
            log_dir=str(folder),
            log_images=False,
        )
        assert log.status == "success", log.error
        return sum(bool(sample.output.completion) for sample in log.samples or ())

    assert run(range(-job["warm"], 0)) == job["warm"]
    clock.start()
    right = run(range(job["count"]))
    job.update(clock.stop())
    return right


CLIENTS: dict[str, Callable[[dict[str, Any], Path, Clock], int]] = {
    "proctor": proctor,
    "stage": stage,
    "fill": fill,
    "resume": resume,
    "aiohttp": aiohttp_client,
    "openai": openai_client,
    "inspect": inspect_client,
}


def main() -> None:
    """Do the job of the first argument and print it with what was measured."""
    job = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        job["right"] = CLIENTS[job["client"]](job, Path(job.get("folder") or folder), Clock())
    print(json.dumps(job))


if __name__ == "__main__":
    main()
