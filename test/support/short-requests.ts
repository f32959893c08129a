// Sends many short requests that ext_proc answers or guards, each on its own ext_proc stream.

import { chat, type GuardedStack } from './guardrails.js'
import { requestMany } from './many-requests.js'
import { provider } from './protected-stack.js'
import { mcpRoute, proxyPolicy } from './resources.js'
import { newKey } from './tokens.js'

const CONNECTIONS = 40

/** Resources of an MCP route in the guarded stack, for its metadata documents. */
export const documentRoute = async (): Promise<readonly object[]> => [
  mcpRoute('mcp', 'llm'),
  proxyPolicy('mcp', 'mcp', {
    jwtAuthentication: {
      providers: [provider([await newKey('k1')], { audiences: ['mcp'] })],
      mcp: {
        provider: 'IdpTwo',
        resourceMetadata: { resource: 'https://gateway.example/mcp' },
      },
    },
  }),
]

/** Resolves to the number of answers by status. */
export const requestChats = (
  { origin }: Pick<GuardedStack, 'origin'>,
  count: number,
): Promise<Record<string, number>> =>
  requestMany({
    url: `${origin}/both/v1/chat/completions`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: chat('hello'),
    count,
    connections: CONNECTIONS,
  })

/** Resolves to the number of answers by status. */
export const requestDocuments = (
  { origin }: Pick<GuardedStack, 'origin'>,
  count: number,
): Promise<Record<string, number>> =>
  requestMany({
    url: `${origin}/.well-known/oauth-protected-resource/mcp`,
    count,
    connections: CONNECTIONS,
  })
