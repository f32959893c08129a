// The status page of a Gatehouse with an Envoy: recent decisions of every worker, and no secret among what it shows.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { bearer, send } from '../support/http.js'
import { jwt, protectedRoute, sign } from '../support/protected-stack.js'
import { allow, gateway, proxyBackend } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('one')

describe.each([1, 3])('with --workers %i', (workers) => {
  let backend: Backend
  let stack: Stack

  beforeAll(async () => {
    backend = await startBackend()
    stack = await startStack({
      flags: ['--workers', String(workers)],
      resources: (port) => [
        gateway([port]),
        proxyBackend('backend', backend),
        ...protectedRoute('api', {
          jwtAuthentication: jwt([key]),
          authorization: allow('jwt.role == "admin"'),
        }),
      ],
    })
  })

  afterAll(async () => {
    await stack.close()
    await backend.close()
  })

  const pageOf = async (query = ''): Promise<string> =>
    (await fetch(`${stack.admin}/${query}`)).text()

  test('shows a denial with its rule and caller, and neither the token nor other claims', async () => {
    const token = await sign(key, { sub: 'mallory', role: 'guest', email: 'm@example.com' })
    const path = `/api/x?secret=in-the-query`
    const { status } = await send(stack.origin, path, { headers: bearer(token) })
    expect(status).toBe(403)
    await eventually(async () => {
      const page = await pageOf('?q=mallory')
      for (const shown of ['mallory', 'default/api-0', 'resources.yaml:', 'GET 127.0.0.1'])
        expect(page).toContain(shown)
      for (const hidden of [token, token.split('.')[2] ?? '', 'm@example.com', 'in-the-query'])
        expect(page).not.toContain(hidden)
    })
  })

  test('every worker reports its decisions', async () => {
    // Workers sum up refusals by route and reason each for itself, and Envoy spreads connections over all of them.
    await eventually(async () => {
      await Promise.all(
        Array.from({ length: 12 }, () => send(stack.origin, '/api', { headers: {} })),
      )
      const page = await pageOf()
      const ids = [...page.matchAll(/data-key="(\d+)-\d+"/g)].map(([, worker]) => worker)
      expect(new Set(ids).size).toBe(workers)
    })
  })

  test('events begin with the whole page', async () => {
    const leave = new AbortController()
    const answer = await fetch(`${stack.admin}/events`, { signal: leave.signal })
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('\n\n')) text += (await reader?.read())?.value ?? ''
    leave.abort()
    expect(text).toMatch(/^retry: 1000\ndata: \[\{"id":"summary"/)
    expect(text).toContain('default/api-0')
  })
})
