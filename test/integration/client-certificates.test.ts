// Certificates of clients on HTTPS listeners (Gateway tls.frontend), through a real Envoy: who may connect to which port.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../testing/ports.js'
import { type KeyPair, selfSigned } from '../support/certificates.js'
import { type Answer, send } from '../support/http.js'
import { gateway, rule } from '../support/resources.js'
import { route, startTwoBackends, type TwoBackends } from '../support/two-backends.js'

const server = selfSigned('api.example')
const client = selfSigned('client.example')
const stranger = selfSigned('client.example')

const configMap = (name: string, text: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { 'ca.crt': text },
})
const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'server' },
  stringData: { 'tls.crt': server.cert, 'tls.key': server.key },
}
const https = (name: string, port: number): object => ({
  name,
  port,
  protocol: 'HTTPS',
  tls: { certificateRefs: [{ name: 'server' }] },
})
const validation = (mode: string, ...names: readonly string[]): object => ({
  validation: {
    mode,
    caCertificateRefs: names.map((name) => ({ group: '', kind: 'ConfigMap', name })),
  },
})

let ports: { strict: number; lenient: number; open: number; broken: number }
let world: TwoBackends

beforeAll(async () => {
  const [strict, lenient, open, broken] = await Promise.all(Array.from({ length: 4 }, freePort))
  ports = { strict, lenient, open, broken } as typeof ports
  world = await startTwoBackends((port) => {
    const { spec, ...own } = gateway([
      { name: 'http', port, protocol: 'HTTP' },
      ...Object.entries(ports).map(([name, number]) => https(name, number)),
    ])
    const frontend = {
      default: validation('AllowValidOnly', 'nobody', 'clients'),
      perPort: [
        { port: ports.lenient, tls: validation('AllowInsecureFallback', 'clients') },
        { port: ports.open, tls: {} },
        { port: ports.broken, tls: validation('AllowValidOnly', 'empty') },
      ],
    }
    return [
      { ...own, spec: { ...spec, tls: { frontend } } },
      secret,
      configMap('clients', client.cert),
      configMap('empty', 'no certificate'),
      route('api', 'api.example', rule('/', 'a')),
    ]
  })
})
afterAll(() => world.close())

const ask = (port: number, pair?: KeyPair): Promise<Answer> =>
  send(`https://127.0.0.1:${String(port)}`, '/', {
    headers: { host: 'api.example' },
    tls: { servername: 'api.example', ca: server.cert, ...pair },
  })

describe('a port that asks for certificates', () => {
  test('serves a client with one of an authority', async () => {
    expect((await ask(ports.strict, client)).body).toBe('a')
  })

  test('refuses clients without one, or with one of another authority', async () => {
    await expect(ask(ports.strict)).rejects.toThrow()
    await expect(ask(ports.strict, stranger)).rejects.toThrow()
  })

  test('is closed while none of its authorities can be read', async () => {
    await expect(ask(ports.broken, client)).rejects.toThrow()
  })
})

test('a port with AllowInsecureFallback serves all, and so does one without validation', async () => {
  for (const pair of [client, stranger, undefined]) {
    expect((await ask(ports.lenient, pair)).body).toBe('a')
    expect((await ask(ports.open, pair)).body).toBe('a')
  }
})

test('the conditions name what is insecure, what is missing, and what is refused', async () => {
  const { conditions = [] } =
    (await world.stack.status()).find(({ kind }) => kind === 'Gateway') ?? {}
  const has = (condition: object): void =>
    expect(conditions).toContainEqual(expect.objectContaining(condition))
  has({ type: 'InsecureFrontendValidationMode', status: 'True', reason: 'ConfigurationChanged' })
  has({ type: 'ResolvedRefs', section: 'strict', reason: 'InvalidCACertificateRef' })
  has({ type: 'Accepted', section: 'strict', status: 'True' })
  has({ type: 'Accepted', section: 'broken', reason: 'NoValidCACertificate', status: 'False' })
})
