// A complete step-up, at a relay and at the provider: the official clients log in for what every request needs, call a
// tool that needs more, log in for that, and the call succeeds.

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
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/demo/mcp-server.js'
import { asUser, CLIENT_METADATA, type UserAgent } from '../support/clients/client-run.js'
import { visitConsenting } from '../support/clients/consenting-agent.js'
import { MemoryProvider } from '../support/clients/memory-provider.js'
import { python } from '../support/clients/python.js'
import { eventually } from '../support/eventually.js'
import { CLIENT_ID, idpTwo, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import { discovered } from '../support/relay-stack.js'
import { gateway, mcpRoute, proxyBackend, proxyPolicy, remoteJwks } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

const SUM = { name: 'get-sum', arguments: { a: 1, b: 2 } }
const ECHO = { name: 'echo', arguments: { message: 'hi' } }

type Mode = 'Relay' | 'Provider'

let server: McpServer
let idp: TestIdp
let stack: Stack
/** Client information that a client has already; undefined: it registers. */
let known: { readonly client_id: string; readonly redirect_uris: string[] } | undefined
/** The scope of each login, in words. */
let logins: string[][]

beforeAll(async () => {
  ;[server, idp] = await Promise.all([
    startMcpServer(),
    startTestIdp(idpTwo, { sendIss: true, openRegistration: true }),
  ])
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('everything', server),
      proxyBackend('idp', idp),
      mcpRoute('mcp', 'everything'),
      policy('Relay', port),
    ],
  })
  await discovered(stack)
})

afterAll(async () => {
  await stack.close()
  await Promise.all([server.close(), idp.close()])
})

function policy(mode: Mode, port: number): object {
  const resource = `http://127.0.0.1:${String(port)}/mcp`
  return proxyPolicy('mcp', 'mcp', {
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
        authorizationServer: mode,
        ...(mode === 'Relay' && { clientId: CLIENT_ID }),
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
}

const agent: UserAgent = (authorization) => {
  logins.push((authorization.searchParams.get('scope') ?? '').split(' ').toSorted())
  return visitConsenting(authorization)
}

/** The texts of echo and of the sum, of a client that logs in when it must. */
type Run = (url: URL) => Promise<readonly unknown[]>

function memoryProvider<Client, Tokens>(): MemoryProvider<Client, Tokens> {
  const provider = new MemoryProvider<Client, Tokens>()
  if (known !== undefined) provider.saveClientInformation(known as Client)
  return provider
}

/** Version 1 asks for no login where it has a refresh token: it refreshes, and is refused again. */
function withoutRefreshToken(): MemoryProvider<OAuthClientInformationMixed, OAuthTokens> {
  const provider = memoryProvider<OAuthClientInformationMixed, OAuthTokens>()
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
  const authProvider = memoryProvider<StoredOAuthClientInformation, StoredOAuthTokens>()
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

async function expectStepUp(run: Run): Promise<void> {
  logins = []
  const [echo, sum] = await run(new URL(`${stack.origin}/mcp`))
  expect(JSON.stringify(echo)).toContain('Echo: hi')
  expect(JSON.stringify(sum)).toContain('The sum of 1 and 2 is 3')
  expect(logins).toEqual([['openid'], ['email', 'openid', 'profile']])
}

test.each(Object.entries({ ts1, ts2, python: py }))('%s at a relay', (_, run) => expectStepUp(run))

/** Logins at the provider, which grants only the scopes that a client has registered for. */
describe('at the provider', () => {
  beforeAll(async () => {
    await stack.write(
      'resources.yaml',
      gateway([stack.port]),
      proxyBackend('everything', server),
      proxyBackend('idp', idp),
      mcpRoute('mcp', 'everything'),
      policy('Provider', stack.port),
    )
    await eventually(async () => {
      const at = `${stack.origin}/.well-known/oauth-protected-resource/mcp`
      const { authorization_servers: servers } = (await (await fetch(at)).json()) as {
        authorization_servers: readonly string[]
      }
      expect(servers).toEqual([idp.issuer])
    })
  })

  test.each(Object.entries({ ts1, ts2 }))('%s, with a client of its own there', async (_, run) => {
    const answer = await fetch(await registrationEndpoint(), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...CLIENT_METADATA, scope: 'openid profile email' }),
    })
    known = (await answer.json()) as NonNullable<typeof known>
    await expectStepUp(run).finally(() => (known = undefined))
  })

  test('ts2, which registers for the scopes of the first challenge, is given no others', async () => {
    await expect(expectStepUp(ts2)).rejects.toThrow()
    expect(logins).toEqual([['openid'], ['email', 'openid', 'profile']])
  })
})

async function registrationEndpoint(): Promise<string> {
  const found = await fetch(`${idp.issuer}/.well-known/openid-configuration`)
  return ((await found.json()) as { registration_endpoint: string }).registration_endpoint
}
