"""The specification of all arithmetic in plain NumPy, one file per concept.

Native code gives the same results bit for bit on every instruction set, and the tests compare the two. These files are
written to be read, not to be fast. ``KERNELSKETCH_BACKEND=reference`` runs the whole library on them.

::

    arithmetic   fused multiply-add, logarithms and cosines that are equal on every machine
    rng          the counter-based random generator
    gmm          the min-max kernels
    gcws         generalized consistent weighted sampling
    pack         codes made from samples, and packed codes
    fourier      random Fourier features
    linear       dual coordinate descent on codes, and decision values
    trees        sums of decision trees
    tree_shapley Shapley values of the sums of trees
    growth       the growth of decision trees on gradients
    quantiles    where numbers stand among those of training rows
    index        fingerprints, LSH tables, inverted lists and the search in them
    shingles     from texts to features; characters has the letters, digits and lower case
    join         the similarity join of sparse rows: keys, prefixes, similarities

Only ``backends/reference.py`` and the tests import this package::

    estimator  ->  backend_for  ->  backends/reference.py  ->  reference/*
                              or ->  backends/cpu.py        ->  native/   (the same results, faster)
"""
