/* tests/cuda/fake_library.c - functions of NVIDIA's libraries, in one file that tests copy about. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

size_t cublasLtGetVersion(void);
size_t cudnnGetVersion(void);
int cufftGetVersion(int* out);
int cusparseGetProperty(int which, int* out);
int ncclGetVersion(int* out);
int nvrtcVersion(int* major, int* minor);

size_t cublasLtGetVersion(void) { return 130001; }
size_t cudnnGetVersion(void) { return 91900; }
int cufftGetVersion(int* out) { return *out = 12003, 0; }
int cusparseGetProperty(int which, int* out) { return *out = which == 0 ? 12 : which + 3, 0; }
int ncclGetVersion(int* out) { return *out = 22903, 0; }
int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0; }

/* Without them the file is one of another release. */
#ifndef RUDA_POOR_LIBRARY
#define FUNCTION(name) \
  int name(void);      \
  int name(void) { return 1; }
FUNCTION(cublasLtCreate)
FUNCTION(cublasLtDestroy)
FUNCTION(cublasLtMatmulDescInit_internal)
FUNCTION(cublasLtMatmulDescSetAttribute)
FUNCTION(cublasLtMatrixLayoutInit_internal)
FUNCTION(cublasLtMatrixLayoutSetAttribute)
FUNCTION(cublasLtMatmulPreferenceInit_internal)
FUNCTION(cublasLtMatmulPreferenceSetAttribute)
FUNCTION(cublasLtMatmulAlgoGetHeuristic)
FUNCTION(cublasLtMatmulAlgoConfigGetAttribute)
FUNCTION(cublasLtMatmul)
#endif
