"""tensor.transfer on the interpreter and as the copies that PTX gets: rank 1 to 5, strides, coordinates that are negative or out of range, both ways."""

import itertools

import mtlc_exec
import numpy as np
import tensor_model as model

ELEMENTS = ("f16", "f32", "f64", "i8", "i32", "e4m3", "e2m3", "e2m1", "i4", "b1")


class Transfers(mtlc_exec.TestCase):
    def geometry(self, rng: np.random.Generator, element: str, rank: int, dense: bool):
        bits, size = model.SIZES[element]
        distance = bits if dense else size * 8
        extent = [int(x) for x in rng.integers(1, 6 if rank > 2 else 20, rank)]
        tile = [int(x) for x in rng.integers(1, 5 if rank > 3 else 8, rank)]
        step = [int(x) for x in rng.choice([1, 1, 1, 2, 3], rank)]
        # Where the tile begins: inside, before, behind.
        x = [int(rng.integers(-t, e + 2)) if rng.random() < 0.6 else 0 for t, e in zip(tile, extent)]
        row = -(-extent[0] * distance // 8)
        stride = [0 if dense else size]
        for i in range(1, rank):
            room = row if i == 1 else stride[-1] * extent[i - 1]
            stride.append(-(-(room + int(rng.integers(0, 2 * size + 1))) // size) * size)
        total = stride[-1] * extent[-1] if rank > 1 else row
        return distance, extent, tile, step, x, stride, total

    def run_case(self, batch: model.Batch, rng: np.random.Generator, element: str, rank: int, dense: bool, store: bool):
        """A load that goes on to global memory whole, or a store from a tile that was loaded."""
        distance, extent, tile, step, x, stride, total = self.geometry(rng, element, rank, dense)
        count = int(np.prod(tile))
        tile_bytes = -(-count * distance // 8)
        memory = rng.integers(0, 256, total, dtype=np.uint8)
        content = rng.integers(0, 256, tile_bytes, dtype=np.uint8)
        memory_bits = np.unpackbits(memory, bitorder="little")
        tile_bits = np.unpackbits(content, bitorder="little")
        # Element by element, dimension 0 fastest.
        for number, at in enumerate(itertools.product(*(range(t) for t in reversed(tile)))):
            g = [c + s * i for c, s, i in zip(x, step, reversed(at))]
            inside = all(0 <= v < e for v, e in zip(g, extent))
            offset = g[0] * distance + sum(v * s * 8 for v, s in zip(g[1:], stride[1:]))
            here = slice(number * distance, (number + 1) * distance)
            there = slice(offset, offset + distance)
            if store and inside:
                memory_bits[there] = tile_bits[here]
            elif not store:
                tile_bits[here] = memory_bits[there] if inside else 0
        name = f"{'store' if store else 'load'} {element} dense={dense} {extent=} {tile=} {step=} {x=} {stride=}"

        # The tile is in the launch-sized array: as bytes, filled from and copied to global memory.
        def through(direction: str, pointer: str) -> None:
            operands = f"dst=%w, src={pointer}" if direction == "load" else f"dst={pointer}, src=%w"
            batch.emit(
                f"tensor.transfer {operands}, x0={batch.constant(0)} {{direction={direction}, element=u8, "
                f"tile=[{tile_bytes}], extent=[{tile_bytes}]}}"
            )

        fields = [f"element={element}", f"packing={'dense' if dense else 'logical'}"]
        fields += [f"tile={tile}", f"step={step}"]
        slots = [f"x{i}={batch.constant(v)}" for i, v in enumerate(x)]
        runtime = rng.integers(0, 2, 2 * rank)
        shown_extent, shown_stride = list(extent), list(stride)
        for i in range(rank):
            if runtime[i]:
                slots.append(f"extent{i}={batch.constant(extent[i], 'i64')}")
                shown_extent[i] = 0
        for i in range(1, rank):
            if runtime[rank + i]:
                slots.append(f"stride{i}={batch.constant(stride[i])}")
                shown_stride[i] = 0
        fields += [f"extent={shown_extent}", f"stride={shown_stride}"]
        text = f"{', '.join(slots)} {{direction={'store' if store else 'load'}, {', '.join(fields)}}}"
        size = 1 if dense else model.SIZES[element][1]
        through("load", batch.input(content))
        if store:
            want = np.packbits(memory_bits, bitorder="little")
            pointer = batch.in_place(memory, want, name, None, skew=size)
            batch.emit(f"tensor.transfer dst={pointer}, src=%w, {text}")
        else:
            pointer = batch.input(memory, skew=size)
            batch.emit(f"tensor.transfer dst=%w, src={pointer}, {text}")
            through("store", batch.output(np.packbits(tile_bits, bitorder="little"), name, None, align=1))

    def test_ranks(self) -> None:
        rng = np.random.default_rng(1)
        for store in (False, True):
            batch = model.Batch()
            batch.emit("%w = alloc.dynamic i8 : ptr<workgroup>")
            for element, rank, _ in itertools.product(ELEMENTS, range(1, 6), range(3)):
                bits = model.SIZES[element][0]
                for dense in (False, True) if bits < 8 and element != "b1" else (bits < 8,):
                    self.run_case(batch, rng, element, rank, dense, store)
            batch.run(self, block=33, shared=65536)
            batch.run(self, block=(5, 3, 3), shared=65536, device="sim", options=("--gpu-arch=sm_75",))
            batch.run(self, block=(3, 5, 3), shared=65536, device="spirv", options=("--subgroup-size=8",))


if __name__ == "__main__":
    mtlc_exec.main()
