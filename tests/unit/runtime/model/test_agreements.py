"""What one process finds out about an endpoint, no other process of the run has to, nor the run when it resumes."""

from pathlib import Path

from soliloquy.runtime.model.agreements import FILE, Agreement, agreement_with
from soliloquy.runtime.model.dialects import dialects
from soliloquy.runtime.model.negotiation import Attempt
from soliloquy.v1.model_pb2 import Completion
from tests.unit.runtime.model.far import REQUEST

REFUSAL = b'{"error": {"message": "Unsupported parameter: \'seed\'", "param": "seed"}}'


def process(file: Path, model: str = "large") -> Agreement:
    """Returns the agreement of another process."""
    agreement_with.cache_clear()
    return agreement_with("http://far/v1", model, dialects()["unknown"], "json_schema", file)


def test_what_one_process_left_out_others_leave_out_from_their_next_refusal_and_resumed_ones_at_once(
    tmp_path: Path,
) -> None:
    first, second = process(tmp_path / FILE), process(tmp_path / FILE)
    refused = Attempt(first, REQUEST)
    assert refused.adapt(400, REFUSAL, {"seed": 1})
    assert "seed" not in second.without
    refused.accepted("far", Completion(text="yes"))
    # It may be refused for what the first one knows: that is enough.
    assert Attempt(second, REQUEST).adapt(400, b"{}", {"seed": 1})
    assert "seed" in second.without
    assert "seed" in process(tmp_path / FILE).without
    assert "seed" not in process(tmp_path / FILE, "small").without


def test_the_form_of_a_schema_and_the_dialect_are_kept_and_told_once(tmp_path: Path) -> None:
    first = process(tmp_path / FILE)
    weaker = Attempt(first, REQUEST)
    assert weaker.adapt(400, b'{"error": "invalid schema"}', {"response_format": {}})
    weaker.accepted("far", Completion(text="{}"))
    [found, kept, unaware] = [
        Attempt(agreement, REQUEST).form
        for agreement in (first, process(tmp_path / FILE), process(tmp_path / "another run"))
    ]
    assert found == kept != unaware
    assert first.learn("dialect", "vllm")
    resumed = process(tmp_path / FILE)
    assert not resumed.learn("dialect", "vllm")
    assert (resumed.dialect.name, resumed.is_recognized) == ("vllm", True)


def test_calls_that_are_refused_together_weaken_a_schema_once(tmp_path: Path) -> None:
    agreement = process(tmp_path / FILE)
    earlier, later = Attempt(agreement, REQUEST), Attempt(agreement, REQUEST)
    assert earlier.adapt(400, b'{"error": "invalid schema"}', {"response_format": {}})
    earlier.accepted("far", Completion(text="{}"))
    # What was refused is the form in which it was sent, not the one that the other call has found meanwhile.
    assert later.form != earlier.form
    assert later.adapt(400, b'{"error": "invalid schema"}', {"response_format": {}})
    assert later.form == earlier.form


def test_a_line_is_read_once_it_is_whole_and_nothing_else_breaks_the_reader(tmp_path: Path) -> None:
    process(tmp_path / FILE).learn("without", "seed")
    [line] = (tmp_path / FILE).read_bytes().splitlines(keepends=True)
    name = line.split(b",")[0]
    (tmp_path / FILE).write_bytes(name + b', ["without"], {}]\n' + line[:-9])
    reader = process(tmp_path / FILE)
    assert reader.without == frozenset()
    with (tmp_path / FILE).open("ab") as file:
        file.write(line[-9:])
    assert reader.refresh()
    assert reader.without == {"seed"}


def test_without_a_place_to_write_a_process_keeps_what_it_learns(tmp_path: Path) -> None:
    alone = process(tmp_path / "missing" / FILE)
    assert alone.learn("without", "seed")
    assert "seed" in alone.without
