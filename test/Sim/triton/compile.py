"""Compiles the kernels to PTX: compile.py DIRECTORY. Needs a Python with Triton; no GPU. Writes DIRECTORY/NAME.ptx and an
index: for each name its kernel, shared memory, warps, tile and architecture. What Triton refuses is left out."""

import json
import os
import sys

os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(sys.argv[1], "cache"))

import kernels  # noqa: E402
import triton  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

SIZES = dict.fromkeys(("M", "N", "K", "lda", "ldb", "ldc"), "i32")
JOBS = [
    ("matmul_f16", kernels.matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp32", **SIZES}, {"BM": 64, "BN": 64, "BK": 32}),
    ("matmul_tf32", kernels.matmul, {"a": "*fp32", "b": "*fp32", "c": "*fp32", **SIZES}, {"BM": 64, "BN": 32, "BK": 32}),
    ("matmul_bf16", kernels.matmul, {"a": "*bf16", "b": "*bf16", "c": "*fp32", **SIZES}, {"BM": 32, "BN": 64, "BK": 64}),
    ("matmul_fp8", kernels.matmul, {"a": "*fp8e4nv", "b": "*fp8e4nv", "c": "*fp32", **SIZES}, {"BM": 64, "BN": 64, "BK": 64}),
    ("softmax", kernels.softmax, {"x": "*fp32", "y": "*fp32", "n": "i32", "ld": "i32"}, {"BLOCK": 1024}),
    ("layer_norm", kernels.layer_norm,
     {"x": "*fp32", "gain": "*fp32", "bias": "*fp32", "y": "*fp32", "n": "i32", "eps": "fp32"}, {"BLOCK": 512}),
    ("attention", kernels.attention,
     {"q": "*fp16", "k": "*fp16", "v": "*fp16", "o": "*fp32", "T": "i32", "scale": "fp32"}, {"D": 64, "BM": 64, "BN": 32}),
    ("scaled", kernels.scaled,
     {"a": "*fp8e4nv", "sa": "*u8", "b": "*fp8e4nv", "sb": "*u8", "c": "*fp32", "M": "i32", "N": "i32", "K": "i32"},
     {"BM": 128, "BN": 64, "BK": 128}),
]  # fmt: skip


def main() -> None:
    index = {}
    for arch in (80, 90, 120):
        for name, function, types, constants in JOBS:
            names = function.arg_names
            source = ASTSource(
                fn=function,
                signature={n: types.get(n, "constexpr") for n in names},
                constexprs={(names.index(n),): value for n, value in constants.items()},
                attrs={(i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if types.get(n, "").startswith("*")},
            )
            try:
                done = triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": 4, "num_stages": 3})
            except triton.CompilationError as error:
                print(f"{name} for sm_{arch}: {type(error).__name__}")  # No FP8 below sm_89.
                continue
            file = f"{name}_{arch}.ptx"
            with open(os.path.join(sys.argv[1], file), "w", encoding="utf-8") as out:
                out.write(done.asm["ptx"])
            meta = done.metadata
            index[file] = {"job": name, "kernel": meta.name, "shared": meta.shared, "warps": meta.num_warps,
                           "scratch": meta.global_scratch_size, **constants}  # fmt: skip
    with open(os.path.join(sys.argv[1], "index.json"), "w", encoding="utf-8") as out:
        json.dump({"triton": triton.__version__, "kernels": index}, out)


main()
