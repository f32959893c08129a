// Bodies and events as servers and clients of every API write them, with as many members as possible.

const TOOLS = [{ type: 'function', function: { name: 'f', description: 'd', parameters: {} } }]

const LOGPROBS = {
  content: [
    {
      token: 'Hello',
      logprob: -0.1,
      bytes: [72],
      top_logprobs: [
        { token: 'Hello', logprob: -0.1 },
        { token: 'Hi', logprob: -2 },
      ],
    },
  ],
}

const chatMessage = {
  role: 'assistant',
  content: 'Hello',
  refusal: null,
  reasoning_content: 'They greet.',
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
  annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } }],
  audio: { id: 'audio_1', data: 'UklG', transcript: 'Hello' },
}

const blocks = [
  { type: 'thinking', thinking: 'They greet.', signature: 'EqQB' },
  { type: 'redacted_thinking', data: 'EmwK' },
  {
    type: 'text',
    text: 'Hello',
    citations: [{ type: 'char_location', cited_text: 'Hello there' }],
  },
  { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 'b' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: [
      { type: 'web_search_result', url: 'https://a.example', title: 'A', encrypted_content: 'Eq' },
    ],
  },
]

const items = [
  {
    type: 'reasoning',
    id: 'rs_1',
    encrypted_content: 'gAAA',
    summary: [{ type: 'summary_text', text: 'They greet.' }],
  },
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [
      { type: 'output_text', text: 'Hello', annotations: [], logprobs: LOGPROBS.content },
      { type: 'refusal', refusal: 'No.' },
    ],
  },
  { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{"a":1}' },
  {
    type: 'web_search_call',
    id: 'ws_1',
    status: 'completed',
    action: { type: 'search', query: 'q' },
  },
  {
    type: 'file_search_call',
    id: 'fs_1',
    queries: ['q'],
    results: [{ file_id: 'f', text: 'Hello' }],
  },
  { type: 'mcp_call', id: 'mcp_1', server_label: 's', name: 'f', arguments: '{}', output: 'done' },
  { type: 'image_generation_call', id: 'ig_1', result: 'iVBO', revised_prompt: 'a fox' },
]

const parts = [
  { text: 'Hello', thought: true, thoughtSignature: 'CpgF' },
  { functionCall: { id: 'x', name: 'f', args: { a: 'b' } } },
  { inlineData: { mimeType: 'image/png', data: 'iVBO' } },
  { executableCode: { language: 'PYTHON', code: 'print(1)' } },
  { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
]

export const REQUESTS: Readonly<Record<string, object>> = {
  "a chat of Cohere's": {
    model: 'command-a-03-2025',
    safety_mode: 'CONTEXTUAL',
    messages: [
      {
        role: 'user',
        content: [{ type: 'document', document: { id: 'd', data: { text: 'Hi' } } }],
      },
      {
        role: 'assistant',
        tool_plan: 'I will.',
        citations: [{ text: 'Hi', sources: [{ id: 's' }] }],
      },
    ],
  },
  'a chat of the AI SDK': {
    id: 'chat-1',
    trigger: 'submit-message',
    messages: [
      {
        id: 'm-1',
        role: 'assistant',
        parts: [
          { type: 'text', text: 'Hi', state: 'done' },
          {
            type: 'tool-f',
            toolCallId: 'call_1',
            state: 'output-available',
            input: {},
            output: ['Hello'],
          },
          { type: 'source-url', sourceId: 's', url: 'https://a.example', title: 'A' },
        ],
      },
    ],
  },
  'a run of AG-UI': {
    threadId: 't',
    runId: 'r',
    state: { a: 'Hi' },
    forwardedProps: { b: 'Hi' },
    messages: [{ id: 'm', role: 'user', content: 'Hi', toolCalls: [] }],
    context: [{ description: 'time', value: 'noon' }],
  },
  "a chat of Bedrock's": {
    messages: [
      {
        role: 'user',
        content: [
          { text: 'Hi' },
          { document: { format: 'txt', name: 'Notes', source: { text: 'Hello' } } },
          { toolResult: { toolUseId: 't', content: [{ text: 'Hi' }], status: 'success' } },
        ],
      },
    ],
    inferenceConfig: { stopSequences: ['END'] },
  },
  'a chat completion': {
    model: 'gpt-5.4',
    user: 'u_1',
    tools: TOOLS,
    reasoning_effort: 'high',
    stop: ['END'],
    messages: [
      { role: 'system', content: 'Be kind.' },
      {
        role: 'user',
        name: 'bob',
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'image_url', image_url: { url: 'https://a.example/i.png', detail: 'low' } },
          {
            type: 'file',
            file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' },
          },
        ],
      },
      { ...chatMessage, content: null },
      { role: 'tool', tool_call_id: 'call_1', content: 'done' },
    ],
    metadata: { run: 'r-1' },
    response_format: {
      type: 'json_schema',
      json_schema: { name: 's', schema: { type: 'object' } },
    },
    prediction: { type: 'content', content: 'Hello' },
    plugins: [{ id: 'web', search_prompt: 'Search well.' }],
  },
  'a completion': { model: 'm', prompt: ['Hi'], suffix: 'Bye', stop: 'END', user: 'u_1' },
  'a response': {
    model: 'gpt-5.4',
    instructions: 'Be kind.',
    tools: TOOLS,
    include: ['a.b'],
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      ...items,
      { type: 'function_call_output', call_id: 'call_1', output: 'done' },
    ],
    prompt: { id: 'pmpt_1', version: '2', variables: { city: 'Rome' } },
    reasoning: { effort: 'low', summary: 'auto' },
    text: { format: { type: 'text' }, verbosity: 'low' },
  },
  embeddings: { model: 'm', input: ['Hi', 'Bye'], encoding_format: 'float', user: 'u_1' },
  'a message of Anthropic': {
    model: 'claude-sonnet-5',
    max_tokens: 9,
    tools: [{ name: 'f', input_schema: {} }],
    system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral', ttl: '5m' } }],
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: blocks },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: [{ type: 'text', text: 'done' }],
          },
          {
            type: 'document',
            title: 'A',
            source: { type: 'text', media_type: 'text/plain', data: 'Hi' },
          },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
        ],
      },
    ],
    metadata: { user_id: 'u_1' },
  },
  'contents of Gemini': {
    tools: [{ functionDeclarations: [{ name: 'f' }] }],
    cachedContent: 'cachedContents/x',
    systemInstruction: { parts: [{ text: 'Be kind.' }] },
    contents: [
      { role: 'user', parts: [{ text: 'Hi' }] },
      { role: 'model', parts },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { r: 'done' } } }] },
    ],
    generationConfig: { responseMimeType: 'text/plain', stopSequences: ['END'] },
    safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
  },
}

