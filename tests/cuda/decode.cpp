// tests/cuda/decode.cpp - the decode loop that stays on the device: schedule steps in graphs, tokens through
// the ring.
// SPDX-License-Identifier: Apache-2.0
//
// The kernels that matter are written out here for the fake runtime; the others do nothing, so logits are
// zero and the chosen tokens follow a rule of the test.
#include "cuda/fake_runtime.hpp"
#include "device/device.hpp"
#include "support/answers.hpp"
#include "support/objects.hpp"
#include "support/paged.hpp"

#include <ruda/ruda.h>

#include <cstdlib>
#include <cstring>

using namespace ruda::test;

namespace {

template <class T>
T arg(void** args, int i) {
  return *static_cast<T*>(args[i]);
}

int32_t ending = -1, after = -1;  // the token `after` is followed by `ending`

int32_t rule(int32_t token) { return token == after ? ending : (token * 5 + 17) % 200; }

void set_kernels(bool on) {
  if (!on) {
    for (const char* name : {"advance_schedule", "post_word", "sample_rows"}) fake::set_kernel(name, {});
    return;
  }
  fake::set_kernel("advance_schedule", [](void** args) {
    return [image = arg<ruda::ScheduleImage>(args, 0)] {
      uint32_t queries = 0;
      for (uint32_t s = 0; s < image.words[1]; ++s) {
        uint32_t& length = image.words[image.lengths_word + s];
        if (!length) continue;
        image.words[image.ids_word + queries] = s;
        image.words[image.positions_word + queries++] = length++;
      }
      image.words[0] = queries;
    };
  });
  fake::set_kernel("post_word", [](void** args) {
    return [word = arg<const uint32_t*>(args, 0), ring = arg<uint64_t*>(args, 1),
            count = arg<uint32_t*>(args, 2)] {
      const uint32_t n = (*count)++;
      ring[n % ruda::DeviceRing::slots] = uint64_t(n + 1) << 32 | *word;
    };
  });
  fake::set_kernel("sample_rows", [](void** args) {
    // logits, params, random, history, lengths, tokens
    int32_t* tokens = static_cast<int32_t**>(args[0])[5];
    return [tokens] { *tokens = rule(*tokens); };
  });
}

struct Chat {
  explicit Chat(Env& env, uint64_t capacity = 0) {
    set_kernels(true);
    after = ending = -1;
    const char* path = std::getenv("RUDA_TINY_MODEL");
    MUST(ruda_store_open(path, nullptr, &store));
    MUST(ruda_model_load(env.context, store, nullptr, &model));
    ruda_session_desc desc = RUDA_SESSION_DESC_INIT;
    desc.token_capacity = capacity;
    MUST(ruda_session_create(model, &desc, &session));
  }
  ~Chat() {
    release({session, model, store});
    set_kernels(false);
  }
  void prompt(std::vector<int32_t> tokens) {
    MUST(ruda_session_prompt(session, tokens.data(), tokens.size(), nullptr, nullptr, nullptr));
  }
  int32_t next() {
    int32_t token = -1;
    status = ruda_session_next(session, &token);
    return token;
  }
  std::vector<int32_t> tokens() { return tokens_of(session); }
  ruda_store store = nullptr;
  ruda_model model = nullptr;
  ruda_session session = nullptr;
  ruda_status status = RUDA_OK;
};

std::vector<uint32_t> image_of(ruda_paged_schedule schedule) {
  ruda_paged_schedule_info info = RUDA_PAGED_SCHEDULE_INFO_INIT;
  MUST(ruda_paged_schedule_get_info(schedule, &info));
  const auto* words = static_cast<const uint32_t*>(info.device_data);
  std::vector<uint32_t> packed;
  const auto add = [&](const uint32_t* from, uint64_t count) {
    packed.insert(packed.end(), from, from + count);
  };
  add(words + info.sequence_ids_word, words[0]);
  add(words + info.positions_word, words[0]);
  add(words + info.lengths_word, words[1]);
  add(words + info.tables_word, uint64_t(words[1]) * info.max_table_pages);
  // The getter leaves the reserve out.
  for (uint32_t s = 0; s < words[1]; ++s) {
    const uint32_t length = words[info.lengths_word + s];
    for (uint32_t j = (length + info.page_size - 1) / info.page_size; j < info.max_table_pages; ++j)
      packed[packed.size() - (words[1] - s) * info.max_table_pages + j] = RUDA_NO_PAGE;
  }
  return packed;
}

std::vector<uint32_t> packed_of(ruda_paged_schedule schedule) {
  uint64_t count = 0;
  MUST(ruda_paged_schedule_get_packed(schedule, nullptr, 0, &count));
  std::vector<uint32_t> packed(count);
  MUST(ruda_paged_schedule_get_packed(schedule, packed.data(), count, nullptr));
  return packed;
}

}  // namespace

