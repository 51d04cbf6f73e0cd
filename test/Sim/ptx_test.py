"""PTX of other compilers that is kept in the repository, on the simulator with all checks on: no compiler is needed.

test/Sim/ptx/NAME.sm_NN.ptx is what nvcc made of test/Sim/cuda/NAME.cu, see update_ptx.sh.
"""

import os

import cuda_cases
import mtlc_exec
import mtlc_testing
import numpy as np


class Ptx(mtlc_exec.TestCase):
    def test_files(self) -> None:
        folder = mtlc_testing.data("test/Sim/ptx")
        files = sorted(os.listdir(folder))
        self.assertGreaterEqual(len(files), 8)
        for file in files:
            name, arch, _ = file.split(".")
            for case in cuda_cases.of(name + ".cu"):
                if case.least_sm > int("".join(c for c in arch if c.isdigit())):
                    continue
                # In the natural order of threads, and in one of many others.
                for seed in (0, 11):
                    with self.subTest(file=file, kernel=case.kernel, seed=seed):
                        options = [f"--seed={seed}"]
                        case.run(self, os.path.join(folder, file), np.random.default_rng(seed + 5), options)


if __name__ == "__main__":
    mtlc_exec.main()