export const REPLIES: Readonly<Record<string, object>> = {
  "a message of Cohere's": {
    id: 'c-1',
    finish_reason: 'COMPLETE',
    message: { role: 'assistant', tool_plan: 'I will.', content: [{ type: 'text', text: 'Hi' }] },
  },
  "a message of Ollama's": {
    model: 'm',
    created_at: '2025-10-17T23:14:07Z',
    done: true,
    done_reason: 'stop',
    message: { role: 'assistant', content: 'Hi', thinking: 'Hm.' },
  },
  "a text of Ollama's": { model: 'm', response: 'Hi', done: true, done_reason: 'stop' },
  "a message of Bedrock's": {
    output: { message: { role: 'assistant', content: [{ text: 'Hi' }] } },
    stopReason: 'end_turn',
    metrics: { latencyMs: 1 },
  },
  images: { created: 1, data: [{ url: 'https://a.example/i.png', revised_prompt: 'A fox' }] },
  'what moderation found': {
    id: 'modr-1',
    model: 'm',
    results: [{ flagged: true, category_applied_input_types: { violence: ['text'] } }],
  },
  'a chat completion': {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-5.4',
    choices: [{ index: 0, message: chatMessage, logprobs: LOGPROBS, finish_reason: 'stop' }],
    usage: { total_tokens: 9 },
    service_tier: 'default',
    system_fingerprint: 'fp_1',
  },
  'a completion': {
    id: 'cmpl-1',
    object: 'text_completion',
    model: 'm',
    choices: [{ index: 0, text: 'Hello', logprobs: { tokens: ['Hello'] }, finish_reason: 'stop' }],
  },
  'a response': {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    error: null,
    model: 'gpt-5.4',
    instructions: 'Be kind.',
    output: items,
    tools: TOOLS,
    tool_choice: 'auto',
    reasoning: { effort: 'low', summary: 'auto' },
    metadata: { run: 'r-1' },
    usage: {},
  },
  embeddings: {
    object: 'list',
    model: 'm',
    data: [{ object: 'embedding', embedding: [0.1, 0.2] }],
  },
  'a message of Anthropic': {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-5',
    content: blocks,
    stop_reason: 'end_turn',
    usage: { service_tier: 'standard' },
  },
  'candidates of Gemini': {
    candidates: [
      {
        content: { role: 'model', parts },
        finishReason: 'STOP',
        index: 0,
        safetyRatings: [{ category: 'C', probability: 'LOW' }],
        groundingMetadata: {
          webSearchQueries: ['q'],
          groundingChunks: [{ web: { uri: 'https://a.example', title: 'A' } }],
          groundingSupports: [{ segment: { text: 'Hello' } }],
        },
        logprobsResult: { chosenCandidates: [{ token: 'Hello', logProbability: -0.1 }] },
      },
    ],
    usageMetadata: { totalTokenCount: 9 },
    modelVersion: 'gemini-3-flash',
    responseId: 'r',
  },
}

