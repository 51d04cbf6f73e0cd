"""tensor-legalize on epilogues and tiles: as scalar code, as single native products through the home, and in registers."""

import mtlc_exec
import tensor_epilogue_test as plain


class Epilogues(plain.Epilogues):
    passes = "tensor-legalize"


class TilesAsScalarCode(plain.Tiles):
    passes = "tensor-legalize"
    kind = "integers"


class TilesThroughTheHome(plain.Tiles):
    """Each step is native where it can be; the tile is too large for registers."""

    passes = "tensor-legalize{form-m=8,form-n=8,form-k=8,budget=32}"
    kind = "integers"


class TilesInRegisters(plain.Tiles):
    passes = "tensor-legalize{form-m=16,form-n=8,form-k=1}"
    kind = "integers"


del plain  # Its classes are no tests of this file.

if __name__ == "__main__":
    mtlc_exec.main()
