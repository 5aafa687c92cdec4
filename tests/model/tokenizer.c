/* tests/model/tokenizer.c - golden tokens of every family, buffers, streams, hostile tables. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <time.h>

#include <ruda/model.h>

#include "../data/vectors/tokenizer.h"
#include "../store/builder.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* The golden vocabulary as a file; NULL leaves a key out. */
typedef struct tables {
  const char *model, *pre;
  const char *const *tokens, *const *merges;
  size_t token_count, merge_count, special_count;
  const float* scores;
  const uint32_t* types;
  const char* key; /* one more u32 entry */
  uint32_t value;
} tables;

static tables golden(const char* pre) {
  return (tables){.model = "gpt2",
                  .pre = pre,
                  .tokens = golden_tokens,
                  .merges = golden_merges,
                  .token_count = COUNT(golden_tokens),
                  .merge_count = COUNT(golden_merges),
                  .special_count = golden_special_count};
}

static void put_array(builder* b, const char* key, uint32_t element, uint64_t count) {
  put_text(b, key);
  put_u32(b, 9);
  put_u32(b, element);
  put_u64(b, count);
}

static builder write_file(const tables* t) {
  builder b = {0};
  const uint64_t keys = 2 + (t->model != NULL) + (t->pre != NULL) + (t->merges != NULL) +
                        (t->scores != NULL) + (t->key != NULL);
  put_header(&b, 3, 0, keys);
  if (t->model) put_key_text(&b, "tokenizer.ggml.model", t->model);
  if (t->pre) put_key_text(&b, "tokenizer.ggml.pre", t->pre);
  put_array(&b, "tokenizer.ggml.tokens", 8, t->token_count);
  for (size_t i = 0; i < t->token_count; ++i) put_text(&b, t->tokens[i]);
  put_array(&b, "tokenizer.ggml.token_type", 5, t->token_count);
  for (size_t i = 0; i < t->token_count; ++i)
    put_u32(&b, t->types ? t->types[i] : i + t->special_count >= t->token_count ? 3 : 1);
  if (t->merges) {
    put_array(&b, "tokenizer.ggml.merges", 8, t->merge_count);
    for (size_t i = 0; i < t->merge_count; ++i) put_text(&b, t->merges[i]);
  }
  if (t->scores) {
    put_array(&b, "tokenizer.ggml.scores", 6, t->token_count);
    for (size_t i = 0; i < t->token_count; ++i) put_f32(&b, t->scores[i]);
  }
  if (t->key) put_key_u32(&b, t->key, t->value);
  return b;
}

static void free_data(void* user, void* data) {
  (void)user;
  free(data);
}

static ruda_status open_tables(const tables* t, ruda_tokenizer* out) {
  builder b = write_file(t);
  ruda_store store;
  assert_int_equal(ruda_store_open_memory(b.data, b.size, NULL, free_data, NULL, &store), RUDA_OK);
  const ruda_status status = ruda_tokenizer_from_store(store, NULL, out);
  ruda_release(store);
  return status;
}

static ruda_tokenizer open_golden(const char* pre) {
  const tables t = golden(pre);
  ruda_tokenizer tokenizer;
  assert_int_equal(open_tables(&t, &tokenizer), RUDA_OK);
  return tokenizer;
}

static void expect_refused(const tables* t, ruda_status status, const char* text) {
  ruda_tokenizer tokenizer = (ruda_tokenizer)&tokenizer;
  const ruda_status found = open_tables(t, &tokenizer);
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  if (found != status || !strstr(info.message, text)) print_error("%d \"%s\"\n", found, info.message);
  assert_int_equal(found, status);
  assert_non_null(strstr(info.message, text));
  assert_null(tokenizer);
}

