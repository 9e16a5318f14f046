"""Draws how conversations go and what generating them took, each with a one-line summary."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from html import escape

from soliloquy.dataset.answer_fates import SENT_BACK, TAKEN_BACK
from soliloquy.dataset.card import evaluations_in, response_meanings, responses_of, thing
from soliloquy.dataset.durations import BINS_A_DECADE, Durations, Histogram, bin_start, quantile
from soliloquy.dataset.figures import all_figures
from soliloquy.dataset.manner import REACTIONS, Manner
from soliloquy.dataset.report.findings import Findings
from soliloquy.dataset.report.plots import (
    Axes,
    Bar,
    bars,
    card,
    curves,
    most,
    round_ticks,
    rows,
    shares,
    short,
)
from soliloquy.dataset.statistics import LETTERS, Statistics
from soliloquy.dataset.tables import share
from soliloquy.recipes.labels import columns_of

_WORDS_A_BIN, _MOST_WORDS = 4, 100
_BINS_A_BAR = BINS_A_DECADE // 8
_POINTS = 40
# The most frequent acts of the tutor.
_MOST_ACTS = 6
# A shorter run mostly starts and stops: its throughput says nothing.
_LONG_ENOUGH = 60
_ANSWERS = {
    "strict": "as asked for",
    "repaired": "that were repaired",
    "reasked": "asked for again",
    "failed": "given up",
    "refused": "refused by the model",
    "filtered": "stopped by a content filter",
    "cut_off": "cut off",
    "empty": "without words",
}


def conversations(found: Findings) -> Iterator[str]:
    kept = found.accepted
    if kept.words:
        yield _lengths(kept)
    for own in all_figures(kept, found.rejected):
        for plot in own.plots(kept, found.rejected):
            yield card(plot.title, plot.gist, bars(shares(plot.bars, plot.whole)))
    if kept.words:
        yield _words(kept)
        yield from _manner(kept.manner)
    if kept.responses:
        yield _responses(kept)
    if kept.intents or kept.personas:
        yield _student(kept)
    yield from _labels(kept)


def running(found: Findings) -> Iterator[str]:
    kept, durations = found.accepted, found.durations
    if kept.statuses:
        yield _programs(kept)
    if durations.programs:
        yield _times(durations)
    if kept.tokens:
        yield _model(kept, durations)
    if kept.mending.sent_back:
        yield _mending(kept)
    both = {
        name: kept.token_lengths[name] + found.rejected.token_lengths[name]
        for name in kept.token_lengths | found.rejected.token_lengths
    }
    if lengths := {name: bins for name, bins in both.items() if bins}:
        yield _tokens(lengths)
    if durations.seconds >= _LONG_ENOUGH:
        yield _throughput(durations, thing(kept))


def duration_text(seconds: float) -> str:
    """Formats a duration in a suitable unit: 1.4 ms, 38 s, 2 h 5 min."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_over = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes_over, "min")] if hours else [(minutes, "min"), (rest, "s")]
    return " ".join(f"{number:,} {unit}" for number, unit in parts if number)


