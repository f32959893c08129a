// Calls and watches with the same credentials share connections; renewed credentials are used at once.

import { X509Certificate } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { Agent as HttpAgent } from 'node:http'
import { Agent } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import {
  createKubernetesClient,
  type KubernetesClient,
} from '../../../src/resources/kubernetes/client.js'
import { createKeptAgent } from '../../../src/resources/kubernetes/kept-connections.js'
import { type KeyPair, selfSigned } from '../../support/certificates.js'
import { startHttpServer } from '../../support/http-server.js'
import { temporaryFolder } from '../../support/program.js'

const credentials = (ca: string, key?: string) => ({
  ...{ agent: new Agent(), ca: Buffer.from(ca) },
  ...(key !== undefined && { key }),
})

test('calls with the same credentials share an agent that keeps its connections', () => {
  const agent = createKeptAgent()
  const first = agent.agentFor(credentials('ca', 'key'))
  expect(first).toMatchObject({ keepAlive: true, options: { key: 'key' } })
  expect(agent.agentFor(credentials('ca', 'key'))).toBe(first)
})

test.each([
  ['another authority', credentials('other', 'key')],
  ['another key', credentials('ca', 'other')],
  ['none', credentials('ca')],
])('%s: another agent', (_what, other) => {
  const agent = createKeptAgent()
  const first = agent.agentFor(credentials('ca', 'key'))
  const second = agent.agentFor(other)
  expect(second).not.toBe(first)
  expect(agent.agentFor(other)).toBe(second)
})

test('what is no plain TLS agent is left as it is: a proxy, or none', () => {
  class Proxy extends Agent {}
  const proxy = new Proxy()
  const plain = new HttpAgent()
  const kept = createKeptAgent()
  expect([proxy, plain, undefined].map((agent) => kept.agentFor({ agent }))).toEqual([
    proxy,
    plain,
    undefined,
  ])
})

let server: KeyPair
let before: KeyPair
let after: KeyPair
beforeAll(() => {
  server = selfSigned('127.0.0.1')
  before = selfSigned('before.example')
  after = selfSigned('after.example')
})

/** An API server that knows clients by their certificates, and a client with one that can be renewed. */
async function startWithCertificates() {
  const seen: { readonly name: string; readonly port: number | undefined }[] = []
  const http = await startHttpServer(
    (request, response) => {
      const { raw } = (request.socket as TLSSocket).getPeerCertificate()
      const name = new X509Certificate(raw).subjectAltName ?? ''
      seen.push({ name, port: request.socket.remotePort })
      response.end('{"items":[]}')
    },
    { tls: { ...server, clients: before.cert + after.cert } },
  )
  onTestFinished(() => http.close())
  const folder = await temporaryFolder()
  const [cert, key] = [join(folder, 'client.crt'), join(folder, 'client.key')]
  const renew = async (pair: KeyPair): Promise<void> => {
    await writeFile(cert, pair.cert)
    await writeFile(key, pair.key)
  }
  await renew(before)
  const authority = Buffer.from(server.cert).toString('base64')
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
    clusters: [
      { name: 'c', cluster: { server: http.origin, 'certificate-authority-data': authority } },
    ],
    users: [{ name: 'c', user: { 'client-certificate': cert, 'client-key': key } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
  }
  const file = join(folder, 'kubeconfig')
  await writeFile(file, JSON.stringify(config))
  vi.stubEnv('KUBECONFIG', file)
  onTestFinished(() => void vi.unstubAllEnvs())
  return { client: createKubernetesClient(), seen, renew }
}

const watchOnce = ({ watch }: KubernetesClient): Promise<unknown> =>
  new Promise((resolve) => void watch.watch('/api/v1/services', {}, () => undefined, resolve))

test.each([
  ['calls', (client: KubernetesClient) => client.call('GET', '/api/v1/services')],
  ['watches', watchOnce],
])('%s share a connection, and use a renewed certificate at once', async (_what, ask) => {
  const { client, seen, renew } = await startWithCertificates()
  await ask(client)
  await ask(client)
  await renew(after)
  await ask(client)
  expect(seen.map(({ name }) => name)).toEqual([
    'DNS:before.example',
    'DNS:before.example',
    'DNS:after.example',
  ])
  const [first, second, third] = seen.map(({ port }) => port)
  expect(second).toBe(first)
  expect(third).not.toBe(first)
})
