"""DataDesigner: a column for each answer. A second start resumes after the last row group that was completed."""

import data_designer.config as dd
import pandas
from data_designer.config.models import ModelProvider
from data_designer.interface import DataDesigner

from benchmarks.peers.asking import MODEL, ROLES, Job, measured, prompt


def generate(job: Job) -> None:
    sampling = dd.ChatCompletionInferenceParams(max_parallel_requests=job.at_once)
    asked = dd.ModelConfig(alias="asked", model=MODEL, provider="endpoint", inference_parameters=sampling)
    builder = dd.DataDesignerConfigBuilder(model_configs=[asked])
    builder.with_seed_dataset(dd.DataFrameSeedSource(df=pandas.DataFrame({"number": range(job.conversations)})))
    last = ""
    for place in range(len(ROLES)):
        text = prompt(place, "{{ number }}", last)
        builder.add_column(dd.LLMTextColumnConfig(name=f"said_{place}", prompt=text, model_alias="asked"))
        last = f"{{{{ said_{place} }}}}"
    provider = ModelProvider(name="endpoint", endpoint=job.url, api_key="none")
    designer = DataDesigner(artifact_path=job.folder, model_providers=[provider])
    made = designer.create(
        builder, num_records=job.conversations, dataset_name="peers", resume=dd.ResumeMode.IF_POSSIBLE
    )
    assert len(made.load_dataset()) == job.conversations


if __name__ == "__main__":
    with measured() as job:
        generate(job)
