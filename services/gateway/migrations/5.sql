-- The serialised RunHeld.
ALTER TABLE runs ADD COLUMN held {bytes};
