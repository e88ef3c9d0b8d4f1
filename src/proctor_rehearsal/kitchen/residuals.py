"""``proctor capture residuals``: how far synchronisation is from the truth on simulated sensors, beside the published rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from proctor.capture.sync.clean import clean
from proctor.capture.sync.clock import Ints, fit_clock
from proctor.capture.sync.match import TICK_NS, match, published_match, tolerance_ns
from proctor.errors import UserError
from proctor.records import atomic_write, read_bytes
from proctor.report.grid import render_grid
from proctor_rehearsal.kitchen.settings import ResidualSettings
from proctor_rehearsal.kitchen.times import Faults, SensorTimes, sensor_times

__all__ = ["BEGIN", "END", "HEAD", "NOTE", "Residual", "residual_cells", "residuals", "write_residuals"]

BEGIN: Final = "<!-- proctor capture residuals --markdown: from here -->"
END: Final = "<!-- proctor capture residuals --markdown: to here -->"
HEAD: Final = (
    "stream", "rule", "error, median (ms)", "95 %", "greatest", "pairs > 100 ms apart", "frames without, wrongly", "paired",
)  # fmt: skip
NOTE: Final = (
    "Error: of the time that a sample is given, beyond the least delay, which no clock map can see without two-way probes (4 ms; 20 ms where "
    "delayed). The published rule has no map: its times are the raw ones of the device, and both devices get the same zero, as if they "
    "were one. Wrongly: a sample lies within the stream's tolerance in truth, and is not paired. Base: a clean camera at 30 Hz; the "
    "stream has 200 Hz. A jump of the host's wall clock touches neither rule: one reads monotonic times, the other the device's."
)
_FAR_NS: Final = 100_000_000
_PERIOD_NS: Final = 5_000_000


class Residual(msgspec.Struct, frozen=True, kw_only=True):
    """One rule on one faulty stream: error of times in ms (median, 95 %, greatest), and frames of the base by what became of them."""

    scenario: str
    rule: str
    error_ms: tuple[float, float, float]
    far: int
    missed: int
    paired: int


def _scenarios(seconds: float) -> Mapping[str, Faults]:
    usual, middle = 2.0, seconds / 2
    return {
        "clean": Faults(jitter_ms=usual),
        "40 ppm, 20 ms one-sided": Faults(drift_ppm=40, latency_ms=20, jitter_ms=usual),
        "delays of 20 ms more on average": Faults(jitter_ms=20),
        "gap of 8 s": Faults(jitter_ms=usual, gaps=((seconds * 4 / 9, 8),)),
        "0.1 % swapped": Faults(jitter_ms=usual, swaps=0.001),
        "1 % twice": Faults(jitter_ms=usual, duplicates=0.01),
        "device begins at 0 again": Faults(jitter_ms=usual, resets=(middle,)),
        "device jumps by −3 s": Faults(jitter_ms=usual, jumps=((middle, -3),)),
        "host's wall clock jumps by −3 s": Faults(jitter_ms=usual),
    }


def residuals(settings: ResidualSettings, *, seen: Callable[[], None] = lambda: None) -> list[Residual]:
    """Return two rows for each of nine streams: ours and the published rule; equal settings give equal rows."""
    found: list[Residual] = []
    for name, faults in _scenarios(settings.seconds).items():
        base = sensor_times(30, settings.seconds, Faults(jitter_ms=2), f"{settings.seed}/base")
        stream = sensor_times(200, settings.seconds, faults, f"{settings.seed}/{name}")
        found += [_ours(name, base, stream, faults), _published(name, base, stream)]
        seen()
    return found


def _ours(name: str, base: SensorTimes, stream: SensorTimes, faults: Faults) -> Residual:
    grid = clean(base.device_ns, fit_clock(base.device_ns, base.host_ns))
    mine = clean(stream.device_ns, fit_clock(stream.device_ns, stream.host_ns))
    found, _ = match(grid.host_ns, mine.host_ns, tolerance_ns(mine.period_ns, _FAR_NS))
    error = mine.host_ns - stream.true_ns[mine.rows] - round(faults.latency_ms * 1e6)
    return _row(name, "ours", error, base, stream, np.where(found >= 0, mine.rows[found], -1))


def _published(name: str, base: SensorTimes, stream: SensorTimes) -> Residual:
    found = published_match(base.device_ns // TICK_NS, stream.device_ns // TICK_NS)
    return _row(name, "published", stream.device_ns - stream.true_ns, base, stream, found)


def _row(name: str, rule: str, error: Ints, base: SensorTimes, stream: SensorTimes, found: Ints) -> Residual:
    truth, good = np.sort(stream.true_ns), found >= 0
    near = match(base.true_ns, truth, tolerance_ns(_PERIOD_NS, _FAR_NS))[0] >= 0
    far = np.abs(stream.true_ns[found] - base.true_ns) > _FAR_NS
    median, high, most = (float(q) / 1e6 for q in np.quantile(np.abs(error), (0.5, 0.95, 1.0)))
    return Residual(
        scenario=name, rule=rule, error_ms=(median, high, most), far=int((good & far).sum()),
        missed=int((near & ~good).sum()), paired=int(good.sum()),
    )  # fmt: skip


def residual_cells(rows: Sequence[Residual]) -> list[tuple[str, ...]]:
    """Return the cells of a table with ``HEAD``."""
    return [(r.scenario, r.rule, *(f"{e:,.3f}" for e in r.error_ms), f"{r.far:,}", f"{r.missed:,}", f"{r.paired:,}") for r in rows]  # fmt: skip


def write_residuals(settings: ResidualSettings, rows: Sequence[Residual]) -> None:
    """Write the table into the page ``settings.markdown``, between its marks; a new page has nothing else.

    Raises:
        UserError: if the page has no such marks, or cannot be written.
    """
    if (path := settings.markdown) is None:
        return
    text = read_bytes(path).decode("utf-8", "surrogateescape") if path.exists() else f"{BEGIN}{END}\n"
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        hint = f"write the lines '{BEGIN}' and '{END}' where it belongs, or name a new file"
        raise UserError("the page has no place for the table.", where=str(path), hint=hint)
    before, _, rest = text.partition(BEGIN)
    table = render_grid(HEAD, residual_cells(rows), "markdown", text_columns=2)
    about = f"{settings.seconds:g} s, seed {settings.seed}. {NOTE}"
    with atomic_write(path) as stream:
        stream.write(
            f"{before}{BEGIN}\n\n{table}\n{about}\n\n{END}{rest.partition(END)[2]}".encode(
                "utf-8", "surrogateescape"
            )
        )
