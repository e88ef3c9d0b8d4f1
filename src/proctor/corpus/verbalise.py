"""Pictures put into words by a model that sees them and their captions, once for each picture (SMMQG).

The description is part of an image's rendering, so that embedders, BM25 and models without eyes can use it. Whatever is asked is
kept in the call store under the hash of its request: a second run asks nothing again. Pictures that cannot be shown, and replies
that are no description, are listed with their reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from proctor.corpus.collection import Corpus, has_words
from proctor.corpus.picture import PICTURE_REASONS, PictureError, read_picture
from proctor.corpus.source import Source
from proctor.errors import UserError
from proctor.llm.fence import FenceSecret
from proctor.llm.media import MediaStore
from proctor.llm.message import Image, Parameters, Request
from proctor.llm.outcome import Ask, Outcome, Reply, why_incomplete
from proctor.llm.prompt import PromptSet
from proctor.llm.replying import Replying
from proctor.records import Dropped

__all__ = [
    "VERBALISING",
    "Verbalisation",
    "Verbalised",
    "Verbaliser",
    "corpus_prompts",
]

VERBALISING: Final = Parameters(temperature=0.0, max_tokens=512)
"""Parameters of the calls: SMMQG names none; greedy, so that a description is one."""
WORDS: Final = 150

_TEMPLATE: Final = "verbalise"
_LIMIT: Final = 8_000
"""Characters of a description; a longer one is a model that has lost itself."""


def corpus_prompts(own: Path | None = None) -> PromptSet:
    """Return the templates of this room, the user's own in place of ours where there are any."""
    return PromptSet("corpus", Path(__file__).parent / "prompts", own)


class Verbalisation(msgspec.Struct, frozen=True, kw_only=True):
    """How many images came how far.

    Attributes:
        images: in the corpus.
        described: that had a description before and were not asked about.
        shown: whose pixels could be read.
        pictures: different ones among these; so many calls were asked for.
        verbalised: images that got a description now.
    """

    images: int = 0
    described: int = 0
    shown: int = 0
    pictures: int = 0
    verbalised: int = 0


@dataclass(frozen=True, slots=True)
class Verbalised:
    """A corpus with descriptions.

    Attributes:
        corpus: with what could be described; without what ``dropped`` lists.
        dropped: images that left the corpus: their file is no image that can be shown, or nothing at all is known of them in
            words. Duplicates for which they stood are listed with them.
        left: images that stay with their caption alone, and why.
        counts: how many came how far.
    """

    corpus: Corpus
    dropped: tuple[Dropped, ...]
    left: tuple[Dropped, ...]
    counts: Verbalisation


