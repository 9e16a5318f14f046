"""distilabel: a step for each answer, each in a process of its own.

A second start begins anew: one from the cache that a kill left waits for ever (argilla-io/distilabel#1065).
"""

from itertools import pairwise

from distilabel.models import OpenAILLM
from distilabel.pipeline import Pipeline
from distilabel.steps import LoadDataFromDicts
from distilabel.steps.tasks import TextGeneration

from benchmarks.peers.asking import MODEL, ROLES, Job, measured, prompt


def generate(job: Job) -> None:
    # The steps work side by side: together they have as many calls in flight as the others.
    batch = max(1, job.at_once // len(ROLES))
    with Pipeline(name="peers", cache_dir=job.folder) as pipeline:
        data = [{"number": number} for number in range(job.conversations)]
        last, columns, steps = "", ["number"], [LoadDataFromDicts(data=data, batch_size=batch)]
        for place in range(len(ROLES)):
            steps.append(
                TextGeneration(
                    llm=OpenAILLM(model=MODEL, base_url=job.url, api_key="none"),
                    template=prompt(place, "{{ number }}", last),
                    columns=columns,
                    input_batch_size=batch,
                    output_mappings={"generation": f"said_{place}", "model_name": f"model_{place}"},
                )
            )
            last, columns = f"{{{{ said_{place} }}}}", ["number", f"said_{place}"]
        for one, following in pairwise(steps):
            one >> following
    made = pipeline.run(use_cache=False)
    assert len(made["default"]["train"]) == job.conversations


if __name__ == "__main__":
    with measured() as job:
        generate(job)
