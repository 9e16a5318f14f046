from deploy.metrics_table import PAGE, page


def test_the_table_of_metrics_is_that_of_the_instruments() -> None:
    """`make docs` writes this page."""
    assert PAGE.read_text("utf-8") == page()
