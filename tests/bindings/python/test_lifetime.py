# tests/bindings/python/test_lifetime.py - ownership, threads, garbage, lent buffers, fork and exit in Python.
# SPDX-License-Identifier: Apache-2.0
import gc
import os
import subprocess
import sys
import threading
import unittest
import weakref
from unittest import mock

import ruda


def run_threads(count, work):
    failures = []

    def guarded(i):
        try:
            work(i)
        except BaseException as error:  # reported by the test that started the thread
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


class LifetimeTest(unittest.TestCase):
    def test_close_twice_and_use_after_close(self):
        ctx = ruda.Context("cpu")
        t = ctx.zeros(2)
        for thing in (t, ctx):
            self.assertFalse(thing.closed)
            thing.close()
            thing.close()
            self.assertTrue(thing.closed)
        with self.assertRaises(ValueError):
            ctx.stream()
        with self.assertRaises(ValueError):
            t.tolist()
        self.assertEqual(repr(t), "<ruda.Tensor closed>")
        self.assertEqual(repr(ctx), "<ruda.Context closed>")

    def test_parent_first(self):
        ctx = ruda.Context("cpu")
        stream, t = ctx.stream(), ctx.tensor([1.0, 2.0])
        ctx.close()
        self.assertEqual(t.tolist(stream=stream), [1, 2])
        self.assertEqual(t.tolist(), [1, 2])
        self.assertEqual(t.cast("i32").tolist(), [1, 2])

    def test_nothing_leaks(self):
        ctx = ruda.Context("cpu")
        first = ctx.zeros(1)
        live = ctx.live_objects
        many = [ctx.zeros(8)[::2] for _ in range(500)]
        self.assertEqual(ctx.live_objects, live + 500)
        del many
        gc.collect()
        self.assertEqual(ctx.live_objects, live)
        for _ in range(100):
            with self.assertRaises(ruda.Error):
                first.write(b"")
        self.assertEqual(ctx.live_objects, live)
        plan = ruda.plans.rms_norm(ctx, x=first.view(1, 1), gamma=first, eps=1)
        plan.close()
        del plan
        gc.collect()
        self.assertEqual(ctx.live_objects, live)

    def test_objects_keep_the_context(self):
        ctx = ruda.Context("cpu")
        t = ctx.tensor([3.0])
        reference = weakref.ref(ctx)
        del ctx
        gc.collect()
        self.assertIsNotNone(reference())
        self.assertEqual(t.item(), 3)
        del t
        gc.collect()
        self.assertIsNone(reference())

    def test_no_cycles(self):
        gc.collect()
        gc.disable()
        try:
            ctx = ruda.Context("cpu")
            ctx.zeros(3).tolist()
            reference = weakref.ref(ctx)
            del ctx
            self.assertIsNone(reference())
        finally:
            gc.enable()

    def test_close_during_calls(self):
        for _ in range(200):
            ctx = ruda.Context("cpu", host_threads=1)
            t, go = ctx.zeros(1 << 14), threading.Event()

            def read(_):
                go.wait()
                for _ in range(20):
                    try:
                        t.tobytes()
                    except ValueError:  # closed
                        return

            thread = threading.Thread(target=read, args=(0,))
            thread.start()
            go.set()
            t.close()
            thread.join()
            ctx.close()

    def test_many_threads_close_one_object(self):
        for _ in range(100):
            ctx = ruda.Context("cpu", host_threads=1)
            t = ctx.zeros(4)
            run_threads(4, lambda _: t.close())
            self.assertEqual(ctx.live_objects, 1)  # the default stream

    def test_threads_share_a_default_stream(self):
        """Also where they need it for the first time at once: what one writes the others read in order."""
        with ruda.Context("cpu") as ctx:
            t, used = ctx.empty(2), set()
            create, together = ruda._core._raw.ruda_stream_create, threading.Barrier(4)

            def slow(*arguments):
                together.wait(10)
                return create(*arguments)

            with mock.patch.object(ruda._core._raw, "ruda_stream_create", slow):
                run_threads(4, lambda _: used.add(ruda._core.op_stream(None, t)[0]))
            self.assertEqual(len(used), 1)

    def test_parallel_failures_keep_their_texts(self):
        ctx = ruda.Context("cpu")

        def work(i):
            stream = ctx.stream()
            t = ctx.full(16, i, stream=stream)
            for _ in range(200):
                self.assertEqual(t[5].item(stream=stream), i)
                with self.assertRaises(ruda.Error) as caught:
                    t.permute(i + 1)
                self.assertIn(f"axes[0] is {i + 1},", caught.exception.message)

        run_threads(8, work)

    def test_garbage_under_load(self):
        ctx = ruda.Context("cpu")
        live = ctx.live_objects

        def work(i):
            for k in range(300):
                cycle = [ctx.zeros(4)]
                cycle.append(cycle)
                if k % 50 == 0:
                    gc.collect()

        run_threads(4, work)
        gc.collect()
        self.assertLessEqual(ctx.live_objects, live + 1)

    def test_lent_buffer_is_kept_and_given_back(self):
        ctx = ruda.Context("cpu")
        data = bytearray(b"\1\0\0\0" * 4)
        t = ctx.wrap(data, "i32")
        half = t[::2]
        with self.assertRaises(BufferError):
            data.extend(b"x")
        t.close()
        self.assertEqual(half.tolist(), [1, 1])
        with self.assertRaises(BufferError):
            data.extend(b"x")
        half.close()
        data.extend(b"x")
        t = ctx.wrap(data, "u8")
        del data
        gc.collect()
        self.assertEqual(t.tolist(), [1, 0, 0, 0] * 4 + [120])
        with self.assertRaises(ruda.Error):
            ctx.wrap(bytearray(4), "i32", shape=(2,))
        self.assertEqual(len(ruda._core._loans), 1)
        del t
        gc.collect()
        self.assertEqual(len(ruda._core._loans), 0)

    def test_lent_buffer_dropped_on_another_thread(self):
        ctx = ruda.Context("cpu")
        for _ in range(50):
            data = bytearray(64)
            box = [ctx.wrap(data, "u8")]
            run_threads(1, lambda _: box.clear())
            data.extend(b"x")

    def test_current_stream_is_local_to_the_thread(self):
        ctx = ruda.Context("cpu")
        with ctx.stream():
            run_threads(2, lambda _: self.assertIsNone(ruda.current_stream()))

    def test_stream_of_another_context_is_not_taken(self):
        one, two = ruda.Context("cpu"), ruda.Context("cpu")
        t = two.tensor([1.0])
        with one.stream():
            self.assertEqual(t.tolist(), [1])

    @unittest.skipUnless(hasattr(os, "fork"), "no fork here")
    def test_fork(self):
        ctx = ruda.Context("cpu")
        x = ctx.full((256, 512), 2.0)
        gamma = ctx.full(512, 3.0)
        drain = ruda.LogDrain(ctx, interval=0.01)
        ruda.rms_norm(x, gamma, 1e-6)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            text = b"no"
            try:
                y = ruda.rms_norm(x, gamma, 1e-6)
                value = y[255, 511].item()
                drain.close()
                x.close()
                ruda.Context("cpu").zeros(4).tolist()
                text = b"ok" if abs(value - 3) < 1e-5 else str(value).encode()
            except BaseException as error:  # the parent shows it
                text = repr(error).encode()
            os.write(write, text)
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            self.assertEqual(pipe.read(), b"ok")
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        drain.close()
        self.assertAlmostEqual(x[0, 0].item(), 2)

    def test_exit_with_live_objects(self):
        code = """
import sys, threading, ruda
ctx = ruda.Context("cpu")
keep = [ctx.zeros(4), ctx.stream(), ctx.wrap(bytearray(16), "f32"), ruda.LogDrain(ctx, interval=0.001)]
sys.modules["keep_me"] = keep
globals_cycle = [keep]; globals_cycle.append(globals_cycle)
threading.Thread(target=lambda: [ctx.zeros(1 << 16).tolist() for _ in range(1000)], daemon=True).start()
"""
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
