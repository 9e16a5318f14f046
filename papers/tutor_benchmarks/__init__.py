"""Benchmarks of tutors that others published, from local copies of them: none of their texts is here."""

# The tasks of MathTutorBench by their names there, and the titles of what is measured.
TASKS = {
    "gsm8k": "problem solving, accuracy",
    "socratic_questioning": "Socratic questioning, BLEU",
    "solution_correctness": "solution correctness, F1",
    "mistake_location": "mistake location, micro F1",
    "mistake_correction": "mistake correction, accuracy",
    "scaffolding_generation": "scaffolding, win rate",
    "pedagogy_following": "pedagogy following, win rate",
    "scaffolding_generation_hard": "scaffolding (hard), win rate",
    "pedagogy_following_hard": "pedagogy following (hard), win rate",
}
