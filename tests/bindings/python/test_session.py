# tests/bindings/python/test_session.py - stores, tokenizers, models and sessions of the Python package.
# SPDX-License-Identifier: Apache-2.0
"""The environment variable RUDA_TINY_MODEL names the model that tests/data/tiny_model.py writes."""

import os
import signal
import threading
import time
import unittest
from unittest import mock

import ruda
from ruda._session import StopText, pack_messages

MODEL = os.environ["RUDA_TINY_MODEL"]
QUESTION = [{"role": "user", "content": "What is a tensor?"}]


class StopTextTest(unittest.TestCase):
    def run_stops(self, stops, pieces):
        stop, shown = StopText(stops), []
        for piece in pieces:
            text, found = stop.push(piece)
            shown.append(text)
            if found:
                return shown, True
        return shown + [stop.rest()], False

    def test_cases(self):
        self.assertEqual(self.run_stops([], ["a", "b"]), (["a", "b", ""], False))
        self.assertEqual(self.run_stops(["END"], ["xE", "N", "Dy"]), (["x", "", ""], True))
        self.assertEqual(self.run_stops(["END"], ["xE", "Nz"]), (["x", "ENz", ""], False))
        self.assertEqual(self.run_stops(["END"], ["xEN"]), (["x", "EN"], False))
        self.assertEqual(self.run_stops(["bc", "abcd"], ["ab", "c"]), (["", "a"], True))
        self.assertEqual(self.run_stops("bc", ["abc"]), (["a"], True))

    def test_faults(self):
        for stops, error, text in (
            ("", ValueError, r"stops\[0\] is empty"),
            (["a", ""], ValueError, r"stops\[1\] is empty"),
            ([3], TypeError, r"stops\[0\] is 3, expected a text"),
            (["a", None], TypeError, r"stops\[1\] is None, expected a text"),
            (None, TypeError, "stops is None, expected texts"),
        ):
            with self.assertRaisesRegex(error, text):
                StopText(stops)


class SessionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ctx = ruda.Context("cpu")
        cls.model = ruda.Model.load(cls.ctx, MODEL)

    @classmethod
    def tearDownClass(cls):
        cls.model.close()
        cls.ctx.close()

    def test_store(self):
        with ruda.Store(MODEL) as store:
            names = store.names()
            self.assertIn("token_embd.weight", names)
            self.assertEqual(store.find(names[1]), 1)
            t = store.tensor(self.ctx, "token_embd.weight")
            self.assertTrue(t.read_only)
            copy = store.load("token_embd.weight", stream=self.ctx.stream())
            self.assertEqual((copy.read_only, copy.tobytes()), (False, t.tobytes()))
            with self.ctx.stream():
                self.assertEqual(store.load(1).shape, store.tensor(self.ctx, 1).shape)
        self.assertEqual(len(t.shape), 2)  # the file stays mapped as long as a tensor of it lives
        with self.assertRaises(ruda.FileError):
            ruda.Store("/nonexistent.gguf")
        with self.assertRaises(ruda.FileError):
            ruda.Store(__file__)
        with self.assertRaises(ruda.ArgumentError):
            ruda.Store("a\0b")

    def test_tokenizer(self):
        t = self.model.tokenizer
        for text in ("", "Hello wörld", "世界 🙂", "a\0b"):
            self.assertEqual(t.decode(t.encode(text)), text)
        self.assertEqual(t.decode(t.encode(b"\xff")), "\ufffd")
        self.assertEqual(b"".join(map(t.token_text, t.encode(b"\xffx"))), b"\xffx")
        end = t.token_id("<|im_end|>")
        for text in ("<|im_end|>\0", b"<|im_end|>\0junk"):
            with self.assertRaisesRegex(ruda.ArgumentError, "text holds a NUL at byte 10, expected none"):
                t.token_id(text)
        self.assertTrue(t.is_end(end))
        self.assertEqual(t.encode("<|im_end|>", parse_special=True), [end])
        self.assertGreater(len(t.encode("<|im_end|>")), 1)
        with self.assertRaises(ruda.ArgumentError):
            t.decode([1 << 30])
        with self.assertRaises(ruda.ArgumentError):
            t.decode([1 << 40])

    def test_template(self):
        t = self.model.tokenizer
        text = t.render([("user", "Hi"), {"role": "assistant", "content": ""}], add_generation_prompt=False)
        self.assertEqual(text, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n")
        self.assertTrue(t.render(QUESTION).endswith("<|im_start|>assistant\n"))
        self.assertEqual(pack_messages([("a", "é")]), b"a\x002\0\xc3\xa9")
        self.assertEqual(pack_messages([{"role": "a", "content": None}]), b"a\x000\0")
        for wrong in ("Hi", {"role": "user", "content": "Hi"}, [{"role": "user"}], ["Hi"], [("a", ["part"])]):
            with self.assertRaises(TypeError):
                t.render(wrong)
        with self.assertRaises(ValueError):
            t.render([("a\0b", "")])

    def test_answer_repeats(self):
        answers = set()
        for _ in range(2):
            with self.model.session() as session:
                answers.add("".join(session.chat(QUESTION, max_tokens=20)))
                self.assertIn(session.finish, (ruda.Finish.LENGTH, ruda.Finish.EOS))
                self.assertLessEqual(session.generated_tokens, 20)
        self.assertEqual(len(answers), 1)

    def test_seeds(self):
        def answer(seed):
            with self.model.session() as session:
                session.set_sampling(temperature=1.0, seed=seed)
                return "".join(session.chat(QUESTION, max_tokens=20))

        self.assertEqual(answer(5), answer(5))
        self.assertGreater(len({answer(seed) for seed in range(5)}), 1)

    def test_tokens_and_rewind(self):
        with self.model.session(token_capacity=100) as session:
            tokens = self.model.tokenizer.encode("some words")
            session.prompt(tokens)
            self.assertEqual((session.tokens(), session.token_count, session.token_capacity), (tokens, len(tokens), 100))
            logits = session.logits(self.model.vocab_size)
            self.assertEqual(session.logits(), logits)
            best = max(range(len(logits)), key=lambda i: (logits[i], -i))
            self.assertEqual(session.next()[0], best)
            session.rewind(2)
            self.assertEqual(session.tokens(), tokens[:2])
            session.prompt(tokens)
            self.assertEqual(session.reused_tokens, 2)
            self.assertEqual(session.next()[0], best)
            session.prompt("some words")
            self.assertEqual(session.next()[0], best)

    def test_stops(self):
        with self.model.session() as session:
            whole = "".join(session.chat(QUESTION, max_tokens=30))
            stop = whole[4:6]
            shown = "".join(session.chat(QUESTION, max_tokens=30, stops=[stop]))
            self.assertEqual(shown, whole[: whole.find(stop)])
            self.assertEqual(session.finish, ruda.Finish.STOP)

    def test_early_end_keeps_held_text(self):
        """The second stop text holds back what the first one lets go, but for a character."""
        with self.model.session() as session, ruda.Cancel() as cancel:
            whole = "".join(session.chat(QUESTION, max_tokens=30))
            stops = [whole[1:5] + "ZZ", whole[2:] + "ZZ"]
            for by_cancel in (False, True):
                session.rewind(0)
                pieces, shown = session.chat(QUESTION, max_tokens=30, stops=stops, cancel=cancel), ""
                while len(shown) < 2:
                    shown += next(pieces)
                self.assertEqual(shown, whole[:2])
                if by_cancel:
                    cancel.request()
                    with self.assertRaises(ruda.CancelledError):
                        next(pieces)
                    cancel.reset()
                left = 30 - session.generated_tokens
                if by_cancel:
                    shown += session.next()[1]
                    left -= 1
                    self.assertGreater(len(shown), 5)
                self.assertEqual(shown + "".join(session.generate(max_tokens=left)), whole)
            for forget in (lambda: session.rewind(0), lambda: session.prompt("other")):
                session.rewind(0)
                next(session.chat(QUESTION, stops=[whole[1:] + "ZZ"]))
                forget()
                session.prompt("other")
                self.assertNotIn(whole[1:4], session.next()[1])

    ENDED = "session: this answer ended when a later call changed the session, expected one answer read at a time"

    def ended(self, pieces):
        """The answer is refused once, then has no more pieces."""
        with self.assertRaises(ruda.ArgumentError) as caught:
            next(pieces)
        self.assertEqual((caught.exception.status, caught.exception.message), (ruda.Status.E_STATE, self.ENDED))
        self.assertEqual(list(pieces), [])

    def test_one_answer_at_a_time(self):
        """Whatever changes the session ends the answer that was being read; the newer one is as if alone."""
        with self.model.session() as session:
            whole = "".join(session.chat(QUESTION, max_tokens=20))
            for change in (
                lambda: session.prompt("other"),
                lambda: session.prompt([1, 2]),
                lambda: session.prompt_chat(QUESTION),
                lambda: session.rewind(1),
                lambda: session.next(),
                lambda: next(session.generate(max_tokens=3)),
                lambda: list(session.generate(max_tokens=1)),
                lambda: next(session.chat(QUESTION)),
            ):
                session.rewind(0)
                older = session.chat(QUESTION, max_tokens=20)
                next(older)
                change()
                held, finish = session.tokens(), session.finish
                self.ended(older)
                self.assertEqual((session.tokens(), session.finish), (held, finish))
            session.rewind(0)
            older, newer = session.chat(QUESTION, max_tokens=20), session.chat(QUESTION, max_tokens=20)
            next(older)
            session.rewind(0)
            text = next(newer)
            self.ended(older)
            self.assertEqual(text + "".join(newer), whole)
            self.assertEqual(list(newer), [])
            # Begun is an answer when its first piece is asked for.
            session.rewind(0)
            first, second = session.chat(QUESTION, max_tokens=20), session.generate(max_tokens=2)
            self.assertEqual("".join(first), whole)
            self.assertLessEqual(len(list(second)), 3)
            # An answer that was given up leaves the session as it is.
            session.rewind(0)
            left = session.chat(QUESTION, max_tokens=20)
            begun = next(left)
            left.close()
            self.assertEqual(list(left), [])
            self.assertEqual(begun + "".join(session.generate(max_tokens=20 - session.generated_tokens)), whole)

    def test_what_does_not_end_an_answer(self):
        """Looking at the session, and calls that are refused, leave the answer alone."""
        with self.model.session() as session:
            whole = "".join(session.chat(QUESTION, max_tokens=20))
            session.rewind(0)
            pieces = session.chat(QUESTION, max_tokens=20)
            text = next(pieces)
            session.tokens(), session.token_count, session.finish, session.logits()
            for refused in (
                lambda: session.prompt([]),
                lambda: session.prompt([1 << 20]),
                lambda: session.prompt_chat([]),
                lambda: session.rewind(1 << 20),
                lambda: session.prompt("other", cancel=3),
                lambda: session.generate(stops=[""]),
                lambda: session.chat(QUESTION, max_tokens=-1),
            ):
                with self.assertRaises((ValueError, TypeError, OverflowError)):
                    refused()
            self.assertEqual(text + "".join(pieces), whole)

    def test_loads_at_once(self):
        slots, ruda._session._slots[:] = ruda._session._slots[:], []
        try:
            with self.assertRaisesRegex(RuntimeError, "64 models are being loaded already, expected at most 64 at once"):
                ruda.Model.load(self.ctx, MODEL)
        finally:
            ruda._session._slots[:] = slots
        ruda.Model.load(self.ctx, MODEL).close()

    def test_after_the_end(self):
        """An answer that has ended stays ended, whatever ended it."""
        with self.model.session() as session:
            for stops, count in (((), 3), ((), 0), (["e"], 0)):
                session.rewind(0)
                pieces = session.chat(QUESTION, max_tokens=count, stops=stops)
                list(pieces)
                held, finish = session.tokens(), session.finish
                self.assertIsNone(next(pieces, None))
                self.assertEqual(list(pieces), [])
                self.assertEqual((session.tokens(), session.finish), (held, finish))

    def test_signals(self):
        """Ctrl-C stops a prompt while the library computes it, with a token of the caller's or none."""

        def slow(session, text, token):
            calls.append(threading.get_ident())
            if len(calls) == 1:  # the signal arrives while the call lasts
                os.kill(os.getpid(), signal.SIGINT)
            while time.monotonic() < limit:  # until the token is raised
                raw(session, text, token)

        raw = ruda._session._raw.rudax_session_prompt_text
        before = signal.getsignal(signal.SIGINT)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with self.model.session() as session, ruda.Cancel() as cancel:
            for handler, given, error in (
                (signal.default_int_handler, None, KeyboardInterrupt),
                (signal.default_int_handler, cancel, KeyboardInterrupt),
                (lambda *_: cancel.request(), cancel, ruda.CancelledError),
            ):
                signal.signal(signal.SIGINT, handler)
                calls, limit = [], time.monotonic() + 30
                with mock.patch.object(ruda._session._raw, "rudax_session_prompt_text", slow):
                    with self.assertRaises(error):
                        session.prompt("a b", cancel=given)
                self.assertLess(time.monotonic(), limit)
                self.assertNotEqual(calls[0], threading.get_ident())
                self.assertEqual((cancel.requested, cancel._followers), (handler is not signal.default_int_handler, []))
            cancel.reset()
            session.prompt("a b", cancel=cancel)
            with self.assertRaisesRegex(ruda.ArgumentError, "too|room"):  # errors keep class and text
                session.prompt([1] * (session.token_capacity + 1))
            there = []
            thread = threading.Thread(target=lambda: there.append(session.prompt("c", cancel=cancel)))
            thread.start()
            thread.join()
            self.assertEqual(there, [None])

    def test_cancelled_prompt(self):
        # The same words whether the token is seen before a step or within one.
        with self.model.session() as session, ruda.Cancel() as cancel:
            cancel.request()
            for prompt in ([1, 2], "a", list(range(1, 200))):
                with self.assertRaises(ruda.CancelledError) as caught:
                    session.prompt(prompt, cancel=cancel)
                self.assertEqual(caught.exception.message, "the call was cancelled by its token")

    def test_cancel(self):
        with self.model.session() as session, ruda.Cancel() as cancel:
            pieces = session.chat(QUESTION, cancel=cancel)
            next(pieces)
            cancel.request()
            with self.assertRaises(ruda.CancelledError):
                for _ in pieces:
                    pass
            with self.assertRaises(ruda.CancelledError):
                session.prompt("another text", cancel=cancel)
            cancel.reset()
            session.prompt("another text", cancel=cancel)

    def test_progress_and_faults(self):
        seen = []
        ruda.Model.load(self.ctx, MODEL, progress=lambda done, total: seen.append((done, total))).close()
        self.assertTrue(all(done <= total for done, total in seen))
        self.assertEqual(seen[-1][0], seen[-1][1])
        self.assertGreater(seen[-1][1], 0)
        # The load before tells nothing of one that has not begun.
        load, began = ruda._session._raw.rudax_model_load, []

        def late(*arguments):
            time.sleep(0.2)
            began.append(True)
            return load(*arguments)

        with mock.patch.object(ruda._session._raw, "rudax_model_load", late):
            ruda.Model.load(self.ctx, MODEL, progress=lambda *_: self.assertTrue(began)).close()
        live = self.ctx.live_objects
        with self.assertRaises(KeyError):
            ruda.Model.load(self.ctx, MODEL, progress=lambda done, total: {}[done])
        self.assertEqual(self.ctx.live_objects, live)
        with self.model.session() as session:
            for call in (session.generate, lambda **named: session.chat(QUESTION, **named)):
                with self.assertRaisesRegex(ValueError, r"stops\[0\] is empty"):
                    call(stops=[""])
        with self.assertRaises(ruda.FileError):
            ruda.Model.load(self.ctx, "/nonexistent.gguf", progress=lambda *_: None)
        with self.model.session() as session, self.assertRaises(ruda.ArgumentError):
            session.next()
        with self.model.session(token_capacity=4) as session, self.assertRaises(ruda.ArgumentError):
            session.prompt([1] * 5)
        with self.assertRaises(TypeError):
            ruda.Session()
        with self.model.session() as session, self.assertRaises(ValueError):
            list(session.chat(QUESTION, max_tokens=-1))
        with self.model.session() as session:
            for tokens in ([5e-324 * 7], [1.5]):
                with self.assertRaisesRegex(TypeError, "tokens is .*, expected integers"):
                    session.prompt(tokens)
                with self.assertRaisesRegex(TypeError, "tokens is .*, expected integers"):
                    self.model.tokenizer.decode(tokens)
        with self.model.session() as session, self.assertRaisesRegex(TypeError, "max_tokens is 1.5, expected"):
            list(session.chat(QUESTION, max_tokens=1.5))
        with self.model.session() as session, self.assertRaises(ruda.ArgumentError) as caught:
            list(session.chat([]))
        self.assertIn("messages is empty, expected at least 1 message", str(caught.exception))

    def test_sessions_in_parallel(self):
        want = "".join(self.model.session().chat(QUESTION, max_tokens=16))
        got = []

        def work():
            with self.model.session() as session:
                got.append("".join(session.chat(QUESTION, max_tokens=16)))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(got, [want] * 4)

    def test_model_first(self):
        model = ruda.Model.load(self.ctx, MODEL)
        session = model.session()
        model.close()
        self.assertTrue("".join(session.chat(QUESTION, max_tokens=4)) is not None)
        session.close()
        with self.assertRaises(ValueError):
            session.next()

    def test_close_during_generation(self):
        for _ in range(20):
            session = self.model.session()

            def generate(session=session):
                try:
                    for _ in session.chat(QUESTION, max_tokens=50):
                        pass
                except ValueError:  # closed
                    pass

            thread = threading.Thread(target=generate)
            thread.start()
            session.close()
            thread.join()


if __name__ == "__main__":
    unittest.main()
