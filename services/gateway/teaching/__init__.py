"""Teaching: a person is the tutor of a recipe's student."""
