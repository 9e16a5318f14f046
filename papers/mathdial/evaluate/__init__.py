"""Evaluates tutors with MathDial's protocol."""

# Tutors that `--tutor` names; it also takes the folder of a dataset.
MODEL, PROMPTED, RESPONDING, NEXT_STEP = "model", "prompted", "responding", "next-step"
