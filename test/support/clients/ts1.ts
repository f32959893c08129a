// The TypeScript client, version 1 (@modelcontextprotocol/sdk).

import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
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

export async function ts1(url: string, user: string, agent: UserAgent = visit): Promise<ClientRun> {
  const calls: string[] = []
  const authProvider = new MemoryProvider<OAuthClientInformationMixed, OAuthTokens>()
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
      await first.finishAuth(callback.searchParams.get('code') ?? '')
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
