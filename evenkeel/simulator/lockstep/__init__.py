"""One clock for an embedded cluster and the real processes that work on it: it moves only when all of them rest."""
