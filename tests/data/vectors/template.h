/* tests/data/vectors/template.h - chat templates and their texts, by jinja2. */
/* SPDX-License-Identifier: Apache-2.0 */
/* Made by tests/model/template_oracle.py --golden. A NULL text stands for an error. */
enum { golden_now = 1700000000 };
static const char *const golden_sources[] = {
    "{% for message in messages %}\012{{- '<|im_start|>' + message['role'] + '\134n' + message['conte"
     "nt'] + '<|im_end|>' + '\134n' }}\012{%- endfor %}\012{%- if add_generation_prompt %}\012{{- '<|i"
     "m_start|>assistant\134n' }}\012{%- endif %}\012",
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_sta"
     "rt|>system\012You are a helper<|im_end|>\012' }}{% endif %}{{'<|im_start|>' + message['role'] + "
     "'\012' + message['content'] + '<|im_end|>' + '\012'}}{% endfor %}{% if add_generation_prompt %}{"
     "{ '<|im_start|>assistant\012' }}{% endif %}",
    "{%- if messages[0]['role'] == 'system' %}\012    {%- set system_message = messages[0]['content']"
     " | trim %}\012    {%- set loop_messages = messages[1:] %}\012{%- else %}\012    {%- set loop_mes"
     "sages = messages %}\012{%- endif %}\012{{- bos_token }}\012{%- for message in loop_messages %}"
     "\012    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}\012        {{- raise_exc"
     "eption('Roles must alternate user/assistant/user/...') }}\012    {%- endif %}\012    {%- if mess"
     "age['role'] == 'user' %}\012        {%- if loop.first and system_message is defined %}\012      "
     "      {{- ' [INST] ' + system_message + '\134n\134n' + message['content'] + ' [/INST]' }}\012   "
     "     {%- else %}\012            {{- ' [INST] ' + message['content'] + ' [/INST]' }}\012        {"
     "%- endif %}\012    {%- elif message['role'] == 'assistant' %}\012        {{- ' ' + message['cont"
     "ent'] + eos_token }}\012    {%- else %}\012        {{- raise_exception('Only user and assistant "
     "roles are supported, got ' ~ message.role) }}\012    {%- endif %}\012{%- endfor %}\012",
    "{{- bos_token }}\012{%- if custom_tools is defined %}\012    {%- set tools = custom_tools %}\012"
     "{%- endif %}\012{%- if not tools_in_user_message is defined %}\012    {%- set tools_in_user_mess"
     "age = true %}\012{%- endif %}\012{%- if not date_string is defined %}\012    {%- if strftime_now"
     " is defined %}\012        {%- set date_string = strftime_now(\042%d %b %Y\042) %}\012    {%- els"
     "e %}\012        {%- set date_string = \04226 Jul 2024\042 %}\012    {%- endif %}\012{%- endif %}"
     "\012{%- if not tools is defined %}\012    {%- set tools = none %}\012{%- endif %}\012{#- The sys"
     "tem message comes out of the list -#}\012{%- if messages[0]['role'] == 'system' %}\012    {%- se"
     "t system_message = messages[0]['content']|trim %}\012    {%- set messages = messages[1:] %}\012{"
     "%- else %}\012    {%- set system_message = \042\042 %}\012{%- endif %}\012{{- \042<|start_header"
     "_id|>system<|end_header_id|>\134n\134n\042 }}\012{%- if tools is not none %}\012    {{- \042Envi"
     "ronment: ipython\134n\042 }}\012{%- endif %}\012{{- \042Today Date: \042 + date_string + \042"
     "\134n\134n\042 }}\012{%- if tools is not none and not tools_in_user_message %}\012    {%- for t "
     "in tools %}\012        {{- t | tojson(indent=4) }}\012        {{- \042\134n\134n\042 }}\012    {"
     "%- endfor %}\012{%- endif %}\012{{- system_message }}\012{{- \042<|eot_id|>\042 }}\012{%- if too"
     "ls_in_user_message and not tools is none %}\012    {%- if messages | length != 0 %}\012        {"
     "%- set first_user_message = messages[0]['content']|trim %}\012        {%- set messages = message"
     "s[1:] %}\012    {%- else %}\012        {{- raise_exception(\042Cannot put tools in the first use"
     "r message when there's no first user message!\042) }}\012{%- endif %}\012    {{- '<|start_header"
     "_id|>user<|end_header_id|>\134n\134n' -}}\012    {%- for t in tools %}\012        {{- t | tojson"
     "(indent=4) }}\012        {{- \042\134n\134n\042 }}\012    {%- endfor %}\012    {{- first_user_me"
     "ssage + \042<|eot_id|>\042}}\012{%- endif %}\012{%- for message in messages %}\012    {%- if not"
     " (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}\012        "
     "{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\134n\134n'+ message['content'] "
     "| trim + '<|eot_id|>' }}\012    {%- elif 'tool_calls' in message %}\012        {%- if not messag"
     "e.tool_calls|length == 1 %}\012            {{- raise_exception(\042This model only supports sing"
     "le tool-calls at once!\042) }}\012        {%- endif %}\012        {%- set tool_call = message.to"
     "ol_calls[0].function %}\012        {%- if builtin_tools is defined and tool_call.name in builtin"
     "_tools %}\012            {{- \042<|python_tag|>\042 + tool_call.name + \042.call(\042 }}\012    "
     "        {%- for arg_name, arg_val in tool_call.arguments | items %}\012                {{- arg_n"
     "ame + '=\042' + arg_val + '\042' }}\012                {%- if not loop.last %}\012              "
     "      {{- \042, \042 }}\012                {%- endif %}\012            {%- endfor %}\012        "
     "    {{- \042)\042 }}\012        {%- else  %}\012            {{- '{\042name\042: \042' + tool_cal"
     "l.name + '\042, ' }}\012            {{- '\042parameters\042: ' }}\012            {{- tool_call.a"
     "rguments | tojson }}\012            {{- \042}\042 }}\012        {%- endif %}\012        {{- \042"
     "<|eot_id|>\042 }}\012    {%- elif message.role == \042tool\042 or message.role == \042ipython"
     "\042 %}\012        {{- \042<|start_header_id|>ipython<|end_header_id|>\134n\134n\042 }}\012     "
     "   {%- if message.content is mapping or message.content is iterable %}\012            {{- messag"
     "e.content | tojson }}\012        {%- else %}\012            {{- message.content }}\012        {%"
     "- endif %}\012        {{- \042<|eot_id|>\042 }}\012    {%- endif %}\012{%- endfor %}\012{%- if a"
     "dd_generation_prompt %}\012    {{- '<|start_header_id|>assistant<|end_header_id|>\134n\134n' }}"
     "\012{%- endif %}\012",
    "{%- if tools %}\012    {{- '<|im_start|>system\134n' }}\012    {%- if messages[0].role == 'syste"
     "m' %}\012        {{- messages[0].content + '\134n\134n' }}\012    {%- endif %}\012    {{- \042# "
     "Tools\134n\134n<tools>\042 }}\012    {%- for tool in tools %}\012        {{- \042\134n\042 }}"
     "\012        {{- tool | tojson }}\012    {%- endfor %}\012    {{- \042\134n</tools><|im_end|>\134"
     "n\042 }}\012{%- else %}\012    {%- if messages[0].role == 'system' %}\012        {{- '<|im_start"
     "|>system\134n' + messages[0].content + '<|im_end|>\134n' }}\012    {%- endif %}\012{%- endif %}"
     "\012{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}\012{%-"
     " for message in messages[::-1] %}\012    {%- set index = (messages|length - 1) - loop.index0 %}"
     "\012    {%- if ns.multi_step_tool and message.role == \042user\042 and message.content is string"
     " and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_resp"
     "onse>')) %}\012        {%- set ns.multi_step_tool = false %}\012        {%- set ns.last_query_in"
     "dex = index %}\012    {%- endif %}\012{%- endfor %}\012{%- for message in messages %}\012    {%-"
     " if message.content is string %}\012        {%- set content = message.content %}\012    {%- else"
     " %}\012        {%- set content = '' %}\012    {%- endif %}\012    {%- if (message.role == \042us"
     "er\042) or (message.role == \042system\042 and not loop.first) %}\012        {{- '<|im_start|>' "
     "+ message.role + '\134n' + content + '<|im_end|>' + '\134n' }}\012    {%- elif message.role == "
     "\042assistant\042 %}\012        {%- set reasoning_content = '' %}\012        {%- if message.reas"
     "oning_content is string %}\012            {%- set reasoning_content = message.reasoning_content "
     "%}\012        {%- else %}\012            {%- if '</think>' in content %}\012                {%- "
     "set reasoning_content = content.split('</think>')[0].rstrip('\134n').split('<think>')[-1].lstrip"
     "('\134n') %}\012                {%- set content = content.split('</think>')[-1].lstrip('\134n') "
     "%}\012            {%- endif %}\012        {%- endif %}\012        {%- if loop.index0 > ns.last_q"
     "uery_index %}\012            {%- if loop.last or (not loop.last and reasoning_content) %}\012   "
     "             {{- '<|im_start|>' + message.role + '\134n<think>\134n' + reasoning_content.strip('"
     "\134n') + '\134n</think>\134n\134n' + content.lstrip('\134n') }}\012            {%- else %}\012 "
     "               {{- '<|im_start|>' + message.role + '\134n' + content }}\012            {%- endif"
     " %}\012        {%- else %}\012            {{- '<|im_start|>' + message.role + '\134n' + content "
     "}}\012        {%- endif %}\012        {%- if message.tool_calls %}\012            {%- for tool_c"
     "all in message.tool_calls %}\012                {%- if (loop.first and content) or (not loop.fir"
     "st) %}\012                    {{- '\134n' }}\012                {%- endif %}\012                "
     "{%- if tool_call.function %}\012                    {%- set tool_call = tool_call.function %}"
     "\012                {%- endif %}\012                {{- '<tool_call>\134n{\042name\042: \042' }}"
     "\012                {{- tool_call.name }}\012                {{- '\042, \042arguments\042: ' }}"
     "\012                {%- if tool_call.arguments is string %}\012                    {{- tool_call"
     ".arguments }}\012                {%- else %}\012                    {{- tool_call.arguments | to"
     "json }}\012                {%- endif %}\012                {{- '}\134n</tool_call>' }}\012      "
     "      {%- endfor %}\012        {%- endif %}\012        {{- '<|im_end|>\134n' }}\012    {%- elif "
     "message.role == \042tool\042 %}\012        {%- if loop.first or (messages[loop.index0 - 1].role "
     "!= \042tool\042) %}\012            {{- '<|im_start|>user' }}\012        {%- endif %}\012        "
     "{{- '\134n<tool_response>\134n' }}\012        {{- content }}\012        {{- '\134n</tool_respons"
     "e>' }}\012        {%- if loop.last or (messages[loop.index0 + 1].role != \042tool\042) %}\012   "
     "         {{- '<|im_end|>\134n' }}\012        {%- endif %}\012    {%- endif %}\012{%- endfor %}"
     "\012{%- if add_generation_prompt %}\012    {{- '<|im_start|>assistant\134n' }}\012    {%- if ena"
     "ble_thinking is defined and enable_thinking is false %}\012        {{- '<think>\134n\134n</think"
     ">\134n\134n' }}\012    {%- endif %}\012{%- endif %}\012",
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not suppo"
     "rted') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.inde"
     "x0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}{% if (messa"
     "ge['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{"
     "% endif %}{{ '<start_of_turn>' + role + '\012' + message['content'] | trim + '<end_of_turn>\012'"
     " }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\012'}}{% endif %}",
    "{%- macro render(content) -%}\012  {%- if content is string -%}{{ content }}\012  {%- elif conte"
     "nt is sequence -%}\012    {%- for part in content -%}\012      {%- if part.type == 'text' -%}{{ "
     "part['text'] }}\012      {%- elif part.type == 'image' or 'image_url' in part -%}<image>\012    "
     "  {%- else -%}{{ raise_exception('unknown part ' ~ part.type) }}\012      {%- endif -%}\012    {"
     "%- endfor -%}\012  {%- endif -%}\012{%- endmacro -%}\012{% for m in messages %}\012<{{ m.role | "
     "upper }}>\012{{ render(m.content) }}\012</{{ m.role | upper }}>\012{% endfor %}",
    "{%- for message in messages -%}\012{%- if message.role == \042assistant\042 -%}\012{% generation"
     " %}{{ \042<|assistant|>\042 ~ message.content ~ \042<|end|>\042 }}{% endgeneration %}\012{%- els"
     "e -%}\012{{ \042<|\042 ~ message.role ~ \042|>\042 ~ message.content }}\012{%- endif -%}\012{%- "
     "endfor -%}",
    "{%- macro type_of(spec, depth=0) -%}\012  {%- if spec.type == 'array' -%}List[{{ type_of(spec['i"
     "tems'], depth + 1) }}]\012  {%- elif spec.type == 'object' -%}Dict[{{ spec.properties.keys() | l"
     "ist | join(', ') }}]\012  {%- else -%}{{ {'string': 'str', 'integer': 'int', 'number': 'float', "
     "'boolean': 'bool'}[spec.type] | default('Any') }}\012  {%- endif -%}\012{%- endmacro -%}\012{% f"
     "or tool in tools or [] %}{% set f = tool.function if tool.function is defined else tool %}\012de"
     "f {{ f.name }}({% for name, p in f.parameters.properties.items() %}{{ name }}: {{ type_of(p) }}{"
     "{ \042 = None\042 if name not in f.parameters.required else \042\042 }}{{ \042, \042 if not loop"
     ".last }}{% endfor %}):\012    \042\042\042{{ f.description | default('no description', true) | i"
     "ndent(4) }}\042\042\042\012{% endfor %}\012{% for m in messages if m.role != 'system' %}{{ loop."
     "index }}/{{ loop.length }} {{ m.role.title() }}: {{ m.content }}\012{% else %}nobody\012{% endfo"
     "r %}\012",
};
static const char *const golden_messages[] = {
    "[{\042role\042: \042user\042, \042content\042: \042Hi\042}]",
    "[{\042role\042: \042system\042, \042content\042: \042  Be brief. \134n\042}, {\042role\042: \042"
     "user\042, \042content\042: \042Hello, <b>w\134u00f6rld</b> \134ud83d\134udc4b\042}]",
    "[{\042role\042: \042user\042, \042content\042: \042a\042}, {\042role\042: \042assistant\042, "
     "\042content\042: \042b\042}, {\042role\042: \042user\042, \042content\042: \042 c \042}]",
    "[{\042role\042: \042user\042, \042content\042: \042q\042}, {\042role\042: \042assistant\042, "
     "\042content\042: \042<think>\134nhm\134n</think>\134n\134nr\042}]",
    "[{\042role\042: \042user\042, \042content\042: \042weather\077\042}, {\042role\042: \042assistan"
     "t\042, \042content\042: \042\042, \042tool_calls\042: [{\042type\042: \042function\042, \042func"
     "tion\042: {\042name\042: \042weather\042, \042arguments\042: {\042city\042: \042K\134u00f6ln\042"
     ", \042days\042: [1, 2.5, true, null]}}}]}, {\042role\042: \042tool\042, \042content\042: \042{"
     "\134\042t\134\042: 21}\042}]",
    "[{\042role\042: \042user\042, \042content\042: [{\042type\042: \042text\042, \042text\042: \042s"
     "ee\042}, {\042type\042: \042image\042}]}]",
    "[{\042role\042: \042assistant\042, \042content\042: \042wrong order\042}, {\042role\042: \042use"
     "r\042, \042content\042: \042x\042}]",
    "[]",
};
static const char *const golden_variables[] = {
    "{\042bos_token\042: \042<s>\042, \042eos_token\042: \042</s>\042}",
    "{\042bos_token\042: \042<s>\042, \042eos_token\042: \042</s>\042, \042add_generation_prompt\042:"
     " true}",
    "{\042bos_token\042: \042<s>\042, \042eos_token\042: \042</s>\042, \042tools\042: [{\042type\042:"
     " \042function\042, \042function\042: {\042name\042: \042weather\042, \042description\042: \042Sa"
     "ys what the weather is.\134nNo forecast.\042, \042parameters\042: {\042type\042: \042object\042,"
     " \042properties\042: {\042city\042: {\042type\042: \042string\042, \042description\042: \042Name"
     " <\134u00e9> & 'quotes'\042}, \042days\042: {\042type\042: \042array\042, \042items\042: {\042ty"
     "pe\042: \042integer\042}}}, \042required\042: [\042city\042]}}}], \042add_generation_prompt\042:"
     " true}",
    "{\042bos_token\042: \042<s>\042, \042eos_token\042: \042</s>\042, \042tools\042: [{\042type\042:"
     " \042function\042, \042function\042: {\042name\042: \042weather\042, \042description\042: \042Sa"
     "ys what the weather is.\134nNo forecast.\042, \042parameters\042: {\042type\042: \042object\042,"
     " \042properties\042: {\042city\042: {\042type\042: \042string\042, \042description\042: \042Name"
     " <\134u00e9> & 'quotes'\042}, \042days\042: {\042type\042: \042array\042, \042items\042: {\042ty"
     "pe\042: \042integer\042}}}, \042required\042: [\042city\042]}}}], \042tools_in_user_message\042:"
     " false}",
    "{\042bos_token\042: \042<s>\042, \042eos_token\042: \042</s>\042, \042enable_thinking\042: false"
     ", \042add_generation_prompt\042: true}",
};
static const struct {
  int source, messages, variables;
  const char *text;
} golden_templates[] = {
    {0, 0, 0, "<|im_start|>user\012Hi<|im_end|>\012"},
    {0, 1, 3,
     "<|im_start|>system\012  Be brief. \012<|im_end|>\012<|im_start|>user\012Hello, <b>w\303\266rld</"
     "b> \360\237\221\213<|im_end|>\012"},
    {0, 2, 1,
     "<|im_start|>user\012a<|im_end|>\012<|im_start|>assistant\012b<|im_end|>\012<|im_start|>user\012 "
     "c <|im_end|>\012<|im_start|>assistant\012"},
    {0, 3, 4,
     "<|im_start|>user\012q<|im_end|>\012<|im_start|>assistant\012<think>\012hm\012</think>\012\012r<|"
     "im_end|>\012<|im_start|>assistant\012"},
    {0, 4, 2,
     "<|im_start|>user\012weather\077<|im_end|>\012<|im_start|>assistant\012<|im_end|>\012<|im_start|>"
     "tool\012{\042t\042: 21}<|im_end|>\012<|im_start|>assistant\012"},
    {0, 5, 0, NULL},
    {0, 6, 3, "<|im_start|>assistant\012wrong order<|im_end|>\012<|im_start|>user\012x<|im_end|>\012"},
    {0, 7, 1, "<|im_start|>assistant\012"},
    {1, 0, 1,
     "<|im_start|>system\012You are a helper<|im_end|>\012<|im_start|>user\012Hi<|im_end|>\012<|im_sta"
     "rt|>assistant\012"},
    {1, 1, 4,
     "<|im_start|>system\012  Be brief. \012<|im_end|>\012<|im_start|>user\012Hello, <b>w\303\266rld</"
     "b> \360\237\221\213<|im_end|>\012<|im_start|>assistant\012"},
    {1, 2, 2,
     "<|im_start|>system\012You are a helper<|im_end|>\012<|im_start|>user\012a<|im_end|>\012<|im_star"
     "t|>assistant\012b<|im_end|>\012<|im_start|>user\012 c <|im_end|>\012<|im_start|>assistant\012"},
    {1, 3, 0,
     "<|im_start|>system\012You are a helper<|im_end|>\012<|im_start|>user\012q<|im_end|>\012<|im_star"
     "t|>assistant\012<think>\012hm\012</think>\012\012r<|im_end|>\012"},
    {1, 4, 3,
     "<|im_start|>system\012You are a helper<|im_end|>\012<|im_start|>user\012weather\077<|im_end|>"
     "\012<|im_start|>assistant\012<|im_end|>\012<|im_start|>tool\012{\042t\042: 21}<|im_end|>\012"},
    {1, 5, 1, NULL},
    {1, 6, 4,
     "<|im_start|>system\012You are a helper<|im_end|>\012<|im_start|>assistant\012wrong order<|im_end"
     "|>\012<|im_start|>user\012x<|im_end|>\012<|im_start|>assistant\012"},
    {1, 7, 2, "<|im_start|>assistant\012"},
    {2, 0, 2, "<s> [INST] Hi [/INST]"},
    {2, 1, 0, "<s> [INST] Be brief.\012\012Hello, <b>w\303\266rld</b> \360\237\221\213 [/INST]"},
    {2, 2, 3, "<s> [INST] a [/INST] b</s> [INST]  c  [/INST]"},
    {2, 3, 1, "<s> [INST] q [/INST] <think>\012hm\012</think>\012\012r</s>"},
    {2, 4, 4, NULL},
    {2, 5, 2, NULL},
    {2, 6, 0, NULL},
    {2, 7, 3, NULL},
    {3, 0, 3,
     "<s><|start_header_id|>system<|end_header_id|>\012\012Environment: ipython\012Today Date: 14 Nov "
     "2023\012\012{\012    \042type\042: \042function\042,\012    \042function\042: {\012        \042n"
     "ame\042: \042weather\042,\012        \042description\042: \042Says what the weather is.\134nNo f"
     "orecast.\042,\012        \042parameters\042: {\012            \042type\042: \042object\042,\012 "
     "           \042properties\042: {\012                \042city\042: {\012                    \042t"
     "ype\042: \042string\042,\012                    \042description\042: \042Name <\303\251> & 'quot"
     "es'\042\012                },\012                \042days\042: {\012                    \042type"
     "\042: \042array\042,\012                    \042items\042: {\012                        \042type"
     "\042: \042integer\042\012                    }\012                }\012            },\012       "
     "     \042required\042: [\012                \042city\042\012            ]\012        }\012    }"
     "\012}\012\012<|eot_id|><|start_header_id|>user<|end_header_id|>\012\012Hi<|eot_id|>"},
    {3, 1, 1,
     "<s><|start_header_id|>system<|end_header_id|>\012\012Today Date: 14 Nov 2023\012\012Be brief.<|e"
     "ot_id|><|start_header_id|>user<|end_header_id|>\012\012Hello, <b>w\303\266rld</b> \360\237\221"
     "\213<|eot_id|><|start_header_id|>assistant<|end_header_id|>\012\012"},
    {3, 2, 4,
     "<s><|start_header_id|>system<|end_header_id|>\012\012Today Date: 14 Nov 2023\012\012<|eot_id|><|"
     "start_header_id|>user<|end_header_id|>\012\012a<|eot_id|><|start_header_id|>assistant<|end_heade"
     "r_id|>\012\012b<|eot_id|><|start_header_id|>user<|end_header_id|>\012\012c<|eot_id|><|start_head"
     "er_id|>assistant<|end_header_id|>\012\012"},
    {3, 3, 2,
     "<s><|start_header_id|>system<|end_header_id|>\012\012Environment: ipython\012Today Date: 14 Nov "
     "2023\012\012<|eot_id|><|start_header_id|>user<|end_header_id|>\012\012{\012    \042type\042: "
     "\042function\042,\012    \042function\042: {\012        \042name\042: \042weather\042,\012      "
     "  \042description\042: \042Says what the weather is.\134nNo forecast.\042,\012        \042parame"
     "ters\042: {\012            \042type\042: \042object\042,\012            \042properties\042: {"
     "\012                \042city\042: {\012                    \042type\042: \042string\042,\012    "
     "                \042description\042: \042Name <\303\251> & 'quotes'\042\012                },"
     "\012                \042days\042: {\012                    \042type\042: \042array\042,\012     "
     "               \042items\042: {\012                        \042type\042: \042integer\042\012    "
     "                }\012                }\012            },\012            \042required\042: [\012 "
     "               \042city\042\012            ]\012        }\012    }\012}\012\012q<|eot_id|><|star"
     "t_header_id|>assistant<|end_header_id|>\012\012<think>\012hm\012</think>\012\012r<|eot_id|><|sta"
     "rt_header_id|>assistant<|end_header_id|>\012\012"},
    {3, 4, 0,
     "<s><|start_header_id|>system<|end_header_id|>\012\012Today Date: 14 Nov 2023\012\012<|eot_id|><|"
     "start_header_id|>user<|end_header_id|>\012\012weather\077<|eot_id|>{\042name\042: \042weather"
     "\042, \042parameters\042: {\042city\042: \042K\303\266ln\042, \042days\042: [1, 2.5, true, null]"
     "}}<|eot_id|><|start_header_id|>ipython<|end_header_id|>\012\012\042{\134\042t\134\042: 21}\042<|"
     "eot_id|>"},
    {3, 5, 3,
     "<s><|start_header_id|>system<|end_header_id|>\012\012Environment: ipython\012Today Date: 14 Nov "
     "2023\012\012{\012    \042type\042: \042function\042,\012    \042function\042: {\012        \042n"
     "ame\042: \042weather\042,\012        \042description\042: \042Says what the weather is.\134nNo f"
     "orecast.\042,\012        \042parameters\042: {\012            \042type\042: \042object\042,\012 "
     "           \042properties\042: {\012                \042city\042: {\012                    \042t"
     "ype\042: \042string\042,\012                    \042description\042: \042Name <\303\251> & 'quot"
     "es'\042\012                },\012                \042days\042: {\012                    \042type"
     "\042: \042array\042,\012                    \042items\042: {\012                        \042type"
     "\042: \042integer\042\012                    }\012                }\012            },\012       "
     "     \042required\042: [\012                \042city\042\012            ]\012        }\012    }"
     "\012}\012\012<|eot_id|><|start_header_id|>user<|end_header_id|>\012\012[{'type': 'text', 'text':"
     " 'see'}, {'type': 'image'}]<|eot_id|>"},
    {3, 6, 1,
     "<s><|start_header_id|>system<|end_header_id|>\012\012Today Date: 14 Nov 2023\012\012<|eot_id|><|"
     "start_header_id|>assistant<|end_header_id|>\012\012wrong order<|eot_id|><|start_header_id|>user<"
     "|end_header_id|>\012\012x<|eot_id|><|start_header_id|>assistant<|end_header_id|>\012\012"},
    {3, 7, 4, NULL},
    {4, 0, 4, "<|im_start|>user\012Hi<|im_end|>\012<|im_start|>assistant\012<think>\012\012</think>\012\012"},
    {4, 1, 2,
     "<|im_start|>system\012  Be brief. \012\012\012# Tools\012\012<tools>\012{\042type\042: \042funct"
     "ion\042, \042function\042: {\042name\042: \042weather\042, \042description\042: \042Says what th"
     "e weather is.\134nNo forecast.\042, \042parameters\042: {\042type\042: \042object\042, \042prope"
     "rties\042: {\042city\042: {\042type\042: \042string\042, \042description\042: \042Name <\303\251"
     "> & 'quotes'\042}, \042days\042: {\042type\042: \042array\042, \042items\042: {\042type\042: "
     "\042integer\042}}}, \042required\042: [\042city\042]}}}\012</tools><|im_end|>\012<|im_start|>use"
     "r\012Hello, <b>w\303\266rld</b> \360\237\221\213<|im_end|>\012<|im_start|>assistant\012"},
    {4, 2, 0,
     "<|im_start|>user\012a<|im_end|>\012<|im_start|>assistant\012b<|im_end|>\012<|im_start|>user\012 "
     "c <|im_end|>\012"},
    {4, 3, 3,
     "<|im_start|>system\012# Tools\012\012<tools>\012{\042type\042: \042function\042, \042function"
     "\042: {\042name\042: \042weather\042, \042description\042: \042Says what the weather is.\134nNo "
     "forecast.\042, \042parameters\042: {\042type\042: \042object\042, \042properties\042: {\042city"
     "\042: {\042type\042: \042string\042, \042description\042: \042Name <\303\251> & 'quotes'\042}, "
     "\042days\042: {\042type\042: \042array\042, \042items\042: {\042type\042: \042integer\042}}}, "
     "\042required\042: [\042city\042]}}}\012</tools><|im_end|>\012<|im_start|>user\012q<|im_end|>\012"
     "<|im_start|>assistant\012<think>\012hm\012</think>\012\012r<|im_end|>\012"},
    {4, 4, 1,
     "<|im_start|>user\012weather\077<|im_end|>\012<|im_start|>assistant\012<tool_call>\012{\042name"
     "\042: \042weather\042, \042arguments\042: {\042city\042: \042K\303\266ln\042, \042days\042: [1, "
     "2.5, true, null]}}\012</tool_call><|im_end|>\012<|im_start|>user\012<tool_response>\012{\042t"
     "\042: 21}\012</tool_response><|im_end|>\012<|im_start|>assistant\012"},
    {4, 5, 4, "<|im_start|>user\012<|im_end|>\012<|im_start|>assistant\012<think>\012\012</think>\012\012"},
    {4, 6, 2,
     "<|im_start|>system\012# Tools\012\012<tools>\012{\042type\042: \042function\042, \042function"
     "\042: {\042name\042: \042weather\042, \042description\042: \042Says what the weather is.\134nNo "
     "forecast.\042, \042parameters\042: {\042type\042: \042object\042, \042properties\042: {\042city"
     "\042: {\042type\042: \042string\042, \042description\042: \042Name <\303\251> & 'quotes'\042}, "
     "\042days\042: {\042type\042: \042array\042, \042items\042: {\042type\042: \042integer\042}}}, "
     "\042required\042: [\042city\042]}}}\012</tools><|im_end|>\012<|im_start|>assistant\012wrong orde"
     "r<|im_end|>\012<|im_start|>user\012x<|im_end|>\012<|im_start|>assistant\012"},
    {4, 7, 0, NULL},
    {5, 0, 0, "<s><start_of_turn>user\012Hi<end_of_turn>\012"},
    {5, 1, 3, NULL},
    {5, 2, 1,
     "<s><start_of_turn>user\012a<end_of_turn>\012<start_of_turn>model\012b<end_of_turn>\012<start_of_"
     "turn>user\012c<end_of_turn>\012<start_of_turn>model\012"},
    {5, 3, 4,
     "<s><start_of_turn>user\012q<end_of_turn>\012<start_of_turn>model\012<think>\012hm\012</think>"
     "\012\012r<end_of_turn>\012<start_of_turn>model\012"},
    {5, 4, 2, NULL},
    {5, 5, 0,
     "<s><start_of_turn>user\012[{'type': 'text', 'text': 'see'}, {'type': 'image'}]<end_of_turn>\012"},
    {5, 6, 3, NULL},
    {5, 7, 1, NULL},
    {6, 0, 1, "<USER>\012Hi\012</USER>\012"},
    {6, 1, 4,
     "<SYSTEM>\012  Be brief. \012\012</SYSTEM>\012<USER>\012Hello, <b>w\303\266rld</b> \360\237\221"
     "\213\012</USER>\012"},
    {6, 2, 2, "<USER>\012a\012</USER>\012<ASSISTANT>\012b\012</ASSISTANT>\012<USER>\012 c \012</USER>\012"},
    {6, 3, 0,
     "<USER>\012q\012</USER>\012<ASSISTANT>\012<think>\012hm\012</think>\012\012r\012</ASSISTANT>\012"},
    {6, 4, 3,
     "<USER>\012weather\077\012</USER>\012<ASSISTANT>\012\012</ASSISTANT>\012<TOOL>\012{\042t\042: 21}"
     "\012</TOOL>\012"},
    {6, 5, 1, "<USER>\012see<image>\012</USER>\012"},
    {6, 6, 4, "<ASSISTANT>\012wrong order\012</ASSISTANT>\012<USER>\012x\012</USER>\012"},
    {6, 7, 2, ""},
    {7, 0, 2, "<|user|>Hi"},
    {7, 1, 0, "<|system|>  Be brief. \012<|user|>Hello, <b>w\303\266rld</b> \360\237\221\213"},
    {7, 2, 3, "<|user|>a<|assistant|>b<|end|><|user|> c "},
    {7, 3, 1, "<|user|>q<|assistant|><think>\012hm\012</think>\012\012r<|end|>"},
    {7, 4, 4, "<|user|>weather\077<|assistant|><|end|><|tool|>{\042t\042: 21}"},
    {7, 5, 2, "<|user|>[{'type': 'text', 'text': 'see'}, {'type': 'image'}]"},
    {7, 6, 0, "<|assistant|>wrong order<|end|><|user|>x"},
    {7, 7, 3, ""},
    {8, 0, 3,
     "def weather(city: str, days: List[int] = None):\012    \042\042\042Says what the weather is.\012"
     "    No forecast.\042\042\042\0121/1 User: Hi\012"},
    {8, 1, 1, "1/1 User: Hello, <b>w\303\266rld</b> \360\237\221\213\012"},
    {8, 2, 4, "1/3 User: a\0122/3 Assistant: b\0123/3 User:  c \012"},
    {8, 3, 2,
     "def weather(city: str, days: List[int] = None):\012    \042\042\042Says what the weather is.\012"
     "    No forecast.\042\042\042\0121/2 User: q\0122/2 Assistant: <think>\012hm\012</think>\012\012r"
     "\012"},
    {8, 4, 0, "1/3 User: weather\077\0122/3 Assistant: \0123/3 Tool: {\042t\042: 21}\012"},
    {8, 5, 3,
     "def weather(city: str, days: List[int] = None):\012    \042\042\042Says what the weather is.\012"
     "    No forecast.\042\042\042\0121/1 User: [{'type': 'text', 'text': 'see'}, {'type': 'image'}]"
     "\012"},
    {8, 6, 1, "1/2 Assistant: wrong order\0122/2 User: x\012"},
    {8, 7, 4, "nobody\012"},
};
