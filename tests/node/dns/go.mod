module soliloquy.test/dns

go 1.26
