// Starts the parties around the demo's gateway, each on the port that config/demo names or on a free one.

import { CONFIG_PORTS, DEMO_IDP } from './demo-parties.js'
import { aPort } from './free-port.js'
import { startGuardrailWebhook } from './guardrail-webhook.js'
import { type IdentityProvider, startIdentityProvider } from './identity-provider.js'
import { type LlmServer, startLlmServer } from './llm-server.js'
import { startMcpServer } from './mcp-server.js'
import type { ResolvePackage } from './party-packages.js'
import type { Program } from './program.js'

/** The running parties around the demo's gateway. */
export interface Parties {
  readonly identityProvider: IdentityProvider
  readonly mcpServer: Program
  readonly llm: LlmServer
  readonly guardrailWebhook: Program
  readonly model: Model
}

/** What can be observed at the model itself. */
export interface Model {
  /** Returns the last prompt that reached the model. */
  lastPrompt(): string
  /** Whether the model is still sending its last answer. */
  isSpeaking(): boolean
}

/** A running party. */
export interface Party {
  readonly port: number
  close(): Promise<void>
  /** Kills the party without waiting for its end; absent: it ends with this process. */
  kill?(): void
}

/** started: called for each party once it is up; where: its place, for people. packages: where to find their code. */
export async function startParties(
  started: (name: string, where: string, party: Party) => void,
  packages: ResolvePackage,
): Promise<Parties> {
  let [lastPrompt, isSpeaking] = ['', false]
  const port = await aPort(CONFIG_PORTS.identityProvider)
  const identityProvider = await startIdentityProvider({ ...DEMO_IDP, port }, packages)
  started('identity provider', identityProvider.issuer, identityProvider)
  const mcpServer = await startMcpServer(await aPort(CONFIG_PORTS.mcpServer), packages)
  started('MCP server', `${originOf(mcpServer)}/mcp`, mcpServer)
  const llm = await startLlmServer({
    port: await aPort(CONFIG_PORTS.llm),
    onPrompt: (prompt) => ([lastPrompt, isSpeaking] = [prompt, true]),
    onAnswered: () => (isSpeaking = false),
  })
  started('LLM', `${originOf(llm)}/v1`, llm)
  const guardrailWebhook = await startGuardrailWebhook(await aPort(CONFIG_PORTS.guardrailWebhook))
  started('guardrail webhook', originOf(guardrailWebhook), guardrailWebhook)
  const model = { lastPrompt: () => lastPrompt, isSpeaking: () => isSpeaking }
  return { identityProvider, mcpServer, llm, guardrailWebhook, model }
}

const originOf = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `http://${host}:${String(port)}`
