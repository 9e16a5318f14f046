"""What measures, converts and replicates for each paper, and the recipe of one that writes problems."""