// What a graph's launches do on the device is what the getters say.
RUDA_TEST(schedule_in_a_graph) {
  set_kernels(true);
  ruda_paged_schedule schedule = make_schedule(env, 2, 8, 4, 6, 3);
  const uint32_t none = RUDA_NO_PAGE, tables[] = {0, 1, none, 2, 3, none, 4, none, none},
                 lengths[] = {1, 0, 2};
  MUST(ruda_paged_schedule_set(schedule, env.stream, tables, 3, lengths, 3, nullptr, nullptr, 0));
  MUST(ruda_capture_begin(env.stream));
  CHECK_FAILS(ruda_paged_schedule_set(schedule, env.stream, tables, 3, lengths, 3, nullptr, nullptr, 0),
              RUDA_E_CAPTURE_UNSAFE, -1, "ruda_paged_schedule_set");
  MUST(ruda_paged_schedule_advance(schedule, env.stream));
  CHECK_FAILS(ruda_paged_schedule_advance(schedule, env.stream), RUDA_E_STATE, 0, "one step of a schedule");
  ruda_graph graph = nullptr;
  MUST(ruda_capture_end(env.stream, &graph));
  MUST(ruda_stream_sync(env.stream));
  CHECK(image_of(schedule) == packed_of(schedule), "the capture itself advanced");
  // Sequence 2 has two tokens in one page of two and no reserve.
  CHECK_FAILS(ruda_graph_launch(graph, env.stream), RUDA_E_STATE, 0,
              "to grow to length 3, sequence 2 needs tables[2][1], which holds no page");
  const uint32_t good[] = {0, 1, none, 2, 3, none, 4, 5, 6};
  MUST(ruda_paged_schedule_set(schedule, env.stream, good, 3, lengths, 3, nullptr, nullptr, 0));
  for (uint32_t i = 1; i <= 3; ++i) {
    MUST(ruda_graph_launch(graph, env.stream));
    MUST(ruda_stream_sync(env.stream));
    CHECK(image_of(schedule) == packed_of(schedule), "device and host differ after %u launches", i);
  }
  CHECK(packed_of(schedule) ==
            (std::vector<uint32_t>{0, 2, 3, 4, 4, 0, 5, 0, 1, none, none, none, none, 4, 5, 6}),
        "three steps went elsewhere");
  CHECK_FAILS(ruda_graph_launch(graph, env.stream), RUDA_E_STATE, 0, "which holds no page");
  CHECK(image_of(schedule) == packed_of(schedule), "a refused launch advanced");
  MUST(ruda_paged_schedule_set(schedule, env.stream, good, 3, lengths, 3, nullptr, nullptr, 0));
  MUST(ruda_paged_schedule_advance(schedule, env.stream));
  MUST(ruda_stream_sync(env.stream));
  CHECK(image_of(schedule) == packed_of(schedule), "device and host differ after an advance without a graph");
  // A page that two sequences share may not be appended to.
  const uint32_t shared[] = {0, none, none, 0, none, none}, ones[] = {1, 1};
  MUST(ruda_paged_schedule_set(schedule, env.stream, shared, 3, ones, 2, nullptr, nullptr, 0));
  CHECK_FAILS(ruda_graph_launch(graph, env.stream), RUDA_E_STATE, 0, "page 0, which 2 sequences share");
  ruda_release(schedule);  // the graph keeps it
  CHECK_FAILS(ruda_graph_launch(graph, env.stream), RUDA_E_STATE, 0, "page 0, which 2 sequences share");
  ruda_release(graph);
  set_kernels(false);
}

