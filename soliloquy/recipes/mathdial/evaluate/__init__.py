"""Evaluates tutors with MathDial's protocol."""

# Tutors that `--tutor` names; it also takes the folder of a dataset.
MODEL, PROMPTED, NEXT_STEP = "model", "prompted", "next-step"
