"""One of each that a package can add to Soliloquy, besides recipes."""