const chunk = (delta: object, more: object = {}): object => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  model: 'gpt-5.4',
  obfuscation: 'kY3v',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
})
const place = { item_id: 'msg_1', output_index: 1, sequence_number: 9 }
const inPart = { ...place, content_index: 0 }

export const EVENTS: Readonly<Record<string, object>> = {
  'a part of a conversation': { type: 'message.output.delta', output_index: 0, content: 'Hello' },
  'a part of an interaction': {
    event_type: 'step.delta',
    index: 0,
    delta: { type: 'text', text: 'Hello' },
  },
  'a part of a thread': {
    id: 'msg_1',
    object: 'thread.message.delta',
    delta: { content: [{ index: 0, type: 'text', text: { value: 'Hello' } }] },
  },
  "a part of Cohere's": {
    type: 'content-delta',
    index: 0,
    delta: { message: { content: { text: 'Hello' } } },
  },
  "a citation of Cohere's": {
    type: 'citation-start',
    index: 0,
    delta: { message: { citations: { text: 'A', sources: [{ type: 'document', id: 'd' }] } } },
  },
  'a part of the AI SDK': { type: 'text-delta', id: 't', delta: 'Hello' },
  'data of the AI SDK': { type: 'data-weather', id: 'd', data: { city: 'A' } },
  'a part of AG-UI': { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'Hello' },
  'messages of AG-UI': {
    type: 'MESSAGES_SNAPSHOT',
    messages: [{ id: 'm', role: 'assistant', content: 'Hello' }],
  },
  "a line of Ollama's": { model: 'm', message: { role: 'assistant', content: 'Hi' }, done: false },
  'an image': { type: 'image_generation.completed', b64_json: 'iVBORw0KGgo=', quality: 'high' },
  'a chunk': chunk({ ...chatMessage, content: 'Hello' }, { logprobs: LOGPROBS }),
  'a chunk of parts': chunk({ content: [{ type: 'text', text: 'Hello' }] }),
  'a last chunk': chunk({}, { message: chatMessage, finish_reason: 'stop' }),
  'a chunk of a completion': { object: 'text_completion', choices: [{ text: 'Hello', index: 0 }] },
  'a text of a response': { type: 'response.output_text.delta', ...inPart, delta: 'Hello' },
  'an end of a text': { type: 'response.output_text.done', ...inPart, text: 'Hello' },
  'a part of a response': {
    type: 'response.content_part.done',
    ...inPart,
    part: { type: 'output_text', text: 'Hello', annotations: [] },
  },
  'an item of a response': { type: 'response.output_item.done', ...place, item: items[1] },
  'the response': { type: 'response.completed', response: REPLIES['a response'] },
  'an annotation': {
    type: 'response.output_text.annotation.added',
    ...inPart,
    annotation: { type: 'url_citation', url: 'https://a.example', title: 'A' },
  },
  'an image of a response': {
    type: 'response.image_generation_call.partial_image',
    ...place,
    partial_image_b64: 'iVBO',
  },
  'another event of a response': { type: 'response.web_search_call.searching', ...place },
  'the start of a message': {
    type: 'message_start',
    message: { ...REPLIES['a message of Anthropic'], content: [] },
  },
  ...Object.fromEntries(
    blocks.map((content_block) => [
      `the start of ${content_block.type}`,
      { type: 'content_block_start', index: 0, content_block },
    ]),
  ),
  'a text of a message': {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: 'Hello' },
  },
  'a call of a message': {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: '{"a"' },
  },
  'a citation': {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'citations_delta', citation: { type: 'char_location', cited_text: 'A' } },
  },
  'a signature': {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'signature_delta', signature: 'EqQB' },
  },
  'the end of a message': {
    type: 'message_delta',
    usage: { output_tokens: 15 },
    delta: { stop_reason: 'end_turn', stop_sequence: null },
  },
  'a chunk of Gemini': REPLIES['candidates of Gemini'] ?? {},
}
