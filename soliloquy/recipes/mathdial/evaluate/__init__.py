"""Evaluates tutors with MathDial's protocol."""

# Tutors that `--tutor` names; it also takes the folder of a dataset.
MODEL, NEXT_STEP = "model", "next-step"
