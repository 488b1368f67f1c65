"""One module per benchmark; ``ROWS`` of ``bench.catalogue`` lists them."""
