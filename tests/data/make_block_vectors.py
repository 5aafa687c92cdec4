# tests/data/make_block_vectors.py - random blocks of every GGUF format and what the gguf package makes of them.
# SPDX-License-Identifier: Apache-2.0
"""usage: make_block_vectors.py > tests/data/vectors/block_formats.inc   (needs numpy and gguf)"""

import gguf
import numpy as np

FORMATS = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K")
# Where a block holds f16 numbers.
HALVES = {"Q4_1": (0, 2), "Q5_1": (0, 2), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}
# Scales of the first blocks: normal, subnormal, negative, largest.
SPECIAL = (0x2E66, 0x0001, 0xA4CD, 0x7BFF)


def lines(values, form, per_line):
    texts = [form % value for value in values]
    return ",\n".join("  " + ", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line))


def main():
    random = np.random.default_rng(20)
    print(
        "// tests/data/vectors/block_formats.inc - blocks and their values; written by make_block_vectors.py."
    )
    print("// SPDX-License-Identifier: Apache-2.0")
    for name in FORMATS:
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = 6 if elements == 32 else 2
        data = random.integers(0, 256, (blocks, size), dtype=np.uint8)
        for block in range(blocks):
            for at in HALVES.get(name, (0,)):
                half = SPECIAL[block] if block < len(SPECIAL) and elements == 32 else None
                half = random.integers(0x1400, 0x3000) if half is None else half
                data[block, at : at + 2] = (half & 255, half >> 8)
        values = gguf.dequantize(data.reshape(1, -1), kind).astype(np.float32).reshape(-1)
        lower = name.lower()
        print(f"static const uint8_t blocks_{lower}[] = {{\n{lines(data.reshape(-1), '%d', 24)}}};")
        print(
            f"static const uint32_t values_{lower}[] = {{\n{lines(values.view(np.uint32), '0x%08x', 9)}}};"
        )
    print("static const BlockVector block_vectors[] = {")
    for name in FORMATS:
        lower = name.lower()
        print(
            f"  {{RUDA_{name}, sizeof(blocks_{lower}), blocks_{lower}, values_{lower}, "
            f"sizeof(values_{lower}) / 4}},"
        )
    print("};")


main()
