// The TypeScript client, version 2, in a browser page: the functions that the page offers to the test that drives it.

import {
  Client,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { firstText } from './client-run.js'
import { MemoryProvider } from './memory-provider.js'

/** The page's functions, at globalThis.mcp. */
export interface PageClient {
  /** Returns the challenge to a call without a token; null if the page may not read it. */
  challenge(url: string): Promise<string | null>
  /** Discovers and registers. Returns the URL where the user logs in. */
  logIn(url: string): Promise<string>
  /**
   * Connects, lists the tools, calls echo and ends the session.
   * @param query the query of the redirect URI.
   */
  use(url: string, query: string): Promise<PageRun>
}

export interface PageRun {
  readonly tools: readonly string[]
  readonly echo: string
}

const authProvider = new MemoryProvider<StoredOAuthClientInformation, StoredOAuthTokens>()

const transportTo = (url: string): StreamableHTTPClientTransport =>
  new StreamableHTTPClientTransport(new URL(url), { authProvider })

const newClient = (): Client => new Client({ name: 'page', version: '1' })

const mcp: PageClient = {
  challenge: async (url) => {
    const answer = await fetch(url, { method: 'POST', body: '{}' })
    return answer.headers.get('www-authenticate')
  },
  logIn: async (url) => {
    await newClient()
      .connect(transportTo(url))
      .catch((refusal: unknown) => {
        if (authProvider.authorization === undefined) throw refusal
      })
    return authProvider.authorization?.href ?? ''
  },
  use: async (url, query) => {
    const transport = transportTo(url)
    await transport.finishAuth(new URLSearchParams(query))
    const client = newClient()
    await client.connect(transport)
    const { tools } = await client.listTools()
    const echo = await client.callTool({ name: 'echo', arguments: { message: 'hi' } })
    await transport.terminateSession()
    await client.close()
    return { tools: tools.map(({ name }) => name), echo: firstText(echo.content) }
  },
}

Object.assign(globalThis, { mcp })
