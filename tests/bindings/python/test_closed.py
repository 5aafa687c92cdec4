# tests/bindings/python/test_closed.py - every method and property of a closed object refuses in the same words.
# SPDX-License-Identifier: Apache-2.0
import functools
import inspect
import os
import unittest

import ruda

MODEL = os.environ["RUDA_TINY_MODEL"]
NOUNS = {"cancel": "cancel token", "paged_schedule": "paged schedule"}
# What the raw functions call the object where it is not its kind.
NAMES = {"paged_schedule": "schedule"}
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]
BINARY = [f"__{place}{name}__" for place in ("", "r", "i") for name in BINARY]
SPECIAL = ["__enter__", "__len__", "__getitem__", "__setitem__", "__bool__", "__matmul__", "__array__", "__call__", "__dlpack__",
           "__dlpack_device__", "__neg__", "__abs__", "__invert__", *BINARY]


class ClosedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ctx = ruda.Context("cpu")
        cls.other = cls.ctx.zeros((1, 2))
        cls.stream = cls.ctx.stream()

    def refuses(self, kind, what, call, *arguments, name=None, **named):
        with self.assertRaises(ValueError, msg=what) as caught:
            call(*arguments, **named)
        names = [name] if name else {kind, NAMES.get(kind, kind)}
        texts = [f"{n}: closed, expected an open {NOUNS.get(kind, kind)}" for n in names]
        self.assertIn(str(caught.exception), texts, what)
        self.assertIs(type(caught.exception), ValueError, what)

    def every_member(self, thing, **arguments):
        """arguments: those of the methods that need some."""
        kind = thing.KIND
        thing.close()
        self.assertTrue(thing.closed)
        thing.close()
        repr(thing)
        for name, member in inspect.getmembers(type(thing)):
            if name in ("close", "closed", "KIND") or isinstance(vars(type(thing)).get(name), staticmethod):
                continue
            if name.startswith("_") and name not in SPECIAL or member is type or name in arguments and arguments[name] is None:
                continue
            what = f"{type(thing).__name__}.{name}"
            if isinstance(member, property):
                self.refuses(kind, what, getattr, thing, name)
            elif callable(member):
                given = arguments.get(name, ())
                named = given if isinstance(given, dict) else {}
                call = functools.partial(getattr(thing, name), *(() if named else given), **named)
                self.refuses(kind, what, call)

    def test_context(self):
        self.every_member(
            ruda.Context("cpu"), empty=(2,), zeros=(2,), full=(2, 1.0), tensor=([1.0],), wrap=(bytearray(4),),
            workspace=(64,), set_log_level=("info",), live_objects=(),
        )

    def test_stream_and_event(self):
        event = self.ctx.event()
        self.every_member(self.ctx.stream(), wait=(event,))
        self.every_member(self.ctx.event(), record=(self.stream,), elapsed=(event,))
        self.assertIs(type(self.ctx.workspace(64)), ruda.Workspace)
        self.every_member(ruda.Workspace(self.ctx, 64))
        self.every_member(ruda.Cancel())

    def test_tensor(self):
        self.every_member(
            self.ctx.zeros((1, 2)), write=(bytes(8),), read_into=(bytearray(8),), fill=(1.0,), cast=("f64",),
            copy_to=(self.other,), reshape=(2,), view=(2,), permute=(1, 0), broadcast_to=(2, 2),
            fence=(self.stream,), __getitem__=(0,), __setitem__=(0, 1), __matmul__=(self.other,),
            **{name: (self.other,) for name in BINARY},
        )

    def test_plan_and_schedule(self):
        plan = ruda.plans.unary(self.ctx, x=self.other, op="neg")
        self.every_member(plan, execute={"x": self.other, "y": self.other}, __call__={"x": self.other, "y": self.other})
        self.every_member(
            ruda.PagedSchedule(self.ctx, page_size=2, pages=4, max_sequences=1, max_queries=1, max_table_pages=2),
            set=([[0]], [1], [0], [0]),
        )

    def test_models(self):
        self.every_member(ruda.Store(MODEL), name=(0,), find=("x",), tensor=(self.ctx, 0), load={"name": 0, "stream": self.stream})
        self.every_member(
            ruda.Tokenizer(ruda.Store(MODEL)), encode=("a",), decode=([1],), token_text=(1,), token_id=("a",), is_end=(1,),
            render=([("user", "a")],),
        )
        model = ruda.Model.load(self.ctx, MODEL)
        messages = [("user", "a")]
        self.every_member(
            model.session(), prompt=("a",), prompt_chat=(messages,), chat=(messages,), rewind=(0,),
        )
        self.every_member(model)
        store = ruda.Store(MODEL)
        store.close()
        self.refuses("store", "Model.load", ruda.Model.load, self.ctx, store)
        self.refuses("store", "Tokenizer", ruda.Tokenizer, store)

    def test_arguments(self):
        """A closed argument is refused by the name of the parameter."""
        closed, x = self.ctx.zeros((1, 2)), self.other
        closed.close()
        for call, name in (
            (lambda: x.copy_to(closed), "to"),
            (lambda: ruda.binary(x, closed, "add"), "b"),
            (lambda: ruda.matmul(x, x.T, closed), "bias"),
            (lambda: ruda.plans.unary(self.ctx, x=x, op="neg")(x=x, y=closed), "y"),
        ):
            self.refuses("tensor", name, call, name=name)
        gone = ruda.Context("cpu")
        gone.close()
        for call in (lambda: ruda.Stream(gone), lambda: ruda.plans.unary(gone, x=x, op="neg"), lambda: ruda.LogDrain(gone)):
            self.refuses("context", "context", call)
        # What was made from a closed context lives on; a call that needs a stream of it says why there is none.
        with ruda.Context("cpu") as ended:
            mark = ended.event()
            schedule = ruda.PagedSchedule(
                ended, page_size=2, pages=4, max_sequences=1, max_queries=1, max_table_pages=2
            )
            plan = ruda.plans.unary(ended, x=ruda.TensorDesc((1, 2)), op="neg")
        for call in (mark.record, schedule.advance, plan.warm):
            self.refuses("context", call.__qualname__, call)
        event, cancel = self.ctx.event(), ruda.Cancel()
        event.close()
        cancel.close()
        self.refuses("event", "later", self.ctx.event().elapsed, event, name="later")
        self.refuses("event", "wait", self.stream.wait, event)
        with ruda.Model.load(self.ctx, MODEL) as model, model.session() as session:
            self.refuses("cancel", "generate", session.generate, cancel=cancel)
            self.refuses("cancel", "chat", session.chat, [("user", "a")], cancel=cancel)
            self.refuses("cancel", "prompt", session.prompt, "a", cancel=cancel)

    def test_tensor_without_its_context(self):
        context = ruda.Context("cpu")
        t = context.tensor([1.0, 2.0])
        context.close()
        self.assertEqual(t.__dlpack_device__(), (1, 0))
        t.__dlpack__(copy=True)
        self.assertEqual([(1 - t).tolist(), (t - 1).tolist()], [[1 - v for v in t.tolist()], [v - 1 for v in t.tolist()]])
        with ruda.from_dlpack(t, context=self.ctx) as shared:
            self.assertEqual(shared.tolist(), [1.0, 2.0])


if __name__ == "__main__":
    unittest.main()
