# tests/data/template_cases.py - templates and expressions that the template engine is compared on.
# SPDX-License-Identifier: Apache-2.0

CHATML = """{% for message in messages %}
{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

DEFAULT_SYSTEM = """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
You are a helper<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}"""

INST = """{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception('Roles must alternate user/assistant/user/...') }}
    {%- endif %}
    {%- if message['role'] == 'user' %}
        {%- if loop.first and system_message is defined %}
            {{- ' [INST] ' + system_message + '\\n\\n' + message['content'] + ' [/INST]' }}
        {%- else %}
            {{- ' [INST] ' + message['content'] + ' [/INST]' }}
        {%- endif %}
    {%- elif message['role'] == 'assistant' %}
        {{- ' ' + message['content'] + eos_token }}
    {%- else %}
        {{- raise_exception('Only user and assistant roles are supported, got ' ~ message.role) }}
    {%- endif %}
{%- endfor %}
"""

HEADERS_TOOLS = """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not tools_in_user_message is defined %}
    {%- set tools_in_user_message = true %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{#- The system message comes out of the list -#}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{%- if tools is not none and not tools_in_user_message %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- if tools_in_user_message and not tools is none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content']|trim %}
        {%- set messages = messages[1:] %}
    {%- else %}
        {{- raise_exception("Cannot put tools in the first user message when there's no first user message!") }}
{%- endif %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' -}}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- first_user_message + "<|eot_id|>"}}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {%- if builtin_tools is defined and tool_call.name in builtin_tools %}
            {{- "<|python_tag|>" + tool_call.name + ".call(" }}
            {%- for arg_name, arg_val in tool_call.arguments | items %}
                {{- arg_name + '="' + arg_val + '"' }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- endif %}
            {%- endfor %}
            {{- ")" }}
        {%- else  %}
            {{- '{"name": "' + tool_call.name + '", ' }}
            {{- '"parameters": ' }}
            {{- tool_call.arguments | tojson }}
            {{- "}" }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

THINKING = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""

TURNS = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '
' + message['content'] | trim + '<end_of_turn>
' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model
'}}{% endif %}"""

PARTS = """{%- macro render(content) -%}
  {%- if content is string -%}{{ content }}
  {%- elif content is sequence -%}
    {%- for part in content -%}
      {%- if part.type == 'text' -%}{{ part['text'] }}
      {%- elif part.type == 'image' or 'image_url' in part -%}<image>
      {%- else -%}{{ raise_exception('unknown part ' ~ part.type) }}
      {%- endif -%}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{% for m in messages %}
<{{ m.role | upper }}>
{{ render(m.content) }}
</{{ m.role | upper }}>
{% endfor %}"""

GENERATION = """{%- for message in messages -%}
{%- if message.role == "assistant" -%}
{% generation %}{{ "<|assistant|>" ~ message.content ~ "<|end|>" }}{% endgeneration %}
{%- else -%}
{{ "<|" ~ message.role ~ "|>" ~ message.content }}
{%- endif -%}
{%- endfor -%}"""

SIGNATURES = """{%- macro type_of(spec, depth=0) -%}
  {%- if spec.type == 'array' -%}List[{{ type_of(spec['items'], depth + 1) }}]
  {%- elif spec.type == 'object' -%}Dict[{{ spec.properties.keys() | list | join(', ') }}]
  {%- else -%}{{ {'string': 'str', 'integer': 'int', 'number': 'float', 'boolean': 'bool'}[spec.type] | default('Any') }}
  {%- endif -%}
{%- endmacro -%}
{% for tool in tools or [] %}{% set f = tool.function if tool.function is defined else tool %}
def {{ f.name }}({% for name, p in f.parameters.properties.items() %}{{ name }}: {{ type_of(p) }}{{ " = None" if name not in f.parameters.required else "" }}{{ ", " if not loop.last }}{% endfor %}):
    \"\"\"{{ f.description | default('no description', true) | indent(4) }}\"\"\"
{% endfor %}
{% for m in messages if m.role != 'system' %}{{ loop.index }}/{{ loop.length }} {{ m.role.title() }}: {{ m.content }}
{% else %}nobody
{% endfor %}
"""

TEMPLATES = {
    "chatml": CHATML,
    "default_system": DEFAULT_SYSTEM,
    "inst": INST,
    "headers_tools": HEADERS_TOOLS,
    "thinking": THINKING,
    "turns": TURNS,
    "parts": PARTS,
    "generation": GENERATION,
    "signatures": SIGNATURES,
}

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Says what the weather is.\nNo forecast.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Name <é> & 'quotes'"},
                "days": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["city"],
        },
    },
}

CONVERSATIONS = [
    [{"role": "user", "content": "Hi"}],
    [
        {"role": "system", "content": "  Be brief. \n"},
        {"role": "user", "content": "Hello, <b>wörld</b> 👋"},
    ],
    [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": " c "},
    ],
    [{"role": "user", "content": "q"}, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nr"}],
    [
        {"role": "user", "content": "weather?"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "type": "function",
                    "function": {
                        "name": "weather",
                        "arguments": {"city": "Köln", "days": [1, 2.5, True, None]},
                    },
                }
            ],
        },
        {"role": "tool", "content": '{"t": 21}'},
    ],
    [{"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image"}]}],
    [{"role": "assistant", "content": "wrong order"}, {"role": "user", "content": "x"}],
    [],
]