static void gives_golden_tokens(void** state) {
  (void)state;
  ruda_tokenizer tokenizer = NULL;
  const char* pre = "";
  for (size_t i = 0; i < COUNT(golden_cases); ++i) {
    if (strcmp(pre, golden_cases[i].pre) != 0) {
      ruda_release(tokenizer);
      pre = golden_cases[i].pre;
      tokenizer = open_golden(pre);
    }
    int32_t tokens[64];
    uint64_t count;
    assert_int_equal(ruda_tokenizer_encode(tokenizer, golden_cases[i].text, (uint64_t)golden_cases[i].bytes,
                                           RUDA_ENCODE_PARSE_SPECIAL, tokens, COUNT(tokens), &count),
                     RUDA_OK);
    int same = count == (uint64_t)golden_cases[i].count;
    for (uint64_t k = 0; same && k < count; ++k) same = tokens[k] == golden_cases[i].tokens[k];
    if (!same) print_error("%s: case %zu \"%s\"\n", pre, i, golden_cases[i].text);
    assert_true(same);
    char text[256];
    uint64_t needed;
    assert_int_equal(ruda_tokenizer_decode(tokenizer, tokens, count, 0, text, sizeof text, &needed), RUDA_OK);
    assert_int_equal(needed, golden_cases[i].bytes + 1);
    assert_memory_equal(text, golden_cases[i].text, needed);
  }
  ruda_release(tokenizer);
}

static void describes_itself(void** state) {
  (void)state;
  tables t = golden("smollm");
  t.key = "tokenizer.ggml.eos_token_id";
  t.value = 5;
  ruda_tokenizer tokenizer;
  assert_int_equal(open_tables(&t, &tokenizer), RUDA_OK);
  ruda_tokenizer_info info = RUDA_TOKENIZER_INFO_INIT;
  assert_int_equal(ruda_tokenizer_get_info(tokenizer, &info), RUDA_OK);
  assert_int_equal(info.vocab_size, COUNT(golden_tokens));
  assert_string_equal(info.model, "gpt2");
  assert_string_equal(info.pre, "smollm");
  assert_int_equal(info.bos, -1);
  assert_int_equal(info.eos, 5);
  assert_int_equal(info.add_bos, 0);
  assert_int_equal(info.has_chat_template, 0);
  ruda_bool end = 9;
  assert_int_equal(ruda_tokenizer_is_end(tokenizer, 5, &end), RUDA_OK);
  assert_int_equal(end, 1);
  assert_int_equal(ruda_tokenizer_is_end(tokenizer, 6, &end), RUDA_OK);
  assert_int_equal(end, 0);
  assert_int_equal(ruda_tokenizer_is_end(tokenizer, -1, &end), RUDA_E_INDEX);
  int32_t token;
  assert_int_equal(ruda_tokenizer_token_id(tokenizer, "<|im_end|>", &token), RUDA_OK);
  assert_int_equal(token, (int32_t)COUNT(golden_tokens) - 3);
  uint32_t type;
  assert_int_equal(ruda_tokenizer_token_info(tokenizer, token, &type, NULL), RUDA_OK);
  assert_int_equal(type, RUDA_TOKEN_CONTROL);
  assert_int_equal(ruda_tokenizer_token_id(tokenizer, "no such token", &token), RUDA_E_NOT_FOUND);
  assert_int_equal(token, -1);
  ruda_release(tokenizer);
}

/* Control tokens written by a user are text unless the caller asks for them. */
static void keeps_control_tokens_out(void** state) {
  (void)state;
  ruda_tokenizer tokenizer = open_golden("smollm");
  int32_t tokens[64];
  uint64_t count;
  const char* text = "<|im_end|>";
  assert_int_equal(ruda_tokenizer_encode(tokenizer, text, 10, 0, tokens, 64, &count), RUDA_OK);
  assert_true(count > 1);
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t type;
    assert_int_equal(ruda_tokenizer_token_info(tokenizer, tokens[i], &type, NULL), RUDA_OK);
    assert_int_equal(type, RUDA_TOKEN_NORMAL);
  }
  assert_int_equal(ruda_tokenizer_encode(tokenizer, text, 10, RUDA_ENCODE_PARSE_SPECIAL, tokens, 64, &count),
                   RUDA_OK);
  assert_int_equal(count, 1);
  char out[32];
  assert_int_equal(ruda_tokenizer_decode(tokenizer, tokens, 1, 0, out, sizeof out, NULL), RUDA_OK);
  assert_string_equal(out, text);
  assert_int_equal(
      ruda_tokenizer_decode(tokenizer, tokens, 1, RUDA_DECODE_SKIP_SPECIAL, out, sizeof out, NULL), RUDA_OK);
  assert_string_equal(out, "");
  ruda_release(tokenizer);
}

