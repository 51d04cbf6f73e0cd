"""Transfers with a view as bulk tensor copies: the simulator's against NumPy, for each rank, in and out of range, and the
copies by threads that take over when the view is null, misaligned or the tile is. To see which of them it was, the view
is of another buffer than the transfer's own pointer, which a right program would never do."""

import itertools
import math

import mtlc_exec
import mtlc_testing
import numpy as np

ELEMENTS = {"u8": ("u8", np.uint8), "f16": ("f16", np.uint16), "bf16": ("bf16", np.uint16), "f32": ("f32", np.uint32),
            "f64": ("f64", np.uint64), "e4m3": ("u8", np.uint8), "i32": ("u32", np.uint32)}  # fmt: skip
ARCHS = ("sm_90", "sm_121a")
# How the view and the tile are given, and whether the copy is then the hardware's.
WAYS = {"native": (0, 0), "null": (None, 0), "view+32": (32, 0), "tile+16": (0, 16)}


def linear_id() -> str:
    return """  %tx = gpu.thread_id x : i32
  %ty = gpu.thread_id y : i32
  %nx = gpu.block_dim x : i32
  %ny = gpu.block_dim y : i32
  %row = mul %ty, %nx : i32
  %id = add %row, %tx : i32
  %size = mul %nx, %ny : i32
"""


def module(element: str, extent, stride, tile, step, store: bool, skew: int, view_offset: int | None) -> str:
    """A load of the tile, then all its bytes to %tile_out; or the bytes of %tile_out into the tile, then a store."""
    rank, size = len(tile), np.dtype(ELEMENTS[element][1]).itemsize
    total = math.prod(tile) * size
    xs = ", ".join(f"%x{i}: i32" for i in range(rank))
    slots = ", ".join(f"x{i}=%x{i}" for i in range(rank))
    view = "%view = ptr.add %map, %viewoff x i8 : ptr<global>" if view_offset is not None else "%view = const null : ptr<global>"
    fields = f"element={element}, tile={list(tile)}, extent={list(extent)}, stride={list(stride)}, step={list(step)}"
    ends = "dst=%out, src=%tile" if store else "dst=%tile, src=%out"
    transfer = f"  tensor.transfer {ends}, view=%view, {slots} {{direction={'store' if store else 'load'}, {fields}}}\n"
    here, there = ("%there", "%here") if store else ("%here", "%there")
    copy = f"""  %more = cmp.ult %id, %total : i32
  br %more, ^loop(%id), ^done
^loop(%i: i32):
  %wide = zext %i : i32 to i64
  %here = ptr.add %tile, %wide x i8 : ptr<workgroup>
  %there = ptr.add %content, %wide x i8 : ptr<global>
  %v = load i8, {here} : ptr<{'global' if store else 'workgroup'}>
  store i8, %v, {there} : ptr<{'workgroup' if store else 'global'}>
  %next = add %i, %size : i32
  %again = cmp.ult %next, %total : i32
  br %again, ^loop(%next), ^done
^done:
"""
    body = copy + transfer if store else transfer + copy
    return f"""module "m"

kernel @k(%out: ptr<global>, %map: ptr<global>, %content: ptr<global>, {xs}) {{
^entry:
  %array = alloc.workgroup i8[{total + skew}] : ptr<workgroup>
  %skew = const {skew} : i64
  %tile = ptr.add %array, %skew x i8 : ptr<workgroup>
  %viewoff = const {view_offset or 0} : i64
  {view}
  %total = const {total} : i32
{linear_id()}{body}  ret
}}
"""


class TensorCopy(mtlc_exec.TestCase):
    def check(self, rng, element, arch, way, store, rank):
        map_type, dtype = ELEMENTS[element]
        size = np.dtype(dtype).itemsize
        view_offset, skew = WAYS[way]
        row = 16 // size
        extent = [int(rng.integers(1, 5)) * row + int(rng.integers(0, row))] + [int(v) for v in rng.integers(1, 6, rank - 1)]
        tile = [int(rng.choice([1, 2, 3])) * row] + [int(v) for v in rng.integers(1, 5, rank - 1)]
        step = [1] + ([1] * (rank - 1) if store else [int(v) for v in rng.choice([1, 1, 2, 8], rank - 1)])
        stride = [size]
        for i in range(1, rank):
            room = stride[-1] * extent[i - 1]
            stride.append(-(-room // 16) * 16 + 16 * int(rng.integers(0, 2)))
        total = -(-(stride[-1] * extent[-1]) // size) * size if rank > 1 else extent[0] * size
        x = [int(rng.integers(-t, e + 2)) if rng.random() < 0.7 else 0 for t, e in zip(tile, extent)]
        memory, viewed = rng.integers(0, 256, (2, total), dtype=np.uint8)
        content = rng.integers(0, 256, math.prod(tile) * size, dtype=np.uint8)
        used = viewed if way == "native" else memory
        want_used, want_tile = used.copy(), content.copy()
        for number, at in enumerate(itertools.product(*(range(t) for t in reversed(tile)))):
            g = [c + s * i for c, s, i in zip(x, step, reversed(at))]
            inside = all(0 <= v < e for v, e in zip(g, extent))
            offset = sum(v * s for v, s in zip(g, stride))
            mine, theirs = slice(number * size, (number + 1) * size), slice(offset, offset + size)
            if store and inside:
                want_used[theirs] = content[mine]
            elif not store:
                want_tile[mine] = used[theirs] if inside else 0
        source = mtlc_exec.write_source("copy.mtir", module(element, extent, stride, tile, step, store, skew, view_offset))
        numbers = lambda values: ",".join(str(v) for v in values)  # noqa: E731
        box = [t * s for t, s in zip(tile, step)]
        spec = f"tensormap:{3 + rank}:{map_type}:dims={numbers(extent)}"
        spec += f":strides={numbers(stride[1:])}" if rank > 1 else ""
        spec += f":box={numbers(box)}:elem_strides={numbers(step)}"
        own, other, bytes_ = mtlc_exec.InOut(memory), mtlc_exec.InOut(viewed), mtlc_exec.InOut(content)
        with self.subTest(element=element, arch=arch, way=way, store=store, extent=extent, tile=tile, step=step, x=x, stride=stride):
            result = self.launch(source, "k", [own, mtlc_exec.Raw(spec), bytes_, *(np.int32(v) for v in x), other], device="sim",
                                 block=(9, 5), options=[f"--gpu-arch={arch}"])  # fmt: skip
            np.testing.assert_array_equal(result[own], memory if way == "native" else want_used)
            np.testing.assert_array_equal(result[other], want_used if way == "native" else viewed)
            np.testing.assert_array_equal(result[bytes_], want_tile)

    def test_ranks(self) -> None:
        rng = np.random.default_rng(21)
        for store, way, rank in itertools.product((False, True), WAYS, range(1, 6)):
            for element in rng.choice(list(ELEMENTS), 2 if way == "native" else 1, replace=False):
                self.check(rng, str(element), ARCHS[int(rng.integers(2))], way, store, rank)


if __name__ == "__main__":
    mtlc_testing.main()
