"""What the commands `replicate` of all recipes share: the published rows, and the tables made of them."""