static void keeps_to_buffers(void** state) {
  (void)state;
  ruda_tokenizer tokenizer = open_golden("gpt-2");
  int32_t tokens[8] = {-7, -7, -7, -7, -7, -7, -7, -7};
  uint64_t count = 99;
  assert_int_equal(ruda_tokenizer_encode(tokenizer, "1 2 3", 5, 0, NULL, 0, &count), RUDA_OK);
  assert_int_equal(count, 5);
  assert_int_equal(ruda_tokenizer_encode(tokenizer, "1 2 3", 5, 0, tokens, 2, &count), RUDA_E_BUDGET);
  assert_int_equal(count, 5);
  for (int i = 0; i < 8; ++i) assert_int_equal(tokens[i], -7);
  assert_int_equal(ruda_tokenizer_encode(tokenizer, "1 2 3", 5, 0, tokens, 5, &count), RUDA_OK);
  assert_int_equal(tokens[5], -7);
  char text[8];
  memset(text, 'x', sizeof text);
  uint64_t needed;
  assert_int_equal(ruda_tokenizer_decode(tokenizer, tokens, 5, 0, text, 5, &needed), RUDA_E_BUDGET);
  assert_int_equal(needed, 6);
  for (int i = 0; i < 8; ++i) assert_int_equal(text[i], 'x');
  assert_int_equal(ruda_tokenizer_decode(tokenizer, tokens, 5, 0, text, 6, &needed), RUDA_OK);
  assert_string_equal(text, "1 2 3");
  assert_int_equal(text[6], 'x');
  assert_int_equal(ruda_tokenizer_decode(tokenizer, (int32_t[]){1 << 20}, 1, 0, text, 8, &needed),
                   RUDA_E_INDEX);
  assert_int_equal(ruda_tokenizer_decode(tokenizer, tokens, 5, 64, text, 8, &needed), RUDA_E_ARGUMENT);
  assert_int_equal(ruda_tokenizer_encode(tokenizer, NULL, 5, 0, tokens, 8, &count), RUDA_E_NULL);
  assert_int_equal(ruda_tokenizer_encode(tokenizer, "1", 1, 64, tokens, 8, &count), RUDA_E_ARGUMENT);
  assert_int_equal(ruda_tokenizer_encode(NULL, "1", 1, 0, tokens, 8, &count), RUDA_E_NULL);
  assert_int_equal(ruda_tokenizer_encode(tokenizer, "1", 1, 0, tokens, 8, NULL), RUDA_E_NULL);
  ruda_release(tokenizer);
}

/* An emoji of four byte tokens comes out whole with the fourth; a cut one becomes one U+FFFD at the end. */
static void streams_whole_characters(void** state) {
  (void)state;
  const tables t = {.model = "gpt2",
                    .pre = "gpt-2",
                    .tokens = golden_tokens,
                    .merges = golden_merges,
                    .token_count = COUNT(golden_tokens)};
  ruda_tokenizer tokenizer;
  assert_int_equal(open_tables(&t, &tokenizer), RUDA_OK);
  int32_t tokens[16];
  uint64_t count;
  assert_int_equal(ruda_tokenizer_encode(tokenizer, "a\xF0\x9F\xA6\x80z", 6, 0, tokens, 16, &count), RUDA_OK);
  ruda_text_stream stream = RUDA_TEXT_STREAM_INIT;
  char text[64], all[64] = "";
  uint64_t needed;
  for (uint64_t i = 0; i < count; ++i) {
    const ruda_text_stream before = stream;
    assert_int_equal(ruda_text_stream_push(tokenizer, &stream, tokens[i], NULL, 0, &needed), RUDA_OK);
    assert_memory_equal(&before, &stream, sizeof stream);
    if (needed > 1) {
      assert_int_equal(ruda_text_stream_push(tokenizer, &stream, tokens[i], text, 1, &needed), RUDA_E_BUDGET);
      assert_memory_equal(&before, &stream, sizeof stream);
    }
    assert_int_equal(ruda_text_stream_push(tokenizer, &stream, tokens[i], text, sizeof text, &needed),
                     RUDA_OK);
    assert_null(strstr(text, "\xEF\xBF\xBD"));
    strcat(all, text);
  }
  assert_int_equal(ruda_text_stream_end(&stream, text, sizeof text, &needed), RUDA_OK);
  assert_string_equal(text, "");
  assert_string_equal(all, "a\xF0\x9F\xA6\x80z");

  assert_true(count >= 3);
  for (uint64_t i = 0; i + 2 < count; ++i)
    assert_int_equal(ruda_text_stream_push(tokenizer, &stream, tokens[i], text, sizeof text, &needed),
                     RUDA_OK);
  assert_int_equal(ruda_text_stream_end(&stream, text, sizeof text, &needed), RUDA_OK);
  assert_string_equal(text, "\xEF\xBF\xBD");
  stream.pending_bytes = 9;
  assert_int_equal(ruda_text_stream_push(tokenizer, &stream, 0, text, sizeof text, &needed), RUDA_E_ARGUMENT);
  ruda_release(tokenizer);
}

