// A tour through a misbehaving gateway stops there and reports what it expected.

import { afterEach, expect, test } from 'vitest'
import { createPrint } from '../../../src/cli/demo/print.js'
import { takeTour } from '../../../src/cli/demo/tour.js'
import { type DocumentServer, json, startDocumentServer } from '../../support/document-server.js'

const PRM = '/.well-known/oauth-protected-resource/mcp'
const AS = '/.well-known/oauth-authorization-server/mcp'

let gateway: DocumentServer | undefined
afterEach(() => gateway?.close())

/** The tour's end, at a gateway that is right but for these answers. */
async function endOfTour(
  wrong: Record<string, ReturnType<typeof json> | object>,
): Promise<unknown> {
  const server = await startDocumentServer()
  gateway = server
  const { origin } = server
  server.serve('/mcp', (_request, response) => {
    response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${origin}${PRM}"` })
    response.end('{"error":"unauthorized"}')
  })
  server.serve(PRM, {
    resource: `${origin}/mcp`,
    authorization_servers: [`${origin}/mcp`],
    scopes_supported: ['openid'],
  })
  server.serve(AS, {
    authorization_endpoint: `${origin}/auth`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
  })
  server.serve('/register', json({ client_id: 'c' }, 201))
  for (const [path, reply] of Object.entries(wrong)) server.serve(path, reply)
  const print = createPrint(() => undefined, false)
  return takeTour(`${origin}/mcp`, print).catch((error: unknown) => (error as Error).message)
}

test.each([
  [
    { '/mcp': { result: {} } },
    'expected 401 from a call without a token, got 200 with {"result":{}}',
  ],
  [{ '/mcp': json({}, 401) }, 'expected Bearer resource_metadata="URL", got ""'],
  [
    { [PRM]: json({ error: 'x' }, 503) },
    /^expected 200 from http:\S+, got 503 with \{"error":"x"\}$/,
  ],
  [{ [PRM]: { authorization_servers: [] } }, 'expected an authorization server, got none'],
  [{ [AS]: {} }, /^expected a text "authorization_endpoint" in http:\S+, got undefined$/],
  [{ '/register': json({}, 501) }, /^expected 201 from http:\S+\/register, got 501 with \{\}$/],
  [{}, '/auth answered 404'],
])('%j', async (wrong, message) => {
  expect(await endOfTour(wrong)).toEqual(
    typeof message === 'string' ? message : expect.stringMatching(message),
  )
})
