// Which discovery documents web pages may read, as a server with and without CORS headers answers.

import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { fetchDocument } from '../../../src/kit/http/fetch-document.js'
import type { WantedDocument } from '../../../src/model/remote-target.js'
import { at, callRemote, closeAfterEach, serve } from './support/servers.js'

closeAfterEach()

type Allowed = (request: IncomingMessage) => string | undefined

/** allowed: Access-Control-Allow-Origin of the answer. Returns what was fetched, and the Origin of the request. */
async function fetched(kind: WantedDocument['kind'], allowed: Allowed) {
  const origins: (string | undefined)[] = []
  const port = await serve((request, response) => {
    origins.push(request.headers.origin)
    const origin = allowed(request)
    response.writeHead(200, {
      'content-type': 'application/json',
      ...(origin === undefined ? {} : { 'access-control-allow-origin': origin }),
    })
    response.end(JSON.stringify({ issuer: 'https://idp.example', keys: [] }))
  })
  const wanted = { id: 'document', kind, targets: [at(port)] }
  const result = await fetchDocument(wanted, callRemote, new AbortController().signal)
  return { isOpen: result.ok ? result.value.isOpenToPages : result.error, origins }
}

test.each<[string, Allowed, boolean]>([
  ['no CORS headers', () => undefined, false],
  ['any origin', () => '*', true],
  ['the origin that asks', ({ headers }) => headers.origin, true],
  ['any origin, if one asks', ({ headers }) => headers.origin && '*', true],
  ['one origin', () => 'https://app.example', false],
  ['origins like those of pages', ({ headers }) => `${headers.origin ?? ''}.example`, false],
  ['the origin of files', () => 'null', false],
])('a provider that allows %s', async (_what, allowed, isOpen) => {
  expect(await fetched('Discovery', allowed)).toMatchObject({ isOpen })
})

test('key sets are fetched as before, without an Origin', async () => {
  expect(await fetched('KeySet', () => '*')).toEqual({ isOpen: undefined, origins: [undefined] })
})