@dataclass(frozen=True, slots=True)
class Verbaliser:
    """A model that describes pictures.

    Attributes:
        model: full name.
        prompts: templates of the room ``corpus`` (``corpus_prompts``).
        secret: of the workspace, for fences.
        media: takes the pictures.
        words: that a description has at most.
        again: describe also what has a description.
        parameters: of the calls.
        replying: what the user says of replies, over the protocol.

    Raises:
        UserError: if the number of words makes no sense.
    """

    model: str
    prompts: PromptSet
    secret: FenceSecret
    media: MediaStore
    words: int = WORDS
    again: bool = False
    parameters: Parameters = field(default_factory=lambda: VERBALISING)
    replying: Replying = field(default_factory=Replying)

    def __post_init__(self) -> None:
        if not 10 <= self.words <= 1_000:
            raise UserError(
                f"descriptions of at most {self.words} words cannot be asked for.", hint="10 to 1,000"
            )

    def verbalise(self, corpus: Corpus, ask: Ask) -> Verbalised:
        """Describe the images of a corpus.

        Args:
            corpus: its images have pixels where ``corpus.pixels`` finds them.
            ask: makes the calls.

        Raises:
            MissingExtraError: if Pillow is not installed.
        """
        shown = _Shown()
        said = {request.key: outcome for request, outcome in ask(self._requests(corpus, shown))}
        stay, dropped, left = _settled(
            corpus, self._wanted, lambda source: self._described(source, shown, said)
        )
        images, asked = corpus.counts()["image"], sum(map(self._wanted, corpus))
        failed = {entry.id for entry in (*dropped, *left)}
        counts = Verbalisation(
            images=images,
            described=images - asked,
            shown=len(shown.key_of),
            pictures=len(shown.details),
            verbalised=sum(self._wanted(source) and source.id not in failed for source in corpus),
        )
        return Verbalised(_without(corpus, stay, dropped), tuple(dropped), tuple(left), counts)

    def requests(self, corpus: Corpus) -> Iterator[Request]:
        """Yield the requests without sending any, for estimates."""
        return self._requests(corpus, _Shown())

    def _wanted(self, source: Source) -> bool:
        return source.modality == "image" and (self.again or not source.verbalisation)

    def _requests(self, corpus: Corpus, shown: _Shown) -> Iterator[Request]:
        for source in corpus:
            if not self._wanted(source):
                continue
            path = corpus.pixels(source)
            if path is None:
                shown.missing[source.id] = corpus.why_no_pixels(source)
                continue
            try:
                picture = read_picture(path)
            except PictureError as error:
                shown.broken[source.id] = Dropped(source.id, error.reason, f"{source.image}: {error.detail}")
                continue
            name = shown.first.setdefault(picture.file_sha256, source.id)
            if name != source.id:
                shown.key_of[source.id] = shown.key_of[name]
                continue
            image = Image(self.media.add(picture.data), picture.mime, picture.width, picture.height)
            template = self.prompts[_TEMPLATE]
            rendered = template.render(self.secret, caption=source.caption or None, words=self.words)
            request = Request(
                model=self.model,
                messages=rendered.with_media((image,)),
                parameters=self.replying.over(self.parameters, self.model, "verbaliser"),
            )
            key = shown.key_of[source.id] = request.key
            if key not in shown.details:  # two files may be one picture once they are encoded
                shown.details[key] = rendered.details
                yield request

    def _described(self, source: Source, shown: _Shown, said: Mapping[str, Outcome]) -> Source | Dropped:
        """Return an image with what was said of it, or why nothing was."""
        if source.id in shown.broken:
            return shown.broken[source.id]
        if source.id in shown.missing:
            return Dropped(source.id, "no_pixels", shown.missing[source.id])
        key = shown.key_of.get(source.id, "")
        outcome = said.get(key)
        why = _why_not(outcome)
        if why is not None or not isinstance(outcome, Reply):
            return Dropped(source.id, *(why or ("no_description", "")))
        own = {name: value for name, value in source.meta.items() if not name.startswith("verbalis")}
        meta = own | self._meta(key, shown.details[key], outcome)
        return msgspec.structs.replace(source, verbalisation=_tidied(outcome.text), meta=meta)

    def _meta(self, key: str, details: Mapping[str, str], reply: Reply) -> dict[str, str]:
        """Return where a description is from; nothing in it depends on when or how often it was asked for."""
        found = {f"verbalisation_{name}": value for name, value in details.items()}
        found |= {"verbalised_by": self.model, "verbalisation_request": key[:16]}
        return found | ({"verbalisation_model": reply.model} if reply.model else {})


# -- what became of it -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Shown:
    """What was found out about images on the way."""

    missing: dict[str, str] = field(default_factory=dict)
    broken: dict[str, Dropped] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)
    key_of: dict[str, str] = field(default_factory=dict)
    details: dict[str, Mapping[str, str]] = field(default_factory=dict)


def _settled(
    corpus: Corpus, wanted: Callable[[Source], bool], describe: Callable[[Source], Source | Dropped]
) -> tuple[list[Source], list[Dropped], list[Dropped]]:
    """Return what stays, what leaves the corpus and what stays without a description."""
    stay: list[Source] = []
    dropped: list[Dropped] = []
    left: list[Dropped] = []
    for source in corpus:
        found = describe(source) if wanted(source) else source
        if isinstance(found, Source):
            known, why = found, None
        else:
            known, why = source, found
        if why is not None and why.reason in PICTURE_REASONS:
            dropped.append(why)
        elif not has_words(known):
            dropped.append(why or Dropped(source.id, "empty", f"the {source.modality} has no word"))
        else:
            stay.append(known)
            if why is not None:
                left.append(why)
    return stay, dropped, left


def _without(corpus: Corpus, stay: Sequence[Source], dropped: list[Dropped]) -> Corpus:
    """Return the corpus of what stays, and list the duplicates of what does not."""
    gone = {entry.id: entry.reason for entry in dropped}
    aliases = {}
    for id, kept in corpus.aliases.items():
        if kept in gone:
            dropped.append(Dropped(id, gone[kept], f"the same as '{kept}', which was left out"))
        else:
            aliases[id] = kept
    return Corpus(stay, corpus.root, aliases)


def _why_not(outcome: Outcome | None) -> tuple[str, str] | None:
    """Return reason and detail for what is no description; None for one."""
    if outcome is None:
        return "not_asked", "the calls ended before its turn"
    if not isinstance(outcome, Reply):
        return why_incomplete(outcome)
    text = _tidied(outcome.text)
    if not any(map(str.isalnum, text)):
        return "no_description", "the model replied nothing"
    if text.strip(".!\"'*` ").casefold() == "none":
        return "nothing_shown", "the model recognises nothing"
    if len(text) > _LIMIT:
        return "too_long", f"{len(text):,} characters, at most {_LIMIT:,} are a description"
    return None


def _tidied(text: str) -> str:
    """One paragraph, without half characters, which no file can hold."""
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