VARIABLES = [
    {},
    {"add_generation_prompt": True},
    {"tools": [TOOL], "add_generation_prompt": True},
    {"tools": [TOOL], "tools_in_user_message": False},
    {"enable_thinking": False, "add_generation_prompt": True},
]

# Every template is rendered with these variables.
CONTEXT = {
    "a": 7,
    "b": -3,
    "f": 2.5,
    "s": "Hello World",
    "e": "",
    "t": True,
    "n": None,
    "u": "straße ÀÉ 日本",
    "l": [3, 1, 2],
    "d": {"x": 1, "y": {"z": "deep"}, "items": 5},
    "w": "  pad  ded \n",
    "ll": [[1, 2], ["a", "b"]],
    "ms": [
        {"role": "user", "content": "u1", "n": 2},
        {"role": "assistant", "content": "a1", "n": 1},
        {"role": "user", "content": "u2"},
    ],
}

EXPRESSIONS = """
1 + 2 * 3 - 4
(1 + 2) * 3
7 // 2
-7 // 2
7 % -3
-7 % 3
7 / 2
6 / 2
2 ** 10
2 ** -1
2 ** 3 ** 2
-2 ** 2
7.5 // 2
-7.5 % 2
1e3
1_000 + 1
0.1 + 0.2
1.0
100000000000000000.0
1e16
123456789012345680.0
1e-5
0.0001
1.5e300 * 1e10
a + f
a ~ b ~ f ~ t ~ n
'a' 'b' "c"
'x' * 3
3 * 'ab'
[1, 2] * 2
[1] + [2, 3]
(1, 2)
(1,)
()
1, 2
[1, 'a', 2.0, true, none]
{'a': 1, "b": [1, 2], 'c': {'d': none}}
{1: 2, 1.5: 3, true: 4}
{'a': 1, 'a': 2}
"it's"
'say "hi"'
['it\\'s', 'say "hi"', "both ' and \\""]
['tab\\t', 'nl\\n', 'nul\\x00', 'é', '\\u200b', '\\U0001F600', '\\\\', '\\q']
'\\x41\\u00e9\\101\\q'
a == 7
a != 7.0
1 == true
'1' == 1
none == false
[1, 2] == [1, 2]
(1, 2) == [1, 2]
{'a': 1} == {'a': 1.0}
1 < 2 < 3
1 < 3 < 2
'a' < 'b'
[1, 2] < [1, 3]
1 < 'a'
none < 1
a in l
3 in l
'x' in d
'lo W' in s
'' in e
1 in missing
3 not in l
not a
not not a
t and a
n or 'fallback'
e or n
a and n
a if t else b
a if not t else b
a if false
(a if false) is undefined
missing
missing is defined
missing is not defined
missing.attr
d.missing
d.missing.more
d['missing'] is undefined
missing | default('dflt')
n | default('dflt')
n | default('dflt', true)
e | default('dflt', boolean=true)
missing + 1
missing ~ 'x'
missing == none
missing | length
missing | upper
missing | join(',')
missing | list
missing | tojson
missing | int
missing | trim
missing()
s()
s.foo
s.foo()
s[0]
s[-1]
s[100]
s[1:4]
s[::-1]
s[::2]
s[-3:]
s[:-3]
s[5:2]
s[10:0:-3]
u[5:8]
u[::-1]
l[0]
l[-1]
l[5]
l[1:]
l[::-1]
l[5:]
l['a']
(1, 2, 3)[1:]
d['x']
d.x
d.y.z
d.items
d['items']
d['y']['z']
d.get('x')
d.get('q')
d.get('q', 4)
d.keys() | list
d.values() | list
d.items() | list
d | items | list
d | list
d | length
d | dictsort
d | dictsort(reverse=true)
{'b': 1, 'a': 2, 'C': 0} | dictsort
{'b': 1, 'a': 2, 'C': 0} | dictsort(true)
{'b': 1, 'a': 2} | dictsort(by='value')
s.upper()
s.lower()
s.title()
s.capitalize()
u.upper()
u.lower()
u.title()
u | upper
u | capitalize
u | title
'ΑΣ ΣΑΣ. ΌΔΟΣ' | lower
'ǆ ǅ ßfoo ﬁ' | title
'ǆa ßfoo'.title()
'hello-world (foo) [bar]' | title
"they're bill's".title()
"they're bill's" | title
s.split()
s.split('o')
s.split('o', 1)
' a  b '.split()
' a  b '.split(' ')
' a  b  c '.split(none, 1)
'a,b,c'.rsplit(',', 1)
' a  b  c '.rsplit(none, 1)
''.split()
''.split(',')
'a'.split('')
'x\\ny\\r\\nz\\n'.splitlines()
'x\\ny\\n'.splitlines(true)
w.strip()
w.lstrip()
w.rstrip()
w | trim
'xxaxx'.strip('x')
'xyaxy' | trim('xy')
'xyaxy'.lstrip('yx')
s.startswith('Hell')
s.startswith(('x', 'H'))
s.endswith('d')
s.replace('o', '0')
s.replace('o', '0', 1)
s.replace('', '-')
s | replace('l', 'L')
s | replace('l', 'L', 1)
s | replace('', '.')
s.find('o')
s.rfind('o')
'abababa'.rfind('aba')
'abababa'.rfind('abc')
'aabaabaaab'.rfind('aabaa')
''.rfind('')
'abc'.rfind('')
'aaaa'.rsplit('aa')
'xabaabay'.rsplit('aba', 1)
('a' * 65536 ~ 'b') in 'a' * 262144
('a' * 262144).rfind('b' ~ 'a' * 65536)
s.find('zz')
u.find('日')
s.count('o')
s.index('W')
s.index('zz')
'-'.join(['a', 'b'])
'-'.join([1])
'abc'.removeprefix('a').removesuffix('c')
'a=b=c'.partition('=')
'a=b=c'.rpartition('=')
'aabaabaa'.rpartition('aaba')
'abc'.partition('z')
'7'.zfill(3)
'-7'.zfill(4)
'ab'.center(7)
'ab'.center(6, '*')
'ab'.ljust(4) ~ '|'
'ab'.rjust(4, '.')
'12'.isdigit()
'1a'.isdigit()
'ab'.isalpha()
'a1'.isalnum()
' '.isspace()
''.isspace()
'AB'.isupper()
'Ab'.isupper()
'ab1'.islower()
'{} and {}'.format(1, 'x')
'{1}{0} {k} {{}}'.format(1, 2, k=3)
'%s is %d and %.2f %%' % ('x', 3, 2.5)
'%05d|%r' % (42, 'q')
'%s' % 5
'[%5s|%-5s|%+d|% d|%05.1f|%x|%e|%g]' % ('a', 'b', 3, 4, 2.25, 255, 1234.5, 0.0001)
'%d' % 3.9
'%d' % 'x'
'%s %s' % ('a',)
'%s' % (1, 2)
'%' % 1
'%s-%s' | format('a', 'b')
s | length
u | length
l | length
5 | length
l | first
l | last
[] | first
'abc' | first
l | sum
[1, 2.5] | sum
ms | sum(attribute='x', start=0)
l | min
l | max
['b', 'A', 'c'] | min
[] | max
l | sort
l | sort(reverse=true)
['b', 'A', 'c'] | sort
['b', 'A', 'c'] | sort(case_sensitive=true)
ms | sort(attribute='content') | map(attribute='content') | list
[1, 'a'] | sort
l | reverse | list
'abc' | reverse
l | join
l | join(', ')
ll | join('; ')
ms | join(', ', attribute='role')
['a', n, 1.5, t] | join('|')
5 | join(',')
l | string
5 | string | length
n | string
'5' | int + 1
'x' | int
'x' | int(9)
' 42 ' | int
'3.9' | int
3.9 | int
-3.9 | int
'ff' | int(0, 16)
'1_000' | int
'9223372036854775807' | int
'-9223372036854775808' | int
-9223372036854775808.0 | int
9223372036854774784.0 | int
'9.2e18' | int
'0x10' | int(0, 16)
'0x10' | int(7, 0)
'0X1F' | int(0, 16)
'-0x10' | int(7, 16)
'0b101' | int(0, 2)
'0o17' | int(0, 8)
'0b1' | int(0, 16)
'0x10' | int
'010' | int(7, 0)
'00' | int(7, 0)
'0_0' | int(7, 0)
'0x_f' | int(7, 0)
'0x__f' | int(7, 0)
'0x' | int(7, 16)
'0b2' | int(7, 0)
'_1' | int(7)
'1_' | int(7)
'1__0' | int(7)
'1_0.5' | int(7)
'1_0.5' | float
'1_.5' | float(7)
'1._5' | float(7)
'1e1_0' | float
'+5' | int
'+-5' | int(7)
'--5' | int(7)
'- 5' | int(7)
'5' | int(7, 1)
'5' | int(7, 37)
'5' | int(7, -1)
'5' | int(7, 'x')
'5.5' | int(7, 99)
'5' | int(7, none)
'z' | int(7, 36)
'9' | int(7, 8)
'1e5' | int
'1e5' | int(7, 16)
'ff.5' | int(7, 16)
'-0' | int
'' | int(7)
'+' | int(7)
'inf' | int(7)
'nan' | int(7)
'1e400' | int(7)
'nan' | float | int(7)
'inf' | float | int(7)
'nan(1)' | float(7)
'infinity' | float
'-Inf' | float
'1e400' | float
'-1e400' | float
'0.00001e400' | float
'1e-400' | float
'10000e-400' | float
'0x1p3' | float(7)
'.5' | float
'5.' | float
'.' | float(7)
'1e' | float(7)
('1' * 4301) | int(7)
('0' * 4301) | int(7)
('0' * 4000 ~ '9') | int(7)
0 ** -1
0.0 ** -1
false ** -1
10.0 ** 400
10 ** -400
(-2) ** -1
(-2.0) ** 3
0.0 ** 0
('inf' | float) ** 2
('inf' | float) ** -1
0.0 ** (-('inf' | float))
(-('inf' | float)) ** 0.5
('nan' | float) ** 2
1.0 ** ('nan' | float)
1e308 * 10
none | int
'2.5' | float
'x' | float
'x' | float(1.5)
'inf' | float
5 | float
-5 | abs
2.567 | round
2.567 | round(1)
2.5 | round
3.5 | round
2.1 | round(0, 'ceil')
2.9 | round(method='floor')
1234 | round(-2)
5 | round
l | map('string') | list
['a', 'B'] | map('upper') | join
ms | map(attribute='role') | list
ms | map(attribute='n', default=0) | list
ms | map(attribute='n') | list
['1', '2'] | map('int') | sum
[' a '] | map('trim') | first
['ab'] | map('replace', 'a', 'x') | list
l | select('odd') | list
l | select('greaterthan', 1) | list
l | select('>', 1) | list
[0, 1, '', 'a'] | select | list
[0, 1, '', 'a'] | reject | list
l | reject('odd') | list
ms | selectattr('role', 'equalto', 'user') | map(attribute='content') | list
ms | selectattr('n') | list | length
ms | selectattr('n', 'defined') | list | length
ms | rejectattr('role', '==', 'user') | list
ms | rejectattr('n', 'defined') | map(attribute='content') | join
ms | selectattr('role', 'in', ['assistant']) | list | length
['a', 'A', 'b', 'a'] | unique | list
['a', 'A', 'b', 'a'] | unique(case_sensitive=true) | list
[1, 1.0, 2] | unique | list
ms | groupby('role') | length
[1, 2, 3] | batch(2) | list
[1, 2, 3] | batch(2, 0) | list
s | wordcount
'<a href="x">' | escape
'<b>' | e
'<b>' | safe
'a\\nb\\n\\nc' | indent
'a\\nb\\n\\nc' | indent(2, true)
'a\\nb\\n\\nc' | indent(2, blank=true)
'a\\nb' | indent('--')
'ab' | center(6) ~ '|'
d | tojson
d | tojson(indent=2)
l | tojson
[] | tojson(indent=2)
{} | tojson
{'a': [], 'b': {}} | tojson(indent=4)
{'b': 1, 'a': 2} | tojson(sort_keys=true)
{'a': 1} | tojson(separators=(',', ':'))
{"a": "<é>", "b": [1, 2.0, true, none]} | tojson
'é "q" \\\\ / \\n\\t\\x08\\x0c\\x01\\x7f 😀' | tojson
'é 😀' | tojson(ensure_ascii=true)
1e22 | tojson
(1, 2) | tojson
{1: 'a', none: 'b', true: 'c', 2.5: 'd'} | tojson
a is number
f is float
a is integer
t is integer
t is number
t is boolean
t is true
a is true
n is none
n is not none
s is string
l is sequence
s is sequence
d is sequence
d is mapping
l is mapping
l is iterable
5 is iterable
d is iterable
a is odd
4 is even
9 is divisibleby 3
9 is divisibleby(4)
a is eq 7
a is sameas 7
n is sameas none
a is gt 5 and b is lt 0
a is in l
3 is in [1, 3]
range is callable
s is lower
'abc' is lower
'ABC' is upper
'upper' is filter
'nope' is filter
'odd' is test
a is foo
a | foo
range(5) | list
range(2, 8, 3) | list
range(5, 0, -2) | list
range(0) | list
range(10 ** 9)
range(1, 2, 0)
dict(a=1, b='x')
dict({'q': 1}, a=2)
namespace(a=1).a
namespace(a=1).b
raise_exception('boom')
true
True
none
None
nope is none
-a
+a
- -a
not a == 8
a == 7 and not b == 3 or false
1 if 0 else 2 if 0 else 3
[1, 2, 3][1]
[1, 2, 3][1:][0]
{'a': [1, {'b': 'c'}]}['a'][1].b
'abc'[1]|upper
('a' ~ 'b')|upper
-5|abs
'%s' % missing
l.append(4)
d.update({'x': 2})
d.pop('x')
l.index(2)
l.index(9)
l.count(1)
'a' + 1
1 + none
'a' - 'b'
1 / 0
1 % 0
1 // 0
[1] + (2,)
{} + {}
l is string or d is mapping
(s | lower).split(' ') | map('length') | sum
ms[0].role ~ ms[-1]['content']
ms[0]['content'][0]
s | length > 5
s|length > 5 and 'x' or 'y'
loop
1 in [1] == true
'a' in 'abc' and 'b' not in 'xyz'
9223372036854775807
9223372036854775807 + 0
u | list
'a\\u00a0b\\u3000c'.split()
'\\u00a0x\\u3000'.strip()
'x' | indent(width=2, first=true)
[[1, [2, [3]]]] | string
d.y | string
[1.0, 1e100, -0.0, 1e-7]
[missing]
{'a': missing}
""".strip("\n").split("\n")

