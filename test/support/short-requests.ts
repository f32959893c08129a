// Many short requests that Envoy's ext_proc answers or guards, each with a stream of its own.

import { chat, type GuardedStack } from './guardrails.js'
import { requestMany } from './many-requests.js'
import { provider } from './protected-stack.js'
import { mcpRoute, proxyPolicy } from './resources.js'
import { newKey } from './tokens.js'

const CONNECTIONS = 40

/** An MCP route of the guarded stack, for its documents. */
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

/** Status → how often. */
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

/** Status → how often. */
export const requestDocuments = (
  { origin }: Pick<GuardedStack, 'origin'>,
  count: number,
): Promise<Record<string, number>> =>
  requestMany({
    url: `${origin}/.well-known/oauth-protected-resource/mcp`,
    count,
    connections: CONNECTIONS,
  })
