"""One trace for each conversation: what it is known by, the spans in it, and where they are sent."""