// A plan that finds no memory for its workspace fails alone: its stream goes on.
RUDA_TEST(memory_runs_out_in_a_plan) {
  ruda_paged_schedule schedule = make_schedule(env, 4, 2, 1, 1, 2);
  const uint32_t tables[] = {0, 1}, length = 5, id = 0, position = 4;
  MUST(ruda_paged_schedule_set(schedule, env.stream, tables, 2, &length, 1, &id, &position, 1));
  const int64_t q_shape[] = {1, 2, 16}, cache_shape[] = {2, 4, 2, 16};
  ruda_tensor_desc q = RUDA_TENSOR_DESC_INIT, cache = RUDA_TENSOR_DESC_INIT;
  q.dtype = cache.dtype = RUDA_F32;
  q.rank = 3;
  q.shape = q_shape;
  cache.rank = 4;
  cache.shape = cache_shape;
  ruda_paged_attention_desc attention = RUDA_PAGED_ATTENTION_DESC_INIT;
  attention.q = attention.out = &q;
  attention.k = attention.v = &cache;
  attention.scale = 0.25;
  attention.splits = 3;
  ruda_plan plan = nullptr;
  MUST(ruda_paged_attention_plan_create(env.context, &attention, &plan));
  ruda_tensor tensors[4] = {};
  for (int i = 0; i < 4; ++i) MUST(ruda_tensor_create(env.context, i % 3 ? &cache : &q, &tensors[i]));
  const uint32_t slots[] = {RUDA_PAGED_ATTENTION_Q, RUDA_PAGED_ATTENTION_K, RUDA_PAGED_ATTENTION_V,
                            RUDA_PAGED_ATTENTION_OUT};
  ruda_binding bindings[5] = {};
  for (int i = 0; i < 4; ++i) {
    bindings[i].slot = slots[i];
    bindings[i].v.handle = tensors[i];
  }
  bindings[4].slot = RUDA_PAGED_ATTENTION_SCHEDULE;
  bindings[4].kind = RUDA_BIND_HANDLE;
  bindings[4].v.handle = schedule;
  MUST(ruda_context_trim(env.context));
  fake::set_room(0);
  CHECK_FAILS(ruda_plan_execute(plan, env.stream, nullptr, bindings, 5, nullptr), RUDA_E_OOM_DEVICE, -1,
              "the device has 0 of");
  CHECK(last_message().find("release tensors") != std::string::npos, "%s", last_message().c_str());
  fake::set_room(uint64_t(1) << 40);
  MUST(ruda_plan_execute(plan, env.stream, nullptr, bindings, 5, nullptr));
  MUST(ruda_stream_sync(env.stream));
  for (ruda_tensor tensor : tensors) ruda_release(tensor);
  ruda_release(plan);
  ruda_release(schedule);
}

RUDA_TEST(tokens_chosen_on_the_device) {
  Chat chat(env);
  chat.prompt({1, 2, 3});
  std::vector<int32_t> expected{1, 2, 3, 0};
  CHECK(chat.next() == 0, "the first token is the most likely one");
  int launches = 0, graphs = 0;
  for (int i = 0; i < 150; ++i) {
    expected.push_back(rule(expected.back()));
    const int32_t token = chat.next();
    CHECK(token == expected.back() && chat.status == RUDA_OK, "token %d is %d, expected %d", i, token,
          expected.back());
    if (i >= 3) {
      CHECK(fake::kernel_launches() == launches, "token %d launched %d kernels", i,
            fake::kernel_launches() - launches);
      CHECK(fake::graph_launches() == graphs + 1, "token %d launched %d graphs", i,
            fake::graph_launches() - graphs);
    }
    launches = fake::kernel_launches();
    graphs = fake::graph_launches();
  }
  CHECK(chat.tokens() == expected, "the session holds other tokens");

  // Logits on demand do not disturb what follows.
  std::vector<float> logits(266);
  MUST(ruda_session_logits(chat.session, logits.data(), logits.size()));
  CHECK(chat.next() == rule(expected.back()), "another token after the logits");
  expected.push_back(rule(expected.back()));

  // A rewound session starts anew from what is left, with what it chose ahead forgotten.
  MUST(ruda_session_rewind(chat.session, 20));
  int32_t token = 0;
  CHECK_FAILS(ruda_session_next(chat.session, &token), RUDA_E_STATE, 0, "has no logits");
  expected.resize(20);
  expected.push_back(7);
  chat.prompt(expected);
  CHECK(chat.next() == 0, "the first token after another prompt");
  CHECK(chat.next() == rule(0), "the second token after another prompt");
  CHECK(chat.next() == rule(rule(0)), "the third token after another prompt");

  // Other options of sampling.
  ruda_sampling sampling = RUDA_SAMPLING_INIT;
  sampling.repetition_penalty = 2;
  MUST(ruda_session_set_sampling(chat.session, &sampling));
  CHECK(chat.next() == 0, "with other options the host chooses from the logits, of equal ones the first");
  CHECK(chat.next() == rule(0) && chat.next() == rule(rule(0)), "and the device goes on");
  MUST(ruda_session_set_sampling(chat.session, nullptr));
  CHECK(chat.next() == 0 && chat.next() == rule(0), "a second change of options");
}

