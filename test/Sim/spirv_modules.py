"""Modules of SPIR-V written by hand: tables of instructions, each applied to every element of some buffers."""

import shutil
import subprocess
from dataclasses import dataclass

import mtlc_exec
import mtlc_testing
import numpy as np

TYPES = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64}
WIDTHS = (1, 2, 4, 16)

_HEADER = """
OpCapability Addresses
OpCapability Kernel
OpCapability Linkage
OpCapability Int64
OpCapability Int8
OpCapability Int16
OpCapability Float16
OpCapability Float64
OpCapability Vector16
OpCapability GenericPointer
%std = OpExtInstImport "OpenCL.std"
OpMemoryModel Physical64 OpenCL
OpEntryPoint Kernel %k "k" %GlobalId
OpDecorate %GlobalId BuiltIn GlobalInvocationId
OpDecorate %GlobalId Constant
{decorations}
%void = OpTypeVoid
%bool = OpTypeBool
%u8 = OpTypeInt 8 0
%u16 = OpTypeInt 16 0
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%f16 = OpTypeFloat 16
%f32 = OpTypeFloat 32
%f64 = OpTypeFloat 64
%v3u64 = OpTypeVector %u64 3
%in3 = OpTypePointer Input %v3u64
%GlobalId = OpVariable %in3 Input
"""


def _declarations() -> str:
    lines = [_line for n in WIDTHS[1:] for _line in [f"%v{n}bool = OpTypeVector %bool {n}"]]
    lines += [f"%v{n}{t} = OpTypeVector %{t} {n}" for n in WIDTHS[1:] for t in TYPES]
    for n in WIDTHS:
        lines += [f"%p_{wide(t, n)} = OpTypePointer CrossWorkgroup %{wide(t, n)}" for t in TYPES]
        lines += [f"%l_{wide(t, n)} = OpTypePointer Function %{wide(t, n)}" for t in TYPES]
    lines += [f"%one_{t} = OpConstant %{t} 1" for t in TYPES if t[0] == "u"]
    lines += [f"%zero_{t} = OpConstantNull %{t}" for t in TYPES]
    for n in WIDTHS[1:]:
        lines += [f"%one_v{n}{t} = OpConstantComposite %v{n}{t} {f'%one_{t} ' * n}" for t in TYPES if t[0] == "u"]
        lines += [f"%zero_v{n}{t} = OpConstantNull %v{n}{t}" for t in TYPES]
    return "\n".join(lines) + "\n"


def wide(type_: str, width: int) -> str:
    return type_ if width == 1 else f"v{width}{type_}"


def assemble(test, text: str, name: str = "k", env: str = "spv1.3") -> str:
    source, out = mtlc_testing.scratch(f"{name}.spvasm"), mtlc_testing.scratch(f"{name}.spv")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run(["spirv-as", "--target-env", env, "--preserve-numeric-ids", source, "-o", out], capture_output=True, text=True,
                          check=False)  # fmt: skip
    test.assertEqual(done.returncode, 0, done.stderr)
    return out


@dataclass
class Op:
    """One instruction. `code` is its text, with {R} for the result type, {A} {B} {C} for the types of the operands %a, %b, %c,
    {W} in front of a scalar type's name for the vector type of it; %r is the result, or what its last line defines.
    `bool_result`: it is one, and is stored as 0 or 1 of the type of the results."""

    name: str
    code: str
    bool_result: bool = False
    decoration: str = ""


def run_table(test, operands: list[tuple[str, np.ndarray]], result: str, ops: list[Op], width: int = 1, declare: str = "",
              options: tuple = ()) -> dict[str, np.ndarray]:  # fmt: skip
    """Applies every op to the elements of the operands, `width` at a time: results by name. `declare`: more types and constants."""
    n = len(operands[0][1])
    test.assertEqual(n % width, 0)
    types = [wide(t, width) for t, _ in operands]
    r = wide(result, width)
    prefix = "" if width == 1 else f"v{width}"
    names = "abcd"[: len(operands)]
    size = np.dtype(TYPES[result]).itemsize
    body, decorations = [], []
    for name, (t, _), type_ in zip(names, operands, types):
        body.append(f"%at_{name} = OpInBoundsPtrAccessChain %p_{type_} %buf_{name} %gid")
        body.append(f"%{name} = OpLoad %{type_} %at_{name} Aligned {np.dtype(TYPES[t]).itemsize}")
    for k, op in enumerate(ops):
        code = op.code.format(R=f"%{r}", W=f"%{prefix}", P=prefix, **{x.upper(): f"%{t}" for x, t in zip(names, types)})
        code = code.replace("#", str(k))  # Names of an op's own.
        lines = code.strip().split("\n")
        if "=" not in lines[-1]:
            lines[-1] = f"%r{k} = {lines[-1]}"
        value = lines[-1].split("=")[0].strip()
        body += lines
        if op.decoration:
            decorations.append(f"OpDecorate {value} {op.decoration}")
        if op.bool_result:
            body.append(f"%s{k} = OpSelect %{r} {value} %one_{r} %zero_{r}")
            value = f"%s{k}"
        body.append(f"%i{k} = OpIAdd %u64 %gid %base{k}")
        body.append(f"%to{k} = OpInBoundsPtrAccessChain %p_{r} %out %i{k}")
        body.append(f"OpStore %to{k} {value} Aligned {size}")
    bases = "\n".join(f"%base{k} = OpConstant %u64 {k * n // width}" for k in range(len(ops)))
    params = [f"%buf_{name} = OpFunctionParameter %p_{type_}" for name, type_ in zip(names, types)]
    text = _HEADER.format(decorations="\n".join(decorations)) + _declarations() + declare + bases
    text += f"\n%fn = OpTypeFunction %void {' '.join(f'%p_{t}' for t in types)} %p_{r}\n%k = OpFunction %void None %fn\n"
    text += "\n".join([*params, f"%out = OpFunctionParameter %p_{r}", "%entry = OpLabel", "%LOCALS", "%gid3 = OpLoad %v3u64 %GlobalId",
                       "%gid = OpCompositeExtract %u64 %gid3 0", *body, "OpReturn", "OpFunctionEnd", ""])  # fmt: skip
    # Variables come first.
    local = [line for line in text.split("\n") if "= OpVariable" in line and "Function" in line]
    text = "\n".join(line for line in text.split("\n") if line not in local).replace("%LOCALS", "\n".join(local))
    path = assemble(test, text, "table")
    out = mtlc_exec.Output(TYPES[result], len(ops) * n)
    threads, block = n // width, 64
    test.assertEqual(threads % block, 0)
    done = mtlc_exec.launch(path, "k", [*[x for _, x in operands], out], grid=threads // block, block=block, options=list(options))
    test.assertEqual(done.returncode, 0, done.stderr[:3000])
    values = done[out].reshape(len(ops), n)
    return {op.name: values[k] for k, op in enumerate(ops)}


def has_assembler() -> bool:
    return shutil.which("spirv-as") is not None