/* Bytes that are no UTF-8 come back as they were. */
static void carries_any_bytes(void** state) {
  (void)state;
  static const char* pres[] = {"gpt-2",  "smollm", "llama-bpe", "qwen2",
                               "qwen35", "gpt-4o", "tekken",    "deepseek-v3"};
  for (size_t p = 0; p < COUNT(pres); ++p) {
    ruda_tokenizer tokenizer = open_golden(pres[p]);
    uint32_t seed = 12345;
    for (int round = 0; round < 200; ++round) {
      char bytes[64], back[65];
      for (size_t i = 0; i < sizeof bytes; ++i) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (char)(seed >> 24);
        if (seed >> 16 & 1)
          bytes[i] =
              "' \n\xE2\x80\xF0\xC3"
              "a"[seed >> 20 & 7];
      }
      int32_t tokens[64];
      uint64_t count, needed;
      assert_int_equal(ruda_tokenizer_encode(tokenizer, bytes, 64, 0, tokens, 64, &count), RUDA_OK);
      assert_int_equal(ruda_tokenizer_decode(tokenizer, tokens, count, RUDA_DECODE_RAW, back, 65, &needed),
                       RUDA_OK);
      assert_int_equal(needed, 65);
      assert_memory_equal(back, bytes, 64);
    }
    ruda_release(tokenizer);
  }
}

/* A megabyte of one character is one piece: merging must not be quadratic. */
static void takes_long_runs(void** state) {
  (void)state;
  const size_t most = RUDA_TEST_SANITIZED ? 1 << 17 : 1 << 20;
  char* text = malloc(most);
  int32_t* tokens = malloc(most * sizeof *tokens);
  assert_true(text && tokens);
  const char runs[] = "x \n1!Z\x80";
  static const char* pres[] = {"smollm", "llama-bpe", "gpt-4o", "deepseek-v3"};
  for (size_t p = 0; p < COUNT(pres); ++p) {
    ruda_tokenizer tokenizer = open_golden(pres[p]);
    const size_t bytes = p == 0 ? most : most / 8;
    for (size_t r = 0; r + 1 < sizeof runs; ++r) {
      memset(text, runs[r], bytes);
      const clock_t start = clock();
      uint64_t count;
      assert_int_equal(ruda_tokenizer_encode(tokenizer, text, bytes, 0, tokens, bytes, &count), RUDA_OK);
      assert_true(count > 0);
      /* Quadratic work would take minutes; the bound leaves room for sanitizers and busy machines. */
      assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 30);
    }
    ruda_release(tokenizer);
  }
  free(tokens);
  free(text);
}

