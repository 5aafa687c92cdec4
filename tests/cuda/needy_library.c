/* tests/cuda/needy_library.c - a library that cannot be loaded without another one. */
/* SPDX-License-Identifier: Apache-2.0 */
int ncclGetVersion(int* out);
int cuneedyVersion(int* out);

int cuneedyVersion(int* out) { return ncclGetVersion(out); }
