// Guarded MCP routes through the whole product: a raw MCP server and a webhook whose answers tests define.

import type { ServerResponse } from 'node:http'
import { type Backend, startBackend } from './backend.js'
import { sample, service } from './guardrails.js'
import { type Answer, send } from './http.js'
import {
  API_GROUP,
  backendRef,
  type Document,
  gateway,
  httpRoute,
  prefix,
  proxyBackend,
} from './resources.js'
import { type Stack, type StackOptions, startStack } from './stack.js'

/** The body of a question about a message of MCP. */
export interface McpWire {
  readonly tool?: { readonly method?: string; readonly name?: string }
  readonly messages?: readonly { role: string; content: string }[]
  readonly choices?: readonly { message: { role: string; content: string } }[]
}

/** A question as "METHOD NAME | ROLE: CONTENT | …". */
export const questions = (webhook: Backend): string[] =>
  webhook.requests.map(({ url, body }) => {
    const { tool, messages, choices } = (JSON.parse(body) as { body: McpWire }).body
    const texts = messages ?? (choices ?? []).map(({ message }) => message)
    const about = [url, tool?.method, tool?.name].filter((part) => part !== undefined).join(' ')
    return [about, ...texts.map(({ role, content }) => `${role}: ${content}`)].join(' | ')
  })

/** A route to /mcp of a backend whose MCP traffic these webhooks guard. */
export function guardedMcp(path: string, backend: string, guard: object): Document[] {
  const name = path.slice(1).toLowerCase()
  return [
    httpRoute(name, {
      rules: [
        {
          matches: [prefix(path)],
          filters: [
            {
              type: 'URLRewrite',
              urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/mcp' } },
            },
          ],
          backendRefs: [backendRef(backend)],
        },
      ],
    }),
    mcpGuardPolicy(name, guard),
  ]
}

/** A policy whose webhooks guard the MCP traffic of a route. */
export const mcpGuardPolicy = (route: string, guard: object): Document => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name: `${route}-guard` },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: route }],
    backend: { mcp: { guard } },
  },
})

export interface McpGuardStack extends Stack {
  /** The MCP server, at the ProxyBackend "raw". */
  readonly server: Backend
  /** The Service "guard". */
  readonly webhook: Backend
  /** Sends a body to a path, as MCP clients do. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Restores the initial state: the webhook is the sample, and no requests are recorded. */
  reset(): void
}

/** resources: in addition to the Gateway, the server and the Service "guard". */
export async function startMcpGuardStack(
  resources: (webhook: Backend) => readonly object[],
  options: Omit<StackOptions, 'resources'> = {},
): Promise<McpGuardStack> {
  const [server, webhook] = await Promise.all([startBackend('server'), startBackend('webhook')])
  const stack = await startStack({
    ...options,
    resources: (port) => [
      gateway([port]),
      proxyBackend('raw', server),
      ...service('guard', webhook.port),
      ...resources(webhook),
    ],
  })
  return {
    ...stack,
    server,
    webhook,
    post: (path, body, headers = {}) =>
      send(stack.origin, path, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    reset: () => {
      server.requests.length = 0
      webhook.requests.length = 0
      webhook.answer(sample)
    },
    close: async () => {
      await stack.close()
      await Promise.all([server.close(), webhook.close()])
    },
  }
}

/** Answers with a body of JSON. */
export const json =
  (text: string, status = 200) =>
  (_request: unknown, response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(text)
  }

/** Answers with an event stream. */
export const events =
  (...pieces: readonly string[]) =>
  (_request: unknown, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const piece of pieces) response.write(piece)
    response.end()
  }

/** A JSON-RPC request for a tool. */
export const toolCall = (id: unknown, name: string, given: object, more: object = {}): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: given, ...more },
})
