"""The linter of GitHub's workflows."""
