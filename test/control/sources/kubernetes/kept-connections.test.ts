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
} from '../../../../src/control/sources/kubernetes/client.js'
import { createKeptAgent } from '../../../../src/control/sources/kubernetes/kept-connections.js'
import { type KeyPair, selfSigned } from '../../../support/certificates.js'
import { startHttpServer } from '../../../support/http-server.js'
import { temporaryFolder } from '../../../support/program.js'

const credentials = (ca: string, key?: string) => ({
  agent: new Agent(),
  ca: Buffer.from(ca),
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

/** The files of a user's certificate and key. */
interface UserFiles {
  readonly cert: string
  readonly key: string
}

const byFiles = ({ cert, key }: UserFiles): object => ({
  'client-certificate': cert,
  'client-key': key,
})

/** By a plugin whose answers have expired at once. */
function byPlugin({ cert, key }: UserFiles): object {
  const script = `
    const read = (path) => require('node:fs').readFileSync(path, 'utf8')
    const [clientCertificateData, clientKeyData] = [read(process.argv[1]), read(process.argv[2])]
    const status = { clientCertificateData, clientKeyData, expirationTimestamp: '2020-01-01T00:00:00Z' }
    const apiVersion = 'client.authentication.k8s.io/v1'
    console.log(JSON.stringify({ apiVersion, kind: 'ExecCredential', status }))`
  const args = ['-e', script, cert, key]
  const apiVersion = 'client.authentication.k8s.io/v1'
  return { exec: { apiVersion, command: process.execPath, args, interactiveMode: 'Never' } }
}

/**
 * An API server that knows clients by their certificates, and a client with one that can be renewed.
 * @param userOf returns the user of the kubeconfig.
 */
async function startWithCertificates(userOf: (files: UserFiles) => object = byFiles) {
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
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [
      { name: 'c', cluster: { server: http.origin, 'certificate-authority-data': authority } },
    ],
    users: [{ name: 'c', user: userOf({ cert, key }) }],
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

const callOnce = (client: KubernetesClient): Promise<unknown> =>
  client.call('GET', '/api/v1/services')

test.each([
  ['calls', 'from files', callOnce, byFiles],
  ['calls', 'from a plugin', callOnce, byPlugin],
  ['watches', 'from files', watchOnce, byFiles],
  ['watches', 'from a plugin', watchOnce, byPlugin],
])('%s share a connection, and use a renewed certificate %s at once', async (...[, , ask, by]) => {
  const { client, seen, renew } = await startWithCertificates(by)
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
