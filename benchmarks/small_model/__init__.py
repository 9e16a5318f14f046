"""A model made from nothing that learns to tutor: its tokenizer, its weights, what it is trained and judged on."""
