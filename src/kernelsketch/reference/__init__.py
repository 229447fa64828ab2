"""The specification in plain NumPy, one file a concept.

Native code gives the same bits on every instruction set; the tests hold it to that. Written to be
read, not to be fast: ``KERNELSKETCH_ISA=reference`` runs the whole library on it.
"""
