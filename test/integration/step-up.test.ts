// A complete step-up, at a relay and at the provider: the official clients log in for what every request needs, call a
// tool that needs more, log in for that, and the call succeeds.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { eventually } from '../../testing/eventually.js'
import { CLIENT_METADATA, type UserAgent } from '../support/clients/client-run.js'
import { visitConsenting } from '../support/clients/consenting-agent.js'
import {
  expectStepUp,
  type KnownClient,
  STEP_UP_CLIENTS,
  STEP_UP_NAMES,
} from '../support/clients/step-up.js'
import { CLIENT_ID, idpTwo, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import { providerFetched } from '../support/relay-stack.js'
import { gateway, mcpRoute, proxyBackend, proxyPolicy, remoteJwks } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

type Mode = 'Relay' | 'Provider'

let server: McpServer
let idp: TestIdp
let stack: Stack
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
  await providerFetched(stack)
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

const stepUp = (
  name: (typeof STEP_UP_NAMES)[number],
  known?: KnownClient,
  agent: UserAgent = visitConsenting,
): Promise<void> =>
  expectStepUp(STEP_UP_CLIENTS[name], { url: `${stack.origin}/mcp`, agent, known }, [
    ['openid'],
    ['email', 'openid', 'profile'],
  ])

test.each(STEP_UP_NAMES)('%s at a relay', (name) => stepUp(name))

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

  test.each(STEP_UP_NAMES)('%s, with a client of its own there', async (name) => {
    const answer = await fetch(await registrationEndpoint(), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...CLIENT_METADATA, scope: 'openid profile email' }),
    })
    await stepUp(name, (await answer.json()) as KnownClient)
  })

  test.each(['ts2', 'python'] as const)(
    '%s, which registers for the scopes of the first challenge, is given no others',
    async (name) => {
      const errors: (string | null)[] = []
      const agent: UserAgent = async (authorization) => {
        const end = await visitConsenting(authorization)
        errors.push(end.searchParams.get('error'))
        return end
      }
      await expect(stepUp(name, undefined, agent)).rejects.toThrow()
      expect(errors).toEqual([null, 'invalid_scope'])
    },
  )
})

async function registrationEndpoint(): Promise<string> {
  const found = await fetch(`${idp.issuer}/.well-known/openid-configuration`)
  return ((await found.json()) as { registration_endpoint: string }).registration_endpoint
}
