"""All launches of the kernels of test/Sim/cuda.

    for case in cuda_cases.of("reduce.cu"):
        if case.least_sm <= 80:
            case.run(test, "/path/reduce.ptx", rng)
"""

import cuda_cases_arrays  # noqa: F401
import cuda_cases_async  # noqa: F401
import cuda_cases_library  # noqa: F401
import cuda_cases_maths  # noqa: F401
import cuda_cases_matrices  # noqa: F401
import cuda_cases_threads  # noqa: F401
from cuda_launch import files, of  # noqa: F401
