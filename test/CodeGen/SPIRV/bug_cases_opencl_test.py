"""The public faults of test/Exec/bug_cases_test.py (BC-01, 03, 04, 07, 09, 10, 12, 16, 17, 18, 19, 31, 33, 34) as SPIR-V on an
OpenCL device."""

import unittest

import bug_cases_test
import mtlc_exec
import mtlc_testing

mtlc_exec.devices = lambda: ["opencl"]
bug_cases_test.LEVELS = ("-O",)  # A driver takes its time; pocl_faults_test and random_test run both levels.


class BugCasesOnOpenCl(bug_cases_test.BugCases):
    @classmethod
    def setUpClass(cls):
        path = mtlc_exec.write_source("probe.mtir", 'module "m"\n\nkernel @k() {\n^entry:\n  ret\n}\n')
        if mtlc_exec.launch(path, "k", [], device="opencl").returncode != 0:
            raise unittest.SkipTest("no OpenCL device that takes SPIR-V, or SPIR with llvm-spirv")


if __name__ == "__main__":
    mtlc_testing.main()
