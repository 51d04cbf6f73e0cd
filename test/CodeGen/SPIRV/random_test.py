"""Random IR modules as SPIR-V on an OpenCL device, bit for bit what the interpreter gives. More by hand:

    bazel run //test/random:opencl_random -- --seed=1000000 --count=1000
"""

import unittest

import mtlc_testing

NO_DEVICE = 77


class Random(mtlc_testing.TestCase):
    def test_seeds(self):
        # Among them modules that the driver crashed on, or got wrong, as they were emitted once.
        for first, count in ((1, 32), (79, 1), (158, 1), (211, 1), (261, 1), (283, 1), (297, 1), (316, 1), (326, 1), (342, 1), (802, 1)):
            with self.subTest(first=first, count=count):
                done = mtlc_testing.run("opencl_random", f"--seed={first}", f"--count={count}", timeout=240)
                if done.returncode == NO_DEVICE:
                    raise unittest.SkipTest(done.stderr.strip())
                self.assertEqual(done.returncode, 0, done.stderr[:4000])
                self.assertIn(f"{count} random IR modules on OpenCL, 0 failures", done.stdout)


if __name__ == "__main__":
    mtlc_testing.main()
