# tests/bindings/python/texts.py - the texts of refused calls in Python, for the comparison of the languages.
# SPDX-License-Identifier: Apache-2.0
"""usage: texts.py MODEL    prints "case|text" for each call"""

import array
import sys

import ruda


def main():
    ctx = ruda.Context("cpu")
    stream = ctx.stream()
    x, y, closed = ctx.tensor([1.0, 2.0]), ctx.zeros(2), ctx.zeros(2)
    closed.close()
    store = ruda.Store(sys.argv[1])
    model = ruda.Model.load(ctx, store)
    session, gone, cancel = model.session(), model.session(), ruda.Cancel()
    question = [("user", "What is a tensor?")]
    gone.close()
    cancel.close()
    schedule = ruda.PagedSchedule(ctx, page_size=2, pages=4, max_sequences=2, max_queries=2, max_table_pages=2)
    plan = ruda.plans.binary(ctx, a=x, op="add")
    paged = {"q": ruda.TensorDesc((1, 1, 1)), "k": ruda.TensorDesc((1, 1, 1, 1)), "v": ruda.TensorDesc((1, 1, 1, 1)), "scale": 1.0}

    def older():
        pieces = session.chat(question)
        next(pieces)
        session.rewind(0)
        next(pieces)

    calls = {
        "closed self": lambda: gone.finish,
        "closed tensor": lambda: closed.shape,
        "closed parameter": lambda: x.copy_to(closed),
        "closed operand": lambda: ruda.binary(x, closed, 1),
        "closed operand of a plan": lambda: plan(a=x, y=closed, scalar=1.0),
        "closed token": lambda: session.generate(cancel=cancel),
        "absent tensor": lambda: ruda.binary(x, None, 1),
        "absent parameter": lambda: x.copy_to(None),
        "absent context": lambda: ruda.Stream(None),
        "absent store": lambda: ruda.Tokenizer(None),
        "older answer": older,
        "empty stop": lambda: session.generate(stops=["a", ""]),
        "absent stop": lambda: session.generate(stops=[None]),
        "count of tokens": lambda: session.generate(max_tokens=-1),
        "role": lambda: session.prompt_chat([("a\0b", "")]),
        "surrogate": lambda: model.tokenizer.encode("a\ud800b"),
        "no message": lambda: session.prompt_chat([]),
        "size of the vocabulary": lambda: session.logits(-1),
        "too far": lambda: session.rewind(1 << 20),
        "absent text": lambda: ruda.op_kernels(None),
        "absent name": lambda: store.find(None),
        "absent messages": lambda: session.prompt_chat(None),
        "sampling": lambda: session.set_sampling(top_p=2.0),
        "variables": lambda: session.prompt_chat(question, variables=3),
        "kernel": lambda: ruda.plans.softmax(ctx, x=x, kernel="cpu/none"),
        "text of a name": lambda: ruda.op_kernels("copy\0"),
        "function": lambda: ruda.binary(x, x, 999),
        "function below": lambda: ruda.binary(x, x, -1),
        "splits": lambda: ruda.paged_attention(schedule, x, x, x, 1.0, causal=0, splits=-2),
        "splits of a plan": lambda: ruda.plans.paged_attention(ctx, **paged, splits=-2),
        "many splits of a plan": lambda: ruda.plans.paged_attention(ctx, **paged, splits=1 << 32),
        "splits by name": lambda: ruda.plans.paged_attention(ctx, **paged, splits="many"),
        "overflow": lambda: x.cast(ruda.F8E4M3, overflow=3),
        "overflow of a dtype": lambda: x.cast(ruda.F16, overflow=1),
        "dtype": lambda: ctx.empty(1, 99),
        "backend": lambda: ruda.Context(9),
        "log level": lambda: ruda.Context("cpu", log_level=7),
        "level": lambda: ctx.set_log_level(0),
        "backend to count": lambda: ruda.device_count(9),
        "strides": lambda: ruda.TensorDesc((2, 2), "f32", (1,)),
        "lengths": lambda: schedule.set([[0]], [1, 1], [0], [0]),
        "positions": lambda: schedule.set([[0]], [1], [0], [0, 1]),
        "page": lambda: schedule.set([[-2]], [1], [0], [0]),
        "length": lambda: schedule.set([[0]], [-1], [0], [0]),
        "operand": lambda: plan(z=x),
        "kind of an operand": lambda: plan(a=ctx, y=y, scalar=1.0),
        "number as a tensor": lambda: plan(a=x, y=y, scalar=x),
        "unbound": lambda: plan(a=x),
        "exact fill": lambda: ctx.empty(1, "i64").fill((1 << 60) + 1),
        "elements": lambda: x.read_into(array.array("d", [0.0, 0.0])),
        "too few bytes": lambda: x.read_into(bytearray(4)),
        "file": lambda: ruda.Store("/nonexistent.gguf"),
        "name in a file": lambda: store.find("none"),
        "shape": lambda: ruda.matmul(ctx.zeros((2, 3)), ctx.zeros((2, 3))),
        "view": lambda: x.view(3),
    }
    for name, call in calls.items():
        try:
            call()
            text = "nothing was refused"
        except Exception as error:
            text = str(error)
        print(f"{name}|{text}")


if __name__ == "__main__":
    main()
