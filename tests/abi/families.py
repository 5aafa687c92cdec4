# tests/abi/families.py - a build of few families: same exports, what is left out answers RUDA_E_NOT_BUILT.
# SPDX-License-Identifier: Apache-2.0
"""usage: families.py BUILDDIR ROOT BUILDTYPE CUDA

The small build lies beside BUILDDIR, so that a compiler cache knows its files; it holds elementwise and norm."""

import os
import pathlib
import shutil
import subprocess
import sys

builddir, root = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
small = builddir.parent / "build-families"

PROGRAM = r"""
#include <ruda/ruda.h>
#include <stdio.h>
#include <string.h>
#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) return fprintf(stderr, "failed: %s\n", #condition), 1; \
  } while (0)
static int answers(ruda_status status, const char *family) {
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  if (status != RUDA_E_NOT_BUILT) fprintf(stderr, "%s: %s\n", ruda_status_name(status), info.message);
  return status == RUDA_E_NOT_BUILT && strstr(info.message, family) && strstr(info.message, "families");
}
int main(int argc, char **argv) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  ruda_context context = NULL;
  ruda_stream stream = NULL;
  ruda_tensor x = NULL, gamma = NULL, y = (ruda_tensor)&desc, left = (ruda_tensor)&desc;
  CHECK(ruda_context_create(&desc, &context) == RUDA_OK);
  CHECK(ruda_stream_create(context, 0, &stream) == RUDA_OK);
  const int64_t shape[2] = {2, 4};
  ruda_tensor_desc t = RUDA_TENSOR_DESC_INIT;
  t.dtype = RUDA_F32;
  t.rank = 2;
  t.shape = shape;
  CHECK(ruda_tensor_create(context, &t, &x) == RUDA_OK);
  t.rank = 1;
  t.shape = shape + 1;
  CHECK(ruda_tensor_create(context, &t, &gamma) == RUDA_OK);
  CHECK(ruda_tensor_fill(stream, x, 2) == RUDA_OK && ruda_tensor_fill(stream, gamma, 3) == RUDA_OK);

  /* what is built works */
  float values[8];
  CHECK(ruda_rms_norm(stream, x, gamma, 1e-6, &y) == RUDA_OK);
  CHECK(ruda_tensor_read(stream, y, values, sizeof values) == RUDA_OK);
  CHECK(values[7] > 2.999f && values[7] < 3.001f);

  /* what is left out says so, with its outputs cleared */
  ruda_plan plan = (ruda_plan)&desc;
  ruda_reduce_desc reduce = RUDA_REDUCE_DESC_INIT;
  CHECK(answers(ruda_reduce_plan_create(context, &reduce, &plan), "family reduce") && !plan);
  CHECK(answers(ruda_reduce(stream, x, RUDA_REDUCE_SUM, 0, 0, &left), "family reduce") && !left);
  CHECK(answers(ruda_matmul(stream, x, x, NULL, NULL, NULL), "family matmul"));
  CHECK(answers(ruda_rope_frequencies(NULL, NULL, 0, NULL), "family position"));
  uint32_t norms = 0, others = 0;
  for (uint32_t i = 0; ruda_op_name(i); ++i) {
    norms += strcmp(ruda_op_name(i), "rms_norm") == 0;
    others += strcmp(ruda_op_name(i), "matmul") == 0;
  }
  CHECK(norms == 1 && others == 0);

  /* a model needs families that are not there: its first computation says which */
  if (argc > 1) {
    ruda_store store = NULL;
    ruda_model model = NULL;
    ruda_session session = NULL;
    const int32_t token = 1;
    CHECK(ruda_store_open(argv[1], NULL, &store) == RUDA_OK);
    CHECK(ruda_model_load(context, store, NULL, &model) == RUDA_OK);
    CHECK(ruda_session_create(model, NULL, &session) == RUDA_OK);
    CHECK(answers(ruda_session_prompt(session, &token, 1, NULL, NULL, NULL), "family "));
    ruda_release(session);
    ruda_release(model);
    ruda_release(store);
  }
  ruda_release(y);
  ruda_release(gamma);
  ruda_release(x);
  ruda_release(stream);
  uint64_t live = 1;
  CHECK(ruda_context_live_objects(context, &live) == RUDA_OK && live == 0);
  ruda_release(context);
  puts("ok");
  return 0;
}
"""


def run(command, expect=0):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if (result.returncode != 0) != (expect != 0):
        print(f"{' '.join(map(str, command))} ended with {result.returncode}\n{result.stdout}{result.stderr}")
        sys.exit(1)
    return result.stdout + result.stderr


if not shutil.which("meson") or not shutil.which("ninja"):
    print("skipped: meson or ninja is not in PATH")
    sys.exit(77)
os.environ.setdefault("CCACHE_BASEDIR", str(root))
os.environ.setdefault("CCACHE_NOHASHDIR", "1")
options = [f"--buildtype={sys.argv[3]}", f"-Dcuda={sys.argv[4]}", "-Dtests=false", "-Dbindings=", "-Dfamilies=norm"]
again = ["--reconfigure"] if (small / "build.ninja").exists() else []
run(["meson", "setup", *again, small, root, *options])
library = small / "src" / "libruda.so.1.0.0"
run(["ninja", "-C", small, "-j", os.cpu_count(), "src/libruda.so.1.0.0"])
print(run([sys.executable, root / "tests/abi/exports.py", root, library]), end="")

source = small / "families.c"
source.write_text(PROGRAM)
program = small / "families"
run(["cc", "-std=c11", "-Wall", "-Werror", f"-I{root / 'include'}", source, library, f"-Wl,-rpath,{library.parent}",
     "-o", program])
model = os.environ.get("RUDA_TINY_MODEL", "")
print(run([program, *([model] if model else [])]), end="")

# A family that does not exist is a mistake of the caller, not a build without it.
wrong = run([sys.executable, root / "src/discover.py", root, small / "wrong.txt", small / "wrong.d", "nrom"], expect=1)
if "nrom" not in wrong or "norm" not in wrong:
    sys.exit(f"an unknown family is not named: {wrong}")
