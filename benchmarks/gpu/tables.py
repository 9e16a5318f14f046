"""The figures of the programme as tables in Markdown, for the pages."""

from collections.abc import Iterator, Mapping
from typing import Any

Figures = Mapping[str, Mapping[str, Any]]


def tables(found: Figures) -> str:
    training = {name: each for name, each in found.items() if "mfu" in each}
    engines = {name: each for name, each in found.items() if "callers" in each}
    return "\n".join([*_training(training), *_engines(engines)])


def _training(found: Figures) -> Iterator[str]:
    if not found:
        return
    yield "| training | parameters, trained | tokens/s | TFLOP/s | MFU | of a bare matrix product | memory |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, each in found.items():
        mfu = "unknown chip" if each["mfu"] is None else f"{each['mfu']:.1%}"
        yield (
            f"| {_spoken(name)}, {each['device']} | {each['parameters'] / 1e9:.2f}, {each['trained'] / 1e9:.3f} "
            f"thousand million | {each['tokens_per_second']:,} | {each['tflops']:,.0f} | {mfu} "
            f"| {each['of_product']:.1%} | {each['memory_mib']['gpu'] / 1024:.1f} GiB |"
        )
    yield ""


def _engines(found: Figures) -> Iterator[str]:
    if not found:
        return
    yield "| engine | callers | tokens/s | bare | share | first token | bare |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name, each in found.items():
        for callers, rates in each["callers"].items():
            cells = [f"{_spoken(name)}, {each['device']}", callers, *_rates(rates)]
            yield f"| {' | '.join(cells)} |"
    yield ""
    for name, each in found.items():
        adapters, reading = each["adapters"], each["reading"]
        yield (
            f"* {_spoken(name)}: ready after {each['start_seconds']:.0f} s; an adapter replaced {adapters['replaced']} "
            f"times under {adapters['callers']} callers, {adapters['replaced_seconds']['median']:.1f} s each, "
            f"no call lost, {adapters['tokens_per_second']:,.0f} tokens/s meanwhile; "
            f"{reading['tokens_per_second']['median']:,.0f} tokens/s read of prompts of {reading['prompt_tokens']:,}, "
            "none of them cached"
        )


def _rates(rates: Mapping[str, Any]) -> list[str]:
    ours, bare = rates["ours"], rates.get("bare")
    return [
        _rate(ours),
        _rate(bare) if bare else "",
        f"{rates['over_bare']['median']:.2f}" if bare else "",
        _first(ours),
        _first(bare) if bare else "",
    ]


def _rate(measured: Mapping[str, Any]) -> str:
    return f"{measured['tokens_per_second']['median']:,.0f}"


def _first(measured: Mapping[str, Any]) -> str:
    return f"{measured['first_token_ms']['median']:,.0f} ms"


def _spoken(name: str) -> str:
    return name.replace("_", " ")
