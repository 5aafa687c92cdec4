# examples/python/matmul.py - a product of two matrices, and a product that is refused.
# SPDX-License-Identifier: Apache-2.0
import ruda

with ruda.Context("cpu") as ctx, ctx.stream():
    a = ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
    b = ctx.tensor([[5.0, 6.0], [7.0, 8.0]])
    print(*ruda.matmul(a, b).reshape(-1).tolist())
    try:
        ruda.matmul(a, ctx.zeros((3, 2)))
    except ruda.ArgumentError as error:
        print(error)
