// Messages of MCP as clients and servers write them, with as many members as possible.

export type From = 'client' | 'server'

const META = {
  progressToken: 'p-1',
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'client', version: '1.0' },
}

/** Messages with the members of all revisions. */
export const RECORDED: Readonly<Record<string, readonly [From, object]>> = {
  call: [
    'client',
    {
      id: 1,
      method: 'tools/call',
      params: { name: 'fetch', arguments: { a: 'x', b: [{ c: 'y' }], n: 1 }, _meta: META },
    },
  ],
  prompt: [
    'client',
    { id: 1, method: 'prompts/get', params: { name: 'p', arguments: { a: 'x' } } },
  ],
  complete: [
    'client',
    {
      id: 1,
      method: 'completion/complete',
      params: { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: 'x' } },
    },
  ],
  retried: [
    'client',
    {
      id: 2,
      method: 'tools/call',
      params: {
        name: 'fetch',
        arguments: {},
        inputResponses: { k: { action: 'accept', content: { type: 'text' } } },
        requestState: 'abc=',
      },
    },
  ],
  elicited: ['client', { id: 's', result: { action: 'accept', content: { name: 'bob', age: 3 } } }],
  sampled: [
    'client',
    {
      id: 's',
      result: {
        role: 'assistant',
        model: 'm',
        stopReason: 'endTurn',
        content: [{ type: 'tool_use', id: 't', name: 'x', input: { q: 'z' } }],
      },
    },
  ],
  cancelled: [
    'client',
    { method: 'notifications/cancelled', params: { requestId: 1, reason: 'no' } },
  ],
  result: [
    'server',
    {
      id: 1,
      result: {
        content: [
          { type: 'text', text: 'hello', annotations: { audience: ['user'], priority: 1 } },
          { type: 'image', mimeType: 'image/png', data: 'aGVsbG8=' },
          { type: 'resource_link', uri: 'file:///a', name: 'a', title: 'A file', size: 1 },
          { type: 'resource', resource: { uri: 'file:///a', mimeType: 'text/plain', text: 'x' } },
          { type: 'resource', resource: { uri: 'file:///b', blob: 'aGVsbG8=' } },
        ],
        structuredContent: { a: 'x', data: 'aGVsbG8', id: '1', nested: { type: 'y' } },
        isError: false,
        resultType: 'complete',
        _meta: { trace: 'abc' },
      },
    },
  ],
  initialize: [
    'server',
    {
      id: 0,
      result: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 's', version: '1', title: 'Server', icons: [{ src: 'https://a/b' }] },
        instructions: 'call fetch first',
      },
    },
  ],
  error: ['server', { id: 1, error: { code: -1, message: 'it failed', data: { why: 'x' } } }],
  log: [
    'server',
    { method: 'notifications/message', params: { level: 'info', logger: 'l', data: 'aGVsbG8' } },
  ],
  sampling: [
    'server',
    {
      id: 's',
      method: 'sampling/createMessage',
      params: {
        messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }],
        modelPreferences: { hints: [{ name: 'claude' }] },
        systemPrompt: 'be kind',
        includeContext: 'none',
        stopSequences: ['stop here'],
      },
    },
  ],
  elicitation: [
    'server',
    {
      id: 's',
      method: 'elicitation/create',
      params: {
        mode: 'form',
        message: 'your name?',
        requestedSchema: {
          type: 'object',
          properties: { name: { type: 'string', format: 'email', title: 'Name' } },
          required: ['name'],
        },
      },
    },
  ],
  tools: [
    'server',
    {
      id: 1,
      result: {
        tools: [
          {
            name: 'fetch',
            title: 'Fetch',
            description: 'Fetches.',
            execution: { taskSupport: 'optional' },
            inputSchema: {
              $schema: 'https://json-schema.org/draft',
              type: 'object',
              required: ['url'],
              properties: { url: { type: 'string', format: 'uri', description: 'Where.' } },
            },
            annotations: { title: 'Fetch' },
            icons: [{ src: 'https://a/b', theme: 'dark', sizes: ['48x48'] }],
          },
        ],
        nextCursor: 'YWJj',
      },
    },
  ],
  prompts: [
    'server',
    {
      id: 1,
      result: { prompts: [{ name: 'p', arguments: [{ name: 'a', description: 'An a.' }] }] },
    },
  ],
  messages: [
    'server',
    { id: 1, result: { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }] } },
  ],
  read: [
    'server',
    { id: 1, result: { contents: [{ uri: 'file:///a', mimeType: 'text/plain', text: 'x' }] } },
  ],
  templates: [
    'server',
    { id: 1, result: { resourceTemplates: [{ uriTemplate: 'file:///{path}', name: 't' }] } },
  ],
  roots: ['client', { id: 's', result: { roots: [{ uri: 'file:///home', name: 'home' }] } }],
  task: [
    'server',
    {
      id: 1,
      result: {
        task: {
          taskId: 't-1',
          status: 'working',
          statusMessage: 'At it.',
          createdAt: '2026-07-28T10:00:00Z',
          lastUpdatedAt: '2026-07-28T10:00:00Z',
        },
        _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't-1' } },
      },
    },
  ],
  asking: [
    'server',
    {
      id: 1,
      result: {
        resultType: 'input_required',
        requestState: 'abc=',
        inputRequests: {
          k: {
            method: 'elicitation/create',
            params: { mode: 'url', url: 'https://a/b', elicitationId: 'e', message: 'go' },
          },
        },
      },
    },
  ],
  discovered: [
    'server',
    {
      id: 1,
      result: {
        supportedVersions: ['2026-07-28'],
        cacheScope: 'public',
        serverInfo: { name: 's', version: '1' },
      },
    },
  ],
  listen: [
    'client',
    {
      id: 3,
      method: 'subscriptions/listen',
      params: { notifications: { resourceSubscriptions: ['file:///a'] }, _meta: META },
    },
  ],
  other: ['server', { detail: 'not found' }],
}