def _lengths(kept: Statistics) -> str:
    shortest, longest = min(kept.lengths), max(kept.lengths)
    gist = f"{kept.turns / kept.conversations:.1f} on average, {shortest} to {longest}; {kept.pairs:,} pairs in all"
    step = -(-(longest - shortest + 1) // 12)
    counted = {f"{kept.conversations:,} conversations": [(turns - 0.5, n) for turns, n in sorted(kept.lengths.items())]}
    ticks = range(shortest, longest + 1, step)
    axes = Axes("conversations", "turns", lambda at: f"{at + 0.5 if at % 1 else at:.0f}", ticks)
    return card("Length", gist, rows(counted, axes, width=1))


def _throughput(durations: Durations, things: str) -> str:
    seconds = durations.seconds
    width = -(-seconds // _POINTS)
    binned: Counter[int] = Counter()
    for second, count in durations.running.items():
        binned[second // width] += count
    units = ((86_400, "days"), (3_600, "hours"), (60, "minutes"), (1, "seconds"))
    size, unit = next((size, unit) for size, unit in units if seconds >= 2 * size or size == 1)
    # Leaves out the last bin, which is incomplete unless it is the only one.
    whole = max(seconds // width, 1)
    points = [(place * width / size, binned[place] / width) for place in range(whole)]
    points.append((whole * width / size, points[-1][1]))
    axes = Axes(
        f"{things} a second", unit, lambda at: f"{at:g}", round_ticks(0, points[-1][0], 6, counted=False), counted=False
    )
    gist = f"{durations.per_second:.3g} a second over {duration_text(seconds)}"
    return card("Throughput", gist, curves([points], axes))


def _words(kept: Statistics) -> str:
    lines = []
    for speaker in ("tutor", "student"):
        binned: Counter[int] = Counter()
        for (who, words), count in kept.words.items():
            if who == speaker:
                binned[min(words, _MOST_WORDS) // _WORDS_A_BIN] += count
        lines.append([(place * _WORDS_A_BIN, binned[place]) for place in range(max(binned, default=0) + 2)])
    end = max(line[-1][0] for line in lines)
    plot = curves(lines, Axes("utterances", "words", lambda at: f"{at:.0f}", round_ticks(0, end, 6)))
    gist = (
        f"tutor {kept.words_per_utterance('tutor'):.1f}, student {kept.words_per_utterance('student'):.1f} on average; "
        f"bigram entropy {kept.bigram_entropy:.2f}, uptake {kept.uptake:.2f}"
    )
    return card("Words per utterance", gist, plot + '<p class="legend"><span>tutor</span><span>student</span></p>')


def _manner(found: Manner) -> Iterator[str]:
    if not (figures := found.figures()):
        return
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in figures)
    gist = f"in the first {len(found.talks):,} conversations; runs of words are compared within ten of them"
    yield card("How they talk", gist, f"<dl>{listed}</dl>", wide=True)
    acts = sorted(found.after().items(), key=lambda row: -row[1].total())[:_MOST_ACTS]
    body = "".join(
        bars(shares({name: did[name] for name in REACTIONS if did[name]}, did.total()), title=f"{act}: {did.total():,}")
        for act, did in acts
    )
    if body:
        gist = "after each act of the tutor: the message holds a number, asks, or neither"
        yield card("What students do next", gist, body)


def _programs(kept: Statistics) -> str:
    whole = kept.statuses.total()
    failed = bars(shares(most(kept.errors), whole, faults=True), title="Failed with")
    tries, first = kept.attempts.total(), kept.attempts[1]
    ran = bars(shares({"ran at the first attempt": first}, tries), title=f"Of {tries:,} calculations") if tries else ""
    return card("Programs", f"ran: {share(kept.statuses['ok'], whole)}", failed + ran)


def _times(durations: Durations) -> str:
    taken = {f"{lane or 'any'} lane": bins for lane, bins in durations.executions.items() if bins}
    half, slowest = (duration_text(quantile(durations.programs, part)) for part in (0.5, 0.99))
    waited = duration_text(quantile(durations.waits, 0.5)) if durations.waits else "0 s"
    gist = f"half within {half}, 99 % within {slowest}; {waited} of waiting before"
    ordered = dict(sorted(taken.items(), key=lambda row: -row[1].total()))
    return card("Time per program", gist, _spread(ordered, duration_text, "programs", "time in the sandbox"))


def _tokens(lengths: Mapping[str, Histogram]) -> str:
    gist = (
        f"99 % of the calls read at most {quantile(lengths['read by a call'], 0.99):,.0f}"
        if "read by a call" in lengths
        else ""
    )
    return card("Lengths in tokens", gist, _spread(lengths, lambda tokens: short(round(tokens)), "calls", "tokens"))


def _spread(binned: Mapping[str, Histogram], told: Callable[[float], str], of: str, unit: str) -> str:
    """Draws histograms over one logarithmic axis."""
    drawn: dict[str, Histogram] = {}
    for name, histogram_of in binned.items():
        half = told(quantile(histogram_of, 0.5))
        bins = drawn[f"{name}: {histogram_of.total():,}, half within {half}"] = Counter()
        for place, count in histogram_of.items():
            bins[place // _BINS_A_BAR] += count
    first, last = min(map(min, drawn.values())), max(map(max, drawn.values()))
    ticks = [place for place in range(first, last + 2) if place % (BINS_A_DECADE // _BINS_A_BAR) == 0]
    axes = Axes(of, unit, lambda at: told(bin_start(at * _BINS_A_BAR)), ticks)
    return rows({name: sorted(bins.items()) for name, bins in drawn.items()}, axes, width=1)


def _responses(kept: Statistics) -> str:
    """A table of evaluations and responses; darker cells are more frequent."""
    words = evaluations_in(kept.responses)
    most, responses, meanings = max(kept.responses.values()), responses_of(kept), response_meanings(kept)
    # Words need more room than numbers.
    named = "" if all(map(str.isdecimal, responses)) else ' class="named"'
    head = "".join(_code("col", LETTERS[word], kept.recipe.evaluations[LETTERS[word]]) for word in words)
    rows = "".join(
        f"<tr>{_code('row', response, meanings.get(response, ''))}"
        f"{''.join(_cell(kept.responses[word, response], most) for word in words)}</tr>"
        for response in responses
    )
    body = (
        '<div class="scroll" tabindex="0" role="region" aria-label="Evaluations and responses">'
        f"<table{named}><thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
    gist = "Columns: the evaluation of a message. Rows: the tutor's response."
    return card("The tutor's response to a message", gist, body, wide=True)


def _code(scope: str, code: str, meaning: str) -> str:
    return f'<th scope="{scope}"><b>{escape(code)}</b><span class="meaning">{escape(meaning)}</span></th>'


def _cell(count: int, most: int) -> str:
    """Picks one of five shades by the square root of the share, so that rare values stay visible."""
    return (
        f'<td class="heat{max(1, round((count / most) ** 0.5 * 5))}" title="{count:,}">{short(count)}</td>'
        if count
        else '<td class="none"></td>'
    )


def _student(kept: Statistics) -> str:
    rules = Counter({rule: count for (role, rule), count in kept.mending.sent_back.items() if role == "student"})
    tries = kept.utterances("student") + rules.total()
    body = bars(shares(most(kept.personas)), title="Who it is")
    body += bars(shares(most(kept.tutors)), title="Who its tutor is")
    title = "Messages that showed something else than they should"
    body += bars(shares(most(rules), tries, faults=True), title=title)
    return card("The student", f"meant wrong: {share(kept.intents['wrong'], kept.replies)} replies", body)


def _mending(kept: Statistics) -> str:
    """Shows what was mended: by which rule, at what cost, and how often each model is right at first."""
    mending, total = kept.mending, kept.all_tokens
    rules = {f"{role}: {rule}": count for (role, rule), count in mending.sent_back.most_common()}
    body = bars(shares(most(rules), mending.sent_back.total(), faults=True), title="Answers sent back, by rule")
    rights = [
        Bar(f"{role}, {model}", (mending.stood[role, model],), count) for (role, model), count in mending.first.items()
    ]
    body += bars(sorted(rights), title="Right at the first try")
    cost = mending.spent(SENT_BACK, TAKEN_BACK)
    gist = f"{share(mending.mended_turns, kept.turns)} turns mended, with {share(cost, total)} of the tokens"
    return card("Answers sent back", gist, body)


def _labels(kept: Statistics) -> Iterator[str]:
    """The labels that the recipe gives a heading, most frequent values first."""
    for name, column in columns_of(kept.recipe_name).items():
        if column.heading and (counted := kept.labels[name]):
            yield card(column.heading, f"{counted.total():,} in all", bars(shares(most(counted))))


def _model(kept: Statistics, durations: Durations) -> str:
    total, used = kept.all_tokens, []
    for role in sorted({role for role, _ in kept.tokens}, key=lambda role: -kept.tokens[role, "prompt"]):
        taken = durations.calls.get(role)
        within = f", half within {duration_text(quantile(taken, 0.5))}" if taken else ""
        used.append(Bar(f"{role}{within}", (kept.tokens[role, "prompt"], kept.tokens[role, "completion"]), total))
    gist = f"{short(total)} tokens, {total / max(kept.conversations, 1):,.0f} on average for each of the {thing(kept)}"
    read, cached, thought = (
        sum(count for (_, kind), count in kept.tokens.items() if kind == which)
        for which in ("prompt", "cached", "reasoning")
    )
    gist += f", {share(cached, read)} of what is read from a cache" if cached else ""
    gist += f", {short(thought)} of thoughts" if thought else ""
    legend = '<p class="legend light"><span>read</span><span>written</span></p>'
    answers = {f"answers {_ANSWERS.get(name, name)}": count for name, count in kept.parse.most_common()}
    lengths = bars(used) + legend if total else ""
    return card("The model", gist, lengths + bars(shares(answers)))
