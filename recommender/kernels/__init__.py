"""Loops over whole batches, to be compiled to machine code where that is worth it.

Each function of this package is an ordinary loop that touches every number of a batch once, where numpy needs a pass
over all of it for each step. They run as they are, slowly, and compiled, fast; the numpy code beside which they stand
does the same, so that nothing depends on a compiler. Every result has the same bits on all three ways: a kernel adds
the same numbers in the same order, and none of its sums can be drawn together with a product. What needs a power stays
with numpy.

Spec: performance R-1, R-3.
"""
