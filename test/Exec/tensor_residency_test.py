"""Accumulators that are staged, read or carried on, with the passes that keep them in tiles (-O) and without: the cases of BC-28.

Stages and updates are whole 16×16 tiles: a running value is the diagonal of a product with the identity.
"""

import mtlc_exec
import numpy as np

LEVELS = ("-O0", "-O")
MMA = "{m16n16k16, a=f16, acc=f32}"
HEAD = """module "bc28"
kernel @k(%g: ptr<global>, %eye: ptr<global>, %d: ptr<global>, %out: ptr<global>, %n: i32) {
^entry:
  %zero = const 0 : i32
  %one = const 1 : i32
  %tid = gpu.thread_id x : i32
  %tid64 = zext %tid : i32 to i64
  %sixteen = const 16 : i64
  %slice = mul %tid64, %sixteen : i64
  %tile = const 512 : i64
"""


def tiles(values: list[int]) -> np.ndarray:
    return np.concatenate([np.full(256, v, np.float16) for v in values])


class Bc28(mtlc_exec.TestCase):
    def run_case(self, body: str, g: np.ndarray, n: int, level: str) -> tuple[np.ndarray, np.ndarray]:
        path = mtlc_exec.write_source("bc28.mtir", HEAD + body)
        d, out = mtlc_exec.InOut(np.zeros(256, np.float32)), mtlc_exec.InOut(np.zeros(64, np.float32))
        eye = np.eye(16, dtype=np.float16)
        args = [g, eye, d, out, np.int32(n)]
        result = self.launch(path, "k", args, device="interp", block=32, options=[level])
        return result[d], result[out]

    def test_a_every_number_of_stages(self) -> None:
        """S = 1; for t = 0 … 3: acc += S, S = G[t], with G[t] = 10 (t + 1): 1 + 10 + 20 + 30."""
        g = tiles([1, 10, 20, 30, 40])
        for level in LEVELS:
            for stages in (2, 3, 4):
                lines = [f"  %s{i} = alloc.workgroup f16[256] : ptr<workgroup>" for i in range(stages)]
                lines += [f"  %p{i} = ptr.add %s{i}, %slice x i8 : ptr<workgroup>" for i in range(stages)]
                lines += ["  %g0 = ptr.add %g, %slice x i8 : ptr<global>"]
                lines += [f"  %g{t + 1} = ptr.add %g{t}, %tile x i8 : ptr<global>" for t in range(3)]

                def copy(t: int, stages: int = stages) -> list[str]:
                    return [f"  async.copy %p{t % stages}, %g{t}, 8 x f16 transaction 16", "  async.commit"]

                for t in range(stages - 1):
                    lines += copy(t)
                for t in range(4):
                    lines += [f"  async.wait {min(stages - 2, 3 - t)}", "  barrier {workgroup} acq_rel"]
                    if t + stages - 1 < 4:
                        lines += copy(t + stages - 1)
                    lines += [f"  tensor.mma a=%s{t % stages}, b=%eye, c=%d, d=%d {MMA}"]
                lines += ["  async.wait 0", "  ret", "}", ""]
                with self.subTest(level=level, stages=stages):
                    d, _ = self.run_case("\n".join(lines), g, 0, level)
                    self.assertEqual(d.tolist(), [61.0] * 256)

    def test_a_in_a_loop(self) -> None:
        """The same without stages, for any number of rounds, none too."""
        body = f"""  jump ^head(%zero, %g)
^head(%i: i32, %s: ptr<global>):
  %go = cmp.slt %i, %n : i32
  br %go, ^body, ^done
^body:
  tensor.mma a=%s, b=%eye, c=%d, d=%d {MMA}
  %next = ptr.add %s, %tile x i8 : ptr<global>
  %j = add %i, %one : i32
  jump ^head(%j, %next)
^done:
  ret
}}
"""
        for level in LEVELS:
            for n, want in ((0, 0.0), (1, 1.0), (2, 11.0), (4, 61.0)):
                with self.subTest(level=level, n=n):
                    d, _ = self.run_case(body, tiles([1, 10, 20, 30, 40]), n, level)
                    self.assertEqual(d.tolist(), [want] * 256)

    def test_b_running_value(self) -> None:
        """acc = 0; for i = 0 … 3: out[i] = acc, acc += 256."""
        body = f"""  jump ^head(%zero)
^head(%i: i32):
  %go = cmp.slt %i, %n : i32
  br %go, ^body, ^done
^body:
  %v = load f32, %d : ptr<global>
  %i64 = zext %i : i32 to i64
  %p = ptr.add %out, %i64 x f32 : ptr<global>
  %first = cmp.eq %tid, %zero : i32
  br %first, ^note, ^add
^note:
  store f32, %v, %p : ptr<global>
  jump ^add
^add:
  tensor.mma a=%g, b=%eye, c=%d, d=%d {MMA}
  %j = add %i, %one : i32
  jump ^head(%j)
^done:
  ret
}}
"""
        for level in LEVELS:
            with self.subTest(level=level):
                d, out = self.run_case(body, tiles([256]), 4, level)
                self.assertEqual(out[:5].tolist(), [0.0, 256.0, 512.0, 768.0, 0.0])
                self.assertEqual(d.tolist(), [1024.0] * 256)

    def test_c_two_loops(self) -> None:
        """Two loops over one accumulator, and (d) a loop of one round."""
        body = f"""  jump ^first(%zero)
^first(%i: i32):
  tensor.mma a=%g, b=%eye, c=%d, d=%d {MMA}
  %j = add %i, %one : i32
  %go = cmp.slt %j, %n : i32
  br %go, ^first(%j), ^middle
^middle:
  %other = ptr.add %g, %tile x i8 : ptr<global>
  jump ^second(%zero)
^second(%k: i32):
  %more = cmp.slt %k, %n : i32
  br %more, ^body, ^done
^body:
  tensor.mma a=%other, b=%eye, c=%d, d=%d {MMA}
  %l = add %k, %one : i32
  jump ^second(%l)
^done:
  tensor.epilogue d=%d {{m16n16, element=f32, activation=relu}}
  ret
}}
"""
        for level in LEVELS:
            for n in (1, 5):
                with self.subTest(level=level, n=n):
                    d, _ = self.run_case(body, tiles([3, 7]), n, level)
                    self.assertEqual(d.tolist(), [10.0 * n] * 256)


if __name__ == "__main__":
    mtlc_exec.main()
