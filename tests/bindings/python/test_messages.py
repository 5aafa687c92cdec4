# tests/bindings/python/test_messages.py - what a refusal says: the name in Python, the value, what is expected.
# SPDX-License-Identifier: Apache-2.0
import os
import unittest

import ruda

MODEL = os.environ["RUDA_TINY_MODEL"]


class MessageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ctx = ruda.Context("cpu")
        cls.model = ruda.Model.load(cls.ctx, MODEL)

    def refuses(self, error, text, call, *arguments, **named):
        with self.assertRaises(error) as caught:
            call(*arguments, **named)
        self.assertIn(text, str(caught.exception))

    def test_names_of_c_are_not_shown(self):
        text = "RUDA_E_ARGUMENT: host_threads is 100000, expected 0..4096"
        self.refuses(ruda.ArgumentError, text, ruda.Context, "cpu", host_threads=100000)
        sizes = dict(page_size=0, pages=1, max_sequences=1, max_queries=1, max_table_pages=1)
        self.refuses(ruda.ArgumentError, "ARGUMENT: page_size is 0, expected 1..", ruda.PagedSchedule, self.ctx, **sizes)
        self.refuses(ruda.ArgumentError, "ARGUMENT: batch_tokens is 99999, expected", self.model.session, batch_tokens=99999)
        x = self.ctx.zeros((1, 4))
        self.refuses(ruda.Error, 'softmax: kernel is "cpu/none", which', ruda.plans.softmax, self.ctx, x=x, kernel="cpu/none")
        with self.model.session() as session:
            self.refuses(ruda.ArgumentError, "ARGUMENT: top_p is 2, expected above 0", session.set_sampling, top_p=2)
            text = "FORMAT: variables is not a JSON object"
            self.refuses(ruda.FileError, text, session.prompt_chat, [("user", "x")], variables=3)

    def test_none_is_no_text(self):
        """Where a text is needed; NULL is a word of C."""
        with ruda.Store(MODEL) as store, self.model.session() as session:
            self.refuses(TypeError, "name is None, expected a text", store.find, None)
            self.refuses(TypeError, "messages is None, expected a list", session.prompt_chat, None)
            self.refuses(TypeError, "messages is an int, expected a list", self.model.tokenizer.render, 3)
        self.refuses(TypeError, "op is None, expected a text", ruda.op_kernels, None)

    def test_plans(self):
        x = self.ctx.zeros((1, 4))
        self.refuses(ruda.ArgumentError, "ARGUMENT: autotune is 5, expected 0..1", ruda.plans.softmax, self.ctx, x=x, autotune=5)
        text = 'softmax has no parameter "bogus": it has x, y, and the options strategy, kernel, math, determinism, '
        self.refuses(ruda.ArgumentError, text + "workspace_limit_bytes, autotune", ruda.plans.softmax, self.ctx, x=x, bogus=1)
        text = 'reduce has no parameter "axis": it has op, x, y, axes, keepdims, dtype, and the options strategy'
        self.refuses(ruda.ArgumentError, text, ruda.plans.reduce, self.ctx, x=x, op="sum", axis=0)
        q, cache = self.ctx.zeros((1, 1, 4)), self.ctx.zeros((1, 4, 1, 4))
        with ruda.plans.paged_attention(self.ctx, q=q, k=cache, v=cache, scale=1.0) as plan:
            text = "schedule is a Tensor of shape [1, 4], expected a PagedSchedule"
            self.refuses(TypeError, text, plan, q=q, k=cache, v=cache, out=q, schedule=x)
            self.refuses(TypeError, "schedule is an int, expected a PagedSchedule", plan, q=q, k=cache, v=cache, out=q, schedule=1)
        with ruda.plans.softmax(self.ctx, x=x) as plan:
            self.refuses(TypeError, "x is a Context, expected a tensor", plan, x=self.ctx, y=x)
            self.refuses(TypeError, "x is an int, expected a tensor", plan, x=1, y=x)
        text = "splits is -1, expected one of Splits: auto, or a number from 0 to 4294967295"
        self.refuses(ValueError, text, ruda.plans.paged_attention, self.ctx, q=q, k=cache, v=cache, scale=1.0, splits=-1)
        self.refuses(ValueError, "strides has 1 number, expected 2 as shape", ruda.TensorDesc, (2, 2), strides=(1,))

    def test_loading(self):
        text = "source is None, expected the path of a GGUF file, or a Store"
        self.refuses(TypeError, text, ruda.Model.load, self.ctx, None)
        self.refuses(TypeError, "source is an int, expected the path", ruda.Model.load, self.ctx, 3)
        text = "progress is 3, expected a function of two numbers, done and total"
        self.refuses(TypeError, text, ruda.Model.load, self.ctx, MODEL, progress=3)
        self.refuses(TypeError, "path is None, expected the path of a file", ruda.Store, None)

    def test_texts(self):
        tokenizer = self.model.tokenizer
        self.refuses(TypeError, "text is None, expected a text", tokenizer.encode, None)
        self.refuses(TypeError, "text is a list, expected a text", tokenizer.encode, ["x"])
        self.refuses(TypeError, "text is an int, expected a text", tokenizer.token_id, 3)

    def test_sessions(self):
        with self.model.session() as session:
            for nothing in ("", b"", []):
                self.refuses(ruda.ArgumentError, "tokens is empty, expected at least 1 token", session.prompt, nothing)
            text = "messages is empty, expected at least 1 message"
            self.refuses(ruda.ArgumentError, text, session.prompt_chat, [])
            self.refuses(ruda.ArgumentError, text, list, session.chat([]))
            session.prompt([1, 2, 3])
            text = "expected 0 to 3, the tokens that the session holds"
            self.refuses(ruda.ArgumentError, f"count is 9999, {text}", session.rewind, 9999)
            self.refuses(OverflowError, f"count is -1, {text}", session.rewind, -1)
            self.refuses(TypeError, "count is 'x', expected an integer", session.rewind, "x")
            self.assertEqual(session.token_count, 3)
            text = "stops[1] holds a lone surrogate at index 1, expected none"
            self.refuses(ValueError, text, session.generate, stops=["b", "a\ud800"])
            said, lone = "holds a lone surrogate at index 1, expected none", "a\ud800b"
            tokenizer, stores = self.model.tokenizer, ruda.Store(MODEL)
            for name, call in {
                "text": lambda: tokenizer.encode(lone),
                "text ": lambda: tokenizer.token_id(lone),
                "text  ": lambda: session.prompt(lone),
                "role": lambda: session.prompt_chat([(lone, "")]),
                "content": lambda: list(session.chat([("user", lone)])),
                "name": lambda: tokenizer.render([("user", "")], template=lone),
                "name ": lambda: stores.find(lone),
                "op": lambda: ruda.op_kernels(lone),
                "path": lambda: ruda.Store(lone),
                "kernel": lambda: ruda.plans.softmax(self.ctx, x=ruda.TensorDesc((2, 2)), kernel=lone),
            }.items():
                place = ": messages[0]" if name in ("role", "content") else ""
                self.refuses(ValueError, f"{name.rstrip()} {said}{place}", call)
            with self.assertRaisesRegex(ValueError, "variables holds a lone surrogate at index 8, expected none"):
                tokenizer.render([("user", "")], variables={"a": lone})
            text = "chat() got an unexpected keyword argument 'bogus'"
            self.refuses(TypeError, text, session.chat, [("user", "x")], bogus=1)

    def test_plans_without_an_eager_form(self):
        only = set(ruda.plans.__all__) - set(ruda._ops.__all__)
        self.assertEqual(only, {"copy", "rope_append", "rope_attention"})  # as the guide says
        for name in only:
            self.refuses(AttributeError, f"{name} has no eager form: ruda.plans.{name}", getattr, ruda, name)
        self.refuses(AttributeError, "module 'ruda' has no attribute 'nonsense'", getattr, ruda, "nonsense")

    def test_help(self):
        for text in (
            "  theta: above 0, no default; not read when the frequencies are a tensor\n",
            "  beta_fast, beta_slow: yarn: turns over the trained context",
            "  low_frequency_factor: llama3; 0 = 1\n",
        ):
            self.assertIn(text, ruda.rope.__doc__)
            self.assertIn(text, ruda.plans.rope.__doc__)
        for text in ("  causal: 0 or 1\n", "  scale: of the scores, finite and above 0", "  splits: parts of a history"):
            self.assertIn(text, ruda.paged_attention.__doc__)
            self.assertIn(text, ruda.plans.paged_attention.__doc__)
        self.assertIn("  y: None = contiguous, as x\n", ruda.plans.softmax.__doc__)
        self.assertIn("  autotune: 1 = Plan.warm times the kernels", ruda.plans.softmax.__doc__)
        for module in (ruda._ops, ruda.plans):
            for name in module.__all__:
                self.assertNotRegex(getattr(module, name).__doc__, r"\[[TIS]\]|\*out|\bNULL\b|Eager form", name)

    def test_texts_of_objects(self):
        x = self.ctx.zeros((1, 4))
        cancel, session = ruda.Cancel(), self.model.session(token_capacity=32)
        plan = ruda.plans.softmax(self.ctx, x=x, kernel="cpu/softmax/scalar")
        schedule = ruda.PagedSchedule(
            self.ctx, page_size=4, pages=1, max_sequences=1, max_queries=1, max_table_pages=1
        )
        self.assertEqual(repr(schedule), "<ruda.PagedSchedule 0 sequences, 0 queries, 1 page of 4>")
        text = "lengths[0] is 5, which needs 2 pages of 4, the table has 1 a row"
        self.refuses(ruda.ArgumentError, text, schedule.set, [[0]], [5], [0], [0])
        text = "tables[0][0] is 1, expected below 1: length 1 needs 1 page"
        self.refuses(ruda.ArgumentError, text, schedule.set, [[1]], [1], [0], [0])
        with self.assertRaises(ruda.ArgumentError) as caught:
            schedule.set([[1]], [1], [0], [0])
        self.assertTrue(str(caught.exception).endswith(" page"))
        schedule.set([[0]], [1], [0], [0])
        self.assertEqual(repr(schedule), "<ruda.PagedSchedule 1 sequence, 1 query, 1 page of 4>")
        self.assertEqual(repr(session), "<ruda.Session 0 of 32 tokens>")
        self.assertEqual(repr(plan), "<ruda.Plan softmax by cpu/softmax/scalar>")
        self.assertEqual(repr(cancel), "<ruda.Cancel not requested>")
        cancel.request()
        self.assertEqual(repr(cancel), "<ruda.Cancel requested>")
        self.assertEqual(repr(x), "<ruda.Tensor F32 [1, 4]>")
        model, tokenizer = self.model, self.model.tokenizer
        self.assertEqual(repr(tokenizer), f"<ruda.Tokenizer of {tokenizer.vocab_size} tokens>")
        text = f"<ruda.Model {model.architecture} {model.name!r}, {model.layer_count} layer"
        self.assertEqual(repr(model).rstrip("s>"), text)
        for thing in (schedule, session, plan, cancel, x, tokenizer):
            thing.close()
            self.assertEqual(repr(thing), f"<ruda.{type(thing).__name__} closed>")
        self.assertEqual(repr(ruda.Session.__new__(ruda.Session)), "<ruda.Session>")

    def test_an_answer_that_was_cancelled_has_no_finish(self):
        with self.model.session() as session, ruda.Cancel() as cancel:
            session.prompt([1, 2, 3])
            list(session.generate(max_tokens=1))
            self.assertEqual(session.finish, ruda.Finish.LENGTH)
            cancel.request()
            self.refuses(ruda.CancelledError, "cancelled", list, session.generate(cancel=cancel))
            self.assertEqual(session.finish, ruda.Finish.NONE)
        self.assertIn("a cancel or another error", ruda.Session.finish.__doc__)


if __name__ == "__main__":
    unittest.main()