RUDA_TEST(ends_of_a_device_loop) {
  Chat chat(env, 24);
  chat.prompt({1, 2, 3});
  // Capacity: the last token fits, nothing is computed past it.
  for (int i = 3; i < 24; ++i) {
    chat.next();
    CHECK(chat.status == RUDA_OK, "token %d: %d", i, chat.status);
  }
  CHECK(chat.next() == -1 && chat.status == RUDA_END_OF_DATA, "%d tokens fit", int(chat.tokens().size()));
  std::vector<float> logits(266);
  MUST(ruda_session_logits(chat.session, logits.data(), logits.size()));

  // The end of a turn, seen while the next step already runs.
  ruda_tokenizer tokenizer = nullptr;
  MUST(ruda_model_get_tokenizer(chat.model, &tokenizer));
  ruda_tokenizer_info info = RUDA_TOKENIZER_INFO_INIT;
  MUST(ruda_tokenizer_get_info(tokenizer, &info));
  after = rule(rule(0));
  ending = info.eos;
  chat.prompt({1, 2, 3});
  CHECK(chat.next() == 0 && chat.next() == rule(0) && chat.next() == after, "tokens before the end");
  CHECK(chat.next() == ending && chat.status == RUDA_END_OF_DATA, "the end of the turn");
  CHECK(chat.tokens().size() == 7, "%zu tokens", chat.tokens().size());
  // The conversation goes on behind it.
  auto longer = chat.tokens();
  longer.push_back(9);
  chat.prompt(longer);
  CHECK(chat.next() == 0, "the answer to the second turn");

  // A limit of the caller.
  ruda_generate_options options = RUDA_GENERATE_OPTIONS_INIT;
  options.max_new_tokens = 4;
  after = ending = -1;
  chat.prompt({5});
  uint32_t finish = 0;
  MUST(ruda_session_generate(chat.session, &options, &finish));
  CHECK(finish == RUDA_FINISH_LENGTH, "finish %u", finish);
  CHECK(chat.tokens() == (std::vector<int32_t>{5, 0, rule(0), rule(rule(0)), rule(rule(rule(0)))}),
        "tokens of a limited answer");
  ruda_release(tokenizer);
}

// A token raised while steps run ahead: what was delivered stays, and the answer goes on from there.
RUDA_TEST(cancel_of_a_device_loop) {
  Chat chat(env);
  chat.prompt({1, 2, 3});
  CancelAfter six(6);
  ruda_generate_options options = six.options();
  options.max_new_tokens = 50;
  uint32_t finish = 0;
  std::vector<int32_t> expected{1, 2, 3, 0};
  while (expected.size() < 9) expected.push_back(rule(expected.back()));
  for (int i = 0; i < 2; ++i) {
    const ruda_status status = ruda_session_generate(chat.session, &options, &finish);
    CHECK(status == RUDA_E_CANCELLED, "call %d gave %s", i, ruda_status_name(status));
    CHECK(chat.tokens() == expected, "call %d: %zu tokens", i, chat.tokens().size());
  }
  MUST(ruda_cancel_reset(options.cancel));
  options.max_new_tokens = 3;
  MUST(ruda_session_generate(chat.session, &options, &finish));
  for (int i = 0; i < 3; ++i) expected.push_back(rule(expected.back()));
  CHECK(chat.tokens() == expected, "the tokens after a cancelled answer are others");
}

RUDA_TEST(faults_of_a_device_loop) {
  Chat chat(env);
  chat.prompt({1, 2, 3});
  for (int i = 0; i < 5; ++i) chat.next();
  // No logit can be chosen: the session stays usable.
  after = rule(chat.tokens().back());
  ending = -1;
  chat.next();
  int32_t token = 0;
  const auto before = chat.tokens();
  CHECK_FAILS(ruda_session_next(chat.session, &token), RUDA_E_ARGUMENT, -1, "NaN or minus infinity");
  CHECK(chat.tokens() == before, "a failed choice changed the tokens");
  after = -1;
  CHECK(chat.next() == rule(before.back()), "the token after the fault is gone");
  // A fault of the device poisons this session's stream and nothing else.
  fake::fail_next_graph(cudaErrorIllegalAddress);
  CHECK_FAILS(ruda_session_next(chat.session, &token), RUDA_E_DEVICE, -1, "cudaErrorIllegalAddress");
  CHECK_FAILS(ruda_session_next(chat.session, &token), RUDA_E_STREAM_POISONED, -1, "cudaErrorIllegalAddress");
  ruda_session other = nullptr;
  MUST(ruda_session_create(chat.model, nullptr, &other));
  const int32_t one = 1;
  MUST(ruda_session_prompt(other, &one, 1, nullptr, nullptr, nullptr));
  MUST(ruda_session_next(other, &token));
  ruda_release(other);
}
