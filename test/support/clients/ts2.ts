// The TypeScript client, version 2 (@modelcontextprotocol/client).

import {
  Client,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { visit } from '../../../src/cli/demo/idp/headless-login.js'
import {
  asUser,
  ClientFailure,
  type ClientRun,
  firstText,
  recordingFetch,
  type UserAgent,
} from './client-run.js'
import { MemoryProvider } from './memory-provider.js'

/** @param metadataUrl URL of its client metadata document; if absent, it registers. */
export async function ts2(
  url: string,
  user: string,
  agent: UserAgent = visit,
  metadataUrl?: string,
): Promise<ClientRun> {
  const calls: string[] = []
  const authProvider = new MemoryProvider<StoredOAuthClientInformation, StoredOAuthTokens>(
    metadataUrl,
  )
  const options = { authProvider, fetch: recordingFetch(new URL(url).origin, calls) }
  const transport = (): StreamableHTTPClientTransport =>
    new StreamableHTTPClientTransport(new URL(url), options)
  const client = new Client({ name: 'gatehouse-tests', version: '1' })
  try {
    const first = transport()
    await client.connect(first).catch((refusal: unknown) => {
      if (authProvider.authorization === undefined) throw refusal
    })
    if (authProvider.authorization !== undefined) {
      const callback = await agent(asUser(authProvider.authorization, user))
      await first.finishAuth(callback.searchParams)
      await client.connect(transport())
    }
    const { tools } = await client.listTools()
    const echo = await client.callTool({ name: 'echo', arguments: { message: 'hi' } })
    return { tools: tools.map(({ name }) => name), echo: firstText(echo.content), calls }
  } catch (failure) {
    throw new ClientFailure(String(failure), calls)
  } finally {
    await client.close()
  }
}
