"""For tests of kernelsketch and of what is built on it. Needs the ``dev`` extra."""
