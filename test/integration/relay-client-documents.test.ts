// Clients of a relay that do not register: their metadata documents are read over https, within limits, from hosts that
// the policy names and addresses that the operator allows for this purpose.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { RequestListener, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { selfSigned } from '../support/certificates.js'
import { CLIENT_METADATA, type McpClient, type UserAgent } from '../support/clients/client-run.js'
import { ask, walk } from '../support/clients/consenting-agent.js'
import { python } from '../support/clients/python.js'
import { ts2 } from '../support/clients/ts2.js'
import { type HttpServer, startHttpServer } from '../support/http-server.js'
import { authorizationAt } from '../support/relay-login.js'
import { AS, type RelayStack, startRelayStack } from '../support/relay-stack.js'

const tls = selfSigned('localhost')
/** The sentence of the page if a document cannot be fetched, whatever the reason. */
const UNREAD = 'The description of this client cannot be read at the moment.'

let world: RelayStack
let folder: string
/**
 * The client's vendor; hosts of the policy at an address that is not allowed, or allowed for backends alone; a host that
 * the policy does not name.
 */
let vendor: HttpServer, hidden: HttpServer, backend: HttpServer, stranger: HttpServer
/** "HOST /PATH" of each request. */
let asked: string[]
beforeEach(() => (asked = []))

beforeAll(async () => {
  ;[vendor, hidden, backend, stranger] = await Promise.all([
    startHttpServer(serve('vendor'), { tls }),
    startHttpServer(serve('hidden'), { tls }),
    startHttpServer(serve('backend'), { tls }),
    startHttpServer(serve('stranger'), { tls }),
  ])
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-authorities-'))
  const bundle = join(folder, 'bundle.pem')
  await writeFile(bundle, tls.cert)
  world = await startRelayStack({
    relay: { clientMetadataHosts: [vendor, hidden, backend].map(hostOf) },
    flags: [
      '--allow-client-metadata-address',
      `127.0.0.1:${String(vendor.port)}`,
      '--allow-address',
      `127.0.0.1:${String(backend.port)}`,
    ],
    environment: { SSL_CERT_FILE: bundle },
  })
})

afterAll(async () => {
  await world.close()
  await Promise.all([vendor, hidden, backend, stranger].map((server) => server.close()))
  await rm(folder, { recursive: true })
})

const hostOf = ({ port }: { readonly port: number }): string => `localhost:${String(port)}`
const urlAt = (server: HttpServer, path: string): string => `https://${hostOf(server)}${path}`

type Answer = (response: ServerResponse, url: string) => void

function document(response: ServerResponse, client: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(client))
}

const ANSWERS: Readonly<Record<string, Answer>> = {
  '/client.json': (response, url) => document(response, { ...CLIENT_METADATA, client_id: url }),
  '/redirect': (response) => void response.writeHead(302, { location: '/client.json' }).end(),
  '/large': (response, url) =>
    document(response, { ...CLIENT_METADATA, client_id: url, logo_uri: 'x'.repeat(64 * 1024) }),
  '/another': (response, url) =>
    document(response, { ...CLIENT_METADATA, client_id: url.replace('another', 'client.json') }),
  '/page': (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
  '/absent': (response) => void response.writeHead(404).end(),
  '/broken': (response) => void response.destroy(),
  // The call must give up by itself.
  '/silent': () => undefined,
}

function serve(name: string): RequestListener {
  return ({ url = '', headers }, response) => {
    asked.push(`${name} ${url}`)
    ANSWERS[url]?.(response, `https://${headers.host ?? ''}${url}`)
  }
}

const CLIENTS: Record<
  string,
  (...args: [...Parameters<McpClient>, string]) => ReturnType<McpClient>
> = { ts2, python }

test.each(Object.entries(CLIENTS))('%s logs in and calls a tool', async (_, client) => {
  const url = urlAt(vendor, '/client.json')
  const pages: string[] = []
  const agent: UserAgent = async (authorization) => {
    expect(authorization.searchParams.get('client_id')).toBe(url)
    const { end, steps } = await walk(authorization)
    pages.push(...steps.map(({ body }) => body).filter((body) => body.includes('<form')))
    return end
  }
  const { echo, calls } = await client(world.url, 'alice', agent, url)
  expect(echo).toBe('Echo: hi')
  expect(calls.filter((call) => call.includes('client-registration'))).toEqual([])
  expect(calls).toContain(`POST ${AS}/token 200`)
  expect(pages).toEqual([expect.stringContaining(`Its description is at ${url}`)])
})

describe('a description', () => {
  const shown = async (client: string): Promise<readonly [number, string]> => {
    const page = await ask(
      authorizationAt(world.stack.origin, client, 'v'.repeat(43)),
      undefined,
      new Map(),
    )
    expect(page.headers.get('location')).toBeNull()
    return [page.status, page.body]
  }

  test.each([
    ['that is moved', '/redirect', UNREAD],
    ['of more than 64 KiB', '/large', UNREAD],
    ['of another client', '/another', 'its client_id is not its URL'],
    ['that is a page', '/page', UNREAD],
    ['that is not there', '/absent', UNREAD],
    ['that breaks off', '/broken', UNREAD],
    ['that does not come within 5 s', '/silent', UNREAD],
  ])('%s gets an error page, and is not fetched again at once', async (_, path, sentence) => {
    const url = urlAt(vendor, path)
    for (let time = 0; time < 2; time += 1)
      expect(await shown(url)).toEqual([400, expect.stringContaining(sentence)])
    expect(asked).toEqual([`vendor ${path}`])
  })

  test('at an address that leads into the network is never asked for', async () => {
    for (const server of [hidden, backend])
      expect(await shown(urlAt(server, '/client.json'))).toEqual([
        400,
        expect.stringContaining(UNREAD),
      ])
    expect(asked).toEqual([])
  })

  test('at a host that the policy does not name is never asked for', async () => {
    expect(await shown(urlAt(stranger, '/client.json'))).toEqual([
      400,
      expect.stringContaining('an address that this gateway does not read'),
    ])
    expect(asked).toEqual([])
  })
})
