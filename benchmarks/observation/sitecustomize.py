"""Python loads this first in every process of an observed run, so that all of them log their model's calls."""

import os
from pathlib import Path

from benchmarks.call_log import CALL_LOG, CallLog, observe_models
from benchmarks.profiling import PROFILES, profile_process

observe_models(CallLog.from_file(Path(os.environ[CALL_LOG])))
if profiles := os.environ.get(PROFILES):
    profile_process(Path(profiles))