STATEMENTS = [
    "{% for i in l %}{{ i }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for i in [] %}x{% else %}none{% endfor %}",
    "{% for i in l if i > 1 %}{{ loop.index }}:{{ i }} {% endfor %}",
    "{% for i in l if i > 9 %}x{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in d %}{{ k }};{% endfor %}",
    "{% for (a, b) in ll %}{{ a }}{{ b }}{% endfor %}{{ a }}",
    "{% for a, b in l %}{{ a }}{% endfor %}",
    "{% for c in 'héy' %}[{{ c }}]{% endfor %}",
    "{% for i in missing %}x{% else %}empty{% endfor %}",
    "{% for i in n %}x{% endfor %}",
    "{% for i in 5 %}x{% endfor %}",
    "{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }} {% endfor %}",
    "{% for i in l %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}",
    "{% for i in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }} {% endfor %}",
    "{% for i in l %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for i in [1, 1, 2] %}{{ loop.changed(i) }} {% endfor %}",
    "{% for i in l %}{% for j in ll %}{{ loop.depth }}{{ loop.index }}{% endfor %}{{ loop.index }}|{% endfor %}",
    "{% for i in l %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in l %}{% if i == 1 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in l %}{% for j in l %}{% if j == 1 %}{% break %}{% endif %}{{ j }}{% endfor %}{{ i }}{% endfor %}",
    "{% break %}",
    "{% set x = 1 %}{% for i in l %}{% set x = i %}{{ x }}{% endfor %}{{ x }}",
    "{% for i in l %}{{ x }}{% set x = i %}{{ x }};{% endfor %}{{ x }}",
    "{% set x = 1 %}{% if t %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% set ns = namespace(x=0, found=false) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}{{ ns.found }}",
    "{% set ns = namespace() %}{% set ns.y = [1] %}{{ ns.y }}{{ ns.q is defined }}",
    "{% set d.x = 5 %}",
    "{% set q.x = 5 %}",
    "{% set x, y = 1, 2 %}{{ x }}{{ y }}",
    "{% set x = 1, 2 %}{{ x }}",
    "{% set x %}a{{ a }}b{% endset %}[{{ x }}]{{ x | length }}",
    "{% set x | upper | trim %} ab {% endset %}[{{ x }}]",
    "{% set x %}{% set z = 1 %}{{ z }}{% endset %}{{ x }}{{ z }}",
    "{% if a > 5 %}big{% elif a > 3 %}mid{% else %}small{% endif %}",
    "{% if b > 5 %}big{% elif b > -4 %}mid{% else %}small{% endif %}",
    "{% if e %}x{% elif n %}y{% else %}z{% endif %}",
    "{% macro m(x, y=2) %}{{ x }}-{{ y }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(y=4, x=5) }} {{ m() }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(z=2) }}",
    "{% macro m() %}{{ a }}{{ q }}{% endmacro %}{% set q = 5 %}{{ m() }}",
    "{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% macro m(x) %}[{{ x }}]{% endmacro %}{{ m('a') | upper }}{{ (m('b') ~ 'c') | length }}",
    "{% macro m(x) -%} {{ x }} {%- endmacro %}{{ m(1) }}|",
    "{% macro m() %}{{ caller() }}!{% endmacro %}{% call m() %}body {{ a }}{% endcall %}",
    "{% macro m(l) %}{% for i in l %}{{ caller(i) }}{% endfor %}{% endmacro %}{% call(x) m(l) %}<{{ x }}>{% endcall %}",
    "{% macro m(x, y=x) %}{{ y }}{% endmacro %}{{ m(3) }}",
    "{% macro m(x) %}{% set a = x %}{{ a }}{% endmacro %}{{ m(1) }}{{ a }}",
    "{% filter upper %}abc {{ s }}{% endfilter %}",
    "{% filter replace('a', 'b') | upper %}aaa{% endfilter %}",
    "{% with x = 1, y = 2 %}{{ x }}{{ y }}{% endwith %}{{ x }}",
    "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}",
    "{% raw %}{{ a }} {% if %}{% endraw %} {{ a }}",
    "{%- raw -%}  {{ a }}  {%- endraw -%}  x",
    "{# comment {{ a }} #}x{#- y -#}  z",
    "a\n{# c #}\nb",
    "  {# c #}\nb",
    "a  {#- c -#}  b",
    "a\n  {% if t %}\n  b\n  {% endif %}\nc",
    "a\n  {%+ if t %}\n  b\n  {%+ endif %}\nc",
    "a\n  {% if t +%}\n  b\n  {% endif +%}\nc",
    "a\n  {%- if t %}\n  b\n  {%- endif %}\nc",
    "a\n  {% if t -%}\n  b\n  {% endif -%}\nc",
    "a {% if t %} b {% endif %} c",
    "  {% if t %}x{% endif %}  {% if t %}y{% endif %}\n",
    "x  {{- a -}}  y",
    "x\n{{ a }}\ny\n",
    "x\n{{ a }}\n\n",
    "{{ a }}\r\n{{ b }}\r\n",
    "{% if t %}\r\nx\r\n{% endif %}",
    "{{ '{{' }}{{ '}}' }}{{ '%}' }}",
    "{{ {'a': {'b': 1}}['a']['b'] }}",
    "{{ {'a': {'b': 1}} }}",
    "{{\n a\n }}",
    "{% set x = {\n'a': 1,\n'b': [1,\n2]\n} %}{{ x }}",
    "{{ a }} { {% if t %}}{% endif %} }",
    "{% generation %}{{ a }}{% set gg = 1 %}{% endgeneration %}{{ gg }}",
    "{% autoescape false %}{{ '<' }}{% endautoescape %}",
    "{% if %}",
    "{% endif %}",
    "{% for x in %}{% endfor %}",
    "{% for x in l %}",
    "{% if t %}",
    "{{ a",
    "{{ }}",
    "{{ a b }}",
    "{{ a | }}",
    "{{ 'abc }}",
    "{{ [1, 2 }}",
    "{{ (1 }}",
    "{{ ) }}",
    "{{ a. }}",
    "{{ a[ }}",
    "{{ a[] }}",
    "{% foo %}",
    "{% set %}",
    "{% set 1 = 2 %}",
    "{% set x = %}",
    "{% macro %}{% endmacro %}",
    "{% macro m(x=1, y) %}{% endmacro %}",
    "{# open",
    "{% raw %}x",
    "{% else %}",
    "{% if t %}{% else %}{% else %}{% endif %}",
    "{% if t %}{% else %}{% elif t %}{% endif %}",
    "{{ a ! b }}",
    "{{ a is }}",
    "{{ a if }}",
    "{{ f(a=1, 2) }}",
    "line\n{{ missing.x }}",
    "{{ 1 if t }}{{ 2 if e }}",
    "{{ a\n~\n'x' }}\n{{ b }}",
    "{%if t%}tight{%endif%}{{a}}",
    "{% set x = [] %}{% for m in ms %}{% set x = x + [m.content] %}{% endfor %}{{ x }}",
    "{% set ns = namespace(x=[]) %}{% for m in ms %}{% set ns.x = ns.x + [m.content] %}{% endfor %}{{ ns.x | join('+') }}",
    "{% for m in ms %}{% if loop.first %}{{ m.role }}{% elif loop.last %}{{ m.content }}{% else %}.{% endif %}{% endfor %}",
    "{% for m in ms | reverse %}{{ m.content }}{% endfor %}",
    "{% for m in ms[1:] %}{{ m.content }}{% endfor %}",
    "{% for i in range(3) %}{{ i }}{% endfor %}",
    "{% set loop_messages = ms if ms[0].role == 'user' else ms[1:] %}{{ loop_messages | length }}",
    "{{ ms | map(attribute='role') | map('upper') | join('/') }}",
    "{{ {'role': 'x'}.role }}{{ {'role': 'x'}['role'] }}",
]
