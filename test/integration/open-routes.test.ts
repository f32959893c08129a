// A policy that protects nothing because its target is misspelt, and the route that is therefore open: what an operator
// sees of them on the status page, in /status, in the metrics and in the log. With one process and with two workers.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { send } from '../support/http.js'
import { allow, gateway, httpRoute, proxyBackend, proxyPolicy, rule } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

const RULES = { authorization: allow('request.method == "GET"') }

const TOKENS = {
  providers: [
    {
      issuer: 'https://idp.example',
      jwks: {
        inline:
          '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}',
      },
    },
  ],
}

describe.each([1, 2])('with --workers %i', (workers) => {
  let backend: Backend
  let stack: Stack

  beforeAll(async () => {
    backend = await startBackend()
    stack = await startStack({
      flags: ['--workers', String(workers)],
      resources: (port) => [
        gateway([port]),
        proxyBackend('backend', backend),
        ...['closed', 'optional', 'refused', 'search'].map((name) =>
          httpRoute(name, { rules: [rule(`/${name}`, 'backend')] }),
        ),
        proxyPolicy('closed', 'closed', RULES),
        proxyPolicy('optional', 'optional', { jwtAuthentication: { mode: 'Optional', ...TOKENS } }),
        proxyPolicy('refused', 'refused', { authorization: allow('jwt.groups ==') }),
        proxyPolicy('lost', 'serach', RULES),
      ],
    })
  })

  afterAll(async () => {
    await stack.close()
    await backend.close()
  })

  const counts = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      [...(await stack.metrics()).matchAll(/^gatehouse_policies\{state="(\w+)"\} (\d+)$/gm)].map(
        ([, state = '', count]) => [state, Number(count)],
      ),
    )

  const openRoutes = async (): Promise<readonly string[]> =>
    (await stack.status()).flatMap(({ name, ...entry }) => ('open' in entry ? [name] : []))

  /** Names of the page's table of resources, in its order. */
  const namesOnPage = async (): Promise<readonly string[]> => {
    const page = await (await fetch(stack.admin)).text()
    const [, table = ''] = page.split('id="resources"')
    return [...table.matchAll(/data-head="Name"><div>default\/([\w-]+)</g)].map(
      ([, name]) => name ?? '',
    )
  }

  test('the route answers every caller, and the gateway is still ready', async () => {
    expect((await send(stack.origin, '/search', { method: 'POST' })).status).toBe(200)
    expect((await fetch(`${stack.admin}/readyz`)).status).toBe(200)
  })

  test('/status marks it, and the status page has it first, then what has problems', async () => {
    expect(await openRoutes()).toEqual(['optional', 'search'])
    const page = await (await fetch(stack.admin)).text()
    expect(page).toContain('2 open routes<')
    expect(page).toContain('No policy decides who may use this route.')
    expect((await namesOnPage()).slice(0, 4)).toEqual(['optional', 'search', 'lost', 'refused'])
  })

  test('the log and the condition suggest a name', async () => {
    const sentence = /HTTPRoute default\/serach not found; did you mean \\?"search\\?"\?/
    expect(stack.log()).toMatch(sentence)
    const lost = (await stack.status()).find(({ name }) => name === 'lost')
    expect(lost?.conditions).toMatchObject([
      { type: 'Accepted', status: 'True' },
      {
        type: 'Attached',
        status: 'False',
        reason: 'TargetNotFound',
        message: expect.stringMatching(sentence) as string,
      },
    ])
  })

  test('the metrics count policies by state, every state always', async () => {
    expect(await counts()).toEqual({
      attached: 2,
      audited: 0,
      refused: 1,
      without_target: 1,
      pending: 0,
    })
    await stack.write('mended.yaml', httpRoute('serach', { rules: [rule('/serach', 'backend')] }))
    await eventually(async () => {
      expect(await counts()).toEqual({
        attached: 3,
        audited: 0,
        refused: 1,
        without_target: 0,
        pending: 0,
      })
    })
    expect(await openRoutes()).toEqual(['optional', 'search'])
    expect(await stack.metrics()).toMatch(/^gatehouse_open_routes 2$/m)
  })
})

test('with --require-policy no route is open', async () => {
  const backend = await startBackend()
  const stack = await startStack({
    flags: ['--require-policy'],
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      httpRoute('search', { rules: [rule('/search', 'backend')] }),
    ],
  })
  try {
    expect((await send(stack.origin, '/search', {})).status).toBe(503)
    expect((await stack.status()).filter((entry) => 'open' in entry)).toEqual([])
  } finally {
    await stack.close()
    await backend.close()
  }
})
