/* include/ruda/ruda.h - all public headers. */
/* SPDX-License-Identifier: Apache-2.0 */
/* The letter at the end of a function's text says which threads may call it: [T] any thread at any time;
 * [I] the object does not change, any thread; [S] one thread at a time per object. A handle that a call uses
 * stays unreleased until the call returns, unless its text allows more. */
#ifndef RUDA_RUDA_H
#define RUDA_RUDA_H

#include "ruda/attention.h"
#include "ruda/base.h"
#include "ruda/context.h"
#include "ruda/elementwise.h"
#include "ruda/embedding.h"
#include "ruda/infer.h"
#include "ruda/matmul.h"
#include "ruda/model.h"
#include "ruda/norm.h"
#include "ruda/plan.h"
#include "ruda/position.h"
#include "ruda/reduce.h"
#include "ruda/sample.h"
#include "ruda/sort.h"
#include "ruda/store.h"
#include "ruda/tensor.h"

#endif