static void merges_scored_pieces(void** state) {
  (void)state;
  static const char* const tokens[] = {
      "<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "<0xA9>", "\xE2\x96\x81",      "h", "e",
      "l",     "o",   "he",   "ll",     "hell",   "hello",  "\xE2\x96\x81hello", "lo"};
  static const uint32_t types[] = {2, 3, 3, 6, 6, 6, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  static const float scores[] = {0, 0, 0, 0, 0, 0, -1, -20, -21, -22, -23, -3, -4, -5, -6, -2, -3.5f};
  tables t = {.model = "llama",
              .tokens = tokens,
              .types = types,
              .scores = scores,
              .token_count = COUNT(tokens),
              .key = "tokenizer.ggml.bos_token_id",
              .value = 1};
  ruda_tokenizer tokenizer;
  assert_int_equal(open_tables(&t, &tokenizer), RUDA_OK);
  static const struct {
    const char* text;
    int flags, count, tokens[8];
  } cases[] = {
      /* he (-3) first, then lo (-3.5); "hell" needs ll, which is gone, so nothing joins further */
      {"hello", 0, 3, {6, 11, 9}},
      {"hello", RUDA_ENCODE_ADD_SPECIAL, 4, {1, 6, 11, 9}},
      {"\n\xC3\xA9", 0, 4, {6, 3, 4, 5}},
      {"", RUDA_ENCODE_ADD_SPECIAL, 1, {1}},
  };
  for (size_t i = 0; i < COUNT(cases); ++i) {
    int32_t found[16];
    uint64_t count;
    assert_int_equal(ruda_tokenizer_encode(tokenizer, cases[i].text, strlen(cases[i].text),
                                           (uint32_t)cases[i].flags, found, 16, &count),
                     RUDA_OK);
    if (i < 2) {
      /* ... he, l, lo */
      assert_int_equal(count, cases[i].count + 1);
      assert_int_equal(found[count - 1], 16);
    } else {
      assert_int_equal(count, cases[i].count);
    }
    for (int k = 0; k < cases[i].count; ++k) assert_int_equal(found[k], cases[i].tokens[k]);
    char text[64];
    assert_int_equal(
        ruda_tokenizer_decode(tokenizer, found, count, RUDA_DECODE_SKIP_SPECIAL, text, sizeof text, NULL),
        RUDA_OK);
    assert_string_equal(text, cases[i].text);
  }
  ruda_release(tokenizer);
  t.scores = NULL;
  expect_refused(&t, RUDA_E_NOT_FOUND, "tokenizer.ggml.scores");
}

static void refuses_tables(void** state) {
  (void)state;
  tables t = golden("no-such-split");
  expect_refused(&t, RUDA_E_UNSUPPORTED, "tokenizer.ggml.pre is \"no-such-split\"");
  t = golden(NULL);
  expect_refused(&t, RUDA_E_UNSUPPORTED, "no key tokenizer.ggml.pre");
  t = golden("smollm");
  t.model = "bert";
  expect_refused(&t, RUDA_E_UNSUPPORTED, "tokenizer.ggml.model is \"bert\"");
  t.model = NULL;
  expect_refused(&t, RUDA_E_NOT_FOUND, "no key tokenizer.ggml.model");
  t = golden("smollm");
  t.merges = NULL;
  expect_refused(&t, RUDA_E_NOT_FOUND, "no key tokenizer.ggml.merges");
  static const char* const bad_merges[][1] = {{"nospace"}, {" "}, {"a "}, {"a \xC3\xBF\xC3\xBF"}, {""}};
  for (size_t i = 0; i < COUNT(bad_merges); ++i) {
    t = golden("smollm");
    t.merges = bad_merges[i];
    t.merge_count = 1;
    expect_refused(&t, RUDA_E_FORMAT, "merge 0");
  }
  t = golden("smollm");
  t.token_count = 0;
  t.special_count = 0;
  expect_refused(&t, RUDA_E_FORMAT, "has 0 entries");
  t = golden("smollm");
  t.key = "tokenizer.ggml.eos_token_id";
  t.value = COUNT(golden_tokens);
  expect_refused(&t, RUDA_E_FORMAT, "eos_token_id is");
  t = golden("smollm");
  uint32_t* types = calloc(t.token_count, sizeof *types);
  assert_non_null(types);
  types[7] = 9;
  t.types = types;
  expect_refused(&t, RUDA_E_FORMAT, "token_type of token 7 is 9");
  free(types);
  t = golden("smollm");
  t.key = "tokenizer.ggml.add_bos_token";
  expect_refused(&t, RUDA_E_FORMAT, "is of type u32, expected boolean");
}

/* What next_text promises needs a limit for every token: counted as decoded, with 3 bytes for each that is no
 * UTF-8. */
static void limits_every_token(void** state) {
  (void)state;
  static const struct {
    const char* letter; /* in the byte alphabet */
    size_t most;        /* letters */
  } cases[] = {{"a", 1020}, {"\xC4\xA0", 1020} /* a space */, {"\xC3\xBF", 340} /* byte 0xFF */};
  const char** tokens = malloc(COUNT(golden_tokens) * sizeof *tokens);
  assert_non_null(tokens);
  for (size_t i = 0; i < COUNT(cases); ++i) {
    char text[2 * 1021 + 1] = "";
    for (size_t k = 0; k < cases[i].most; ++k) strcat(text, cases[i].letter);
    memcpy(tokens, golden_tokens, sizeof golden_tokens);
    tokens[300] = text;
    tables t = golden("smollm");
    t.tokens = tokens;
    t.merges = golden_merges;
    t.merge_count = 0;
    ruda_tokenizer tokenizer;
    assert_int_equal(open_tables(&t, &tokenizer), RUDA_OK);
    char out[1025];
    uint64_t needed;
    const int32_t one = 300;
    assert_int_equal(ruda_tokenizer_decode(tokenizer, &one, 1, 0, out, sizeof out, &needed), RUDA_OK);
    assert_int_equal(needed, 1021);
    ruda_release(tokenizer);
    strcat(text, cases[i].letter);
    expect_refused(&t, RUDA_E_FORMAT, i == 2 ? "token 300 has 1023 bytes" : "token 300 has 1021 bytes");
    expect_refused(&t, RUDA_E_FORMAT, "at most 1020 are allowed");
  }
  free(tokens);
}

typedef struct around {
  const char* text;
  int count;
  int32_t tokens[20];
} around;

/* Any text holds a user-defined token, without RUDA_ENCODE_PARSE_SPECIAL, and decoding keeps it. */
static void gives_around(const tables* t, const around* cases, size_t count, const char* extra) {
  ruda_tokenizer tokenizer;
  assert_int_equal(open_tables(t, &tokenizer), RUDA_OK);
  for (size_t i = 0; i < count; ++i) {
    int32_t found[32];
    uint64_t n = 0;
    char text[128], want[128];
    assert_int_equal(ruda_tokenizer_encode(tokenizer, cases[i].text, strlen(cases[i].text), 0, found, 32, &n),
                     RUDA_OK);
    assert_int_equal(n, cases[i].count);
    assert_memory_equal(found, cases[i].tokens, n * sizeof *found);
    assert_int_equal(
        ruda_tokenizer_decode(tokenizer, found, n, RUDA_DECODE_SKIP_SPECIAL, text, sizeof text, NULL),
        RUDA_OK);
    const char* const tag = strstr(cases[i].text, "<|im_start|>");
    const int before = tag ? (int)(tag - cases[i].text) + 12 : 0;
    snprintf(want, sizeof want, "%.*s%s%s", before, cases[i].text, extra, cases[i].text + before);
    assert_string_equal(text, want);
  }
  ruda_release(tokenizer);
}

/* As the tokenizers package gives them with AddedToken(special=False, normalized=False). */
static void finds_user_defined_tokens(void** state) {
  (void)state;
  tables t = golden("smollm");
  uint32_t* types = calloc(t.token_count, sizeof *types);
  assert_non_null(types);
  for (size_t i = 0; i < t.token_count; ++i) types[i] = i + t.special_count >= t.token_count ? 4 : 1;
  t.types = types;
  static const around pairs[] = {
      {"<|im_start|>user\nhi<|im_end|> there", 11, {560, 84, 82, 272, 198, 71, 72, 561, 309, 272, 68}},
      {"Hello<|im_end|> world", 9, {39, 68, 294, 78, 561, 220, 86, 274, 411}},
      {"<|im_start|> Hello, world!<|im_end|>12  x",
       18,
       {560, 220, 39, 68, 294, 78, 11, 220, 86, 274, 411, 0, 561, 16, 17, 220, 220, 87}},
  };
  gives_around(&t, pairs, COUNT(pairs), "");
  free(types);

  /* Scored pieces put a space before each part of the text, which decoding takes from the first only. */
  static const char* const tokens[] = {
      "<unk>", "<s>", "</s>",           "\xE2\x96\x81",     "u",    "s",           "e", "r",
      "us",    "er",  "\xE2\x96\x81us", "\xE2\x96\x81user", "user", "<|im_start|>"};
  static const uint32_t scored_types[] = {2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4};
  static const float scores[] = {0, 0, 0, -9, -20, -21, -22, -23, -3, -4, -3.5f, -1, -2, 0};
  t = (tables){.model = "llama",
               .tokens = tokens,
               .types = scored_types,
               .scores = scores,
               .token_count = COUNT(tokens)};
  static const around pieces[] = {
      {"<|im_start|>user", 2, {13, 11}},
      {"user<|im_start|>user", 3, {11, 13, 11}},
      {"<|im_start|> user", 3, {13, 3, 11}},
  };
  gives_around(&t, pieces, COUNT(pieces), " ");
}

static void expect_text(ruda_tokenizer tokenizer, int32_t token, const char* expected, uint64_t bytes) {
  char text[32];
  uint64_t needed = 99;
  assert_int_equal(ruda_tokenizer_token_text(tokenizer, token, NULL, 0, &needed), RUDA_OK);
  assert_int_equal(needed, bytes + 1);
  memset(text, 'x', sizeof text);
  needed = 99;
  assert_int_equal(ruda_tokenizer_token_text(tokenizer, token, text, bytes, &needed),
                   bytes ? RUDA_E_BUDGET : RUDA_OK);
  assert_int_equal(needed, bytes + 1);
  for (size_t i = 0; i < sizeof text; ++i) assert_int_equal(text[i], 'x');
  assert_int_equal(ruda_tokenizer_token_text(tokenizer, token, text, bytes + 1, NULL), RUDA_OK);
  assert_memory_equal(text, expected, bytes);
  assert_int_equal(text[bytes], 0);
  assert_int_equal(text[bytes + 1], 'x');
}

/* The bytes of single tokens, whatever the vocabulary writes for them. */
static void tells_the_text_of_tokens(void** state) {
  (void)state;
  ruda_tokenizer tokenizer = open_golden("gpt-2");
  /* As the byte alphabet writes them: a space, a line feed, the first and the last byte past ASCII. */
  static const struct {
    const char *written, *text;
    uint64_t bytes;
  } alphabet[] = {
      {"\xC4\xA0", " ", 1},
      {"\xC4\x8A", "\n", 1},
      {"\xC2\xA1", "\xA1", 1},
      {"\xC3\xBF", "\xFF", 1},
      {"\xC4\x80", "\0", 1},
      {"\xC4\xA0th", " th", 3},
      {"\xC3\xB0\xC5\x81\xC4\xB3", "\xF0\x9F\x91", 3},
      {"<|im_end|>", "<|im_end|>", 10},
  };
  for (size_t i = 0; i < COUNT(alphabet); ++i) {
    size_t token = 0;
    while (token < COUNT(golden_tokens) && strcmp(golden_tokens[token], alphabet[i].written) != 0) ++token;
    assert_true(token < COUNT(golden_tokens));
    expect_text(tokenizer, (int32_t)token, alphabet[i].text, alphabet[i].bytes);
  }
  char text[8] = "xxxxxxx";
  uint64_t needed;
  const int32_t wrong[] = {-1, INT32_MIN, (int32_t)COUNT(golden_tokens), INT32_MAX};
  for (size_t i = 0; i < COUNT(wrong); ++i)
    assert_int_equal(ruda_tokenizer_token_text(tokenizer, wrong[i], text, 8, &needed), RUDA_E_INDEX);
  assert_int_equal(needed, 0);
  assert_int_equal(ruda_tokenizer_token_text(tokenizer, 0, NULL, 8, &needed), RUDA_E_NULL);
  assert_int_equal(ruda_tokenizer_token_text(NULL, 0, text, sizeof text, &needed), RUDA_E_NULL);
  assert_int_equal(needed, 0);
  assert_string_equal(text, "xxxxxxx");
  ruda_release(tokenizer);

  /* Scored pieces: the sign for a space is one, also of the first piece, and a byte token is its byte. */
  static const char* const tokens[] = {"<unk>", "<s>", "<0x0A>", "<0xC3>", "\xE2\x96\x81hi", "\xC3\xA9", ""};
  static const uint32_t types[] = {2, 3, 6, 6, 1, 1, 1};
  static const float scores[COUNT(types)];
  const tables t = {
      .model = "llama", .tokens = tokens, .types = types, .scores = scores, .token_count = COUNT(types)};
  assert_int_equal(open_tables(&t, &tokenizer), RUDA_OK);
  expect_text(tokenizer, 1, "<s>", 3);
  expect_text(tokenizer, 2, "\n", 1);
  expect_text(tokenizer, 3, "\xC3", 1);
  expect_text(tokenizer, 4, " hi", 3);
  expect_text(tokenizer, 5, "\xC3\xA9", 2);
  expect_text(tokenizer, 6, "", 0);
  ruda_release(tokenizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gives_golden_tokens),      cmocka_unit_test(describes_itself),
      cmocka_unit_test(keeps_control_tokens_out), cmocka_unit_test(keeps_to_buffers),
      cmocka_unit_test(tells_the_text_of_tokens), cmocka_unit_test(streams_whole_characters),
      cmocka_unit_test(carries_any_bytes),        cmocka_unit_test(takes_long_runs),
      cmocka_unit_test(merges_scored_pieces),     cmocka_unit_test(refuses_tables),
      cmocka_unit_test(limits_every_token),       cmocka_unit_test(finds_user_defined_tokens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
