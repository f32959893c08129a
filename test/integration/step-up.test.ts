// A complete step-up at a relay: the official clients log in for what every request needs, call a tool that needs more,
// log in for that, and the call succeeds.

import {
  Client as Client2,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport as Transport2,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/demo/mcp-server.js'
import { asUser, type UserAgent } from '../support/clients/client-run.js'
import { visitConsenting } from '../support/clients/consenting-agent.js'
import { MemoryProvider } from '../support/clients/memory-provider.js'
import { python } from '../support/clients/python.js'
import { CLIENT_ID, idpTwo, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import { discovered } from '../support/relay-stack.js'
import { gateway, mcpRoute, proxyBackend, proxyPolicy, remoteJwks } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

const SUM = { name: 'get-sum', arguments: { a: 1, b: 2 } }
const ECHO = { name: 'echo', arguments: { message: 'hi' } }

let server: McpServer
let idp: TestIdp
let stack: Stack
/** The scope of each login, in words. */
let logins: string[][]

beforeAll(async () => {
  ;[server, idp] = await Promise.all([startMcpServer(), startTestIdp(idpTwo, { sendIss: true })])
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('everything', server),
      proxyBackend('idp', idp),
      mcpRoute('mcp', 'everything'),
      policy(`http://127.0.0.1:${String(port)}/mcp`),
    ],
  })
  await discovered(stack)
})

afterAll(async () => {
  await stack.close()
  await Promise.all([server.close(), idp.close()])
})

const policy = (resource: string): object =>
  proxyPolicy('mcp', 'mcp', {
    jwtAuthentication: {
      providers: [
        {
          issuer: idp.issuer,
          audiences: [resource],
          jwks: remoteJwks('idp', idp.port, idp.jwksPath),
        },
      ],
      mcp: {
        provider: 'IdpTwo',
        authorizationServer: 'Relay',
        clientId: CLIENT_ID,
        resourceMetadata: { resource, scopesSupported: ['openid', 'profile', 'email'] },
      },
    },
    authorization: {
      policy: {
        requiredScopes: [
          { scopes: ['openid'] },
          { scopes: ['email', 'profile'], when: 'mcp.tool.name == "get-sum"' },
        ],
      },
    },
  })

const agent: UserAgent = (authorization) => {
  logins.push((authorization.searchParams.get('scope') ?? '').split(' ').toSorted())
  return visitConsenting(authorization)
}

/** The texts of echo and of the sum, of a client that logs in when it must. */
type Run = (url: URL) => Promise<readonly unknown[]>

/** Version 1 asks for no login where it has a refresh token: it refreshes, and is refused again. */
function withoutRefreshToken(): MemoryProvider<OAuthClientInformationMixed, OAuthTokens> {
  const provider = new MemoryProvider<OAuthClientInformationMixed, OAuthTokens>()
  const { saveTokens } = provider
  provider.saveTokens = ({ refresh_token: _, ...tokens }) => saveTokens(tokens)
  return provider
}

interface Connection {
  readonly client: {
    callTool(tool: typeof ECHO | typeof SUM): Promise<unknown>
    close(): Promise<void>
  }
  readonly begin: () => Promise<void>
  readonly logIn: () => Promise<void>
}

/** Logs in, calls a tool, is refused another, logs in again for it, and calls it: the results of both tools. */
async function logInAndStepUp(connect: () => Connection): ReturnType<Run> {
  const first = connect()
  await expect(first.begin()).rejects.toThrow('Unauthorized')
  await first.logIn()
  const { client, logIn, begin } = connect()
  await begin()
  try {
    const echo = await client.callTool(ECHO)
    await expect(client.callTool(SUM)).rejects.toThrow()
    await logIn()
    return [echo, await client.callTool(SUM)]
  } finally {
    await client.close()
  }
}

const ts1: Run = (url) => {
  const authProvider = withoutRefreshToken()
  const connect = () => {
    const client = new Client({ name: 'gatehouse-tests', version: '1' })
    const transport = new StreamableHTTPClientTransport(url, { authProvider })
    const logIn = async () => {
      const back = await agent(asUser(authProvider.authorization ?? url, 'alice'))
      await transport.finishAuth(back.searchParams.get('code') ?? '')
    }
    return { client, logIn, begin: () => client.connect(transport) }
  }
  return logInAndStepUp(connect)
}

const ts2: Run = (url) => {
  const authProvider = new MemoryProvider<StoredOAuthClientInformation, StoredOAuthTokens>()
  const connect = () => {
    const client = new Client2({ name: 'gatehouse-tests', version: '1' })
    const transport = new Transport2(url, { authProvider })
    const logIn = async () => {
      const back = await agent(asUser(authProvider.authorization ?? url, 'alice'))
      await transport.finishAuth(back.searchParams)
    }
    return { client, logIn, begin: () => client.connect(transport) }
  }
  return logInAndStepUp(connect)
}

const py: Run = async (url) => {
  const run = await python(url.href, 'alice', agent, '', [[SUM.name, SUM.arguments]])
  return [run.echo, ...(run.more ?? [])]
}

test.each(Object.entries({ ts1, ts2, python: py }))('%s', async (_, run) => {
  logins = []
  const [echo, sum] = await run(new URL(`${stack.origin}/mcp`))
  expect(JSON.stringify(echo)).toContain('Echo: hi')
  expect(JSON.stringify(sum)).toContain('The sum of 1 and 2 is 3')
  expect(logins).toEqual([['openid'], ['email', 'openid', 'profile']])
})
