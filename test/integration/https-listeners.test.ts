// HTTPS listeners through the whole product: which certificate each name gets, and which names get no connection.

import { once } from 'node:events'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { selfSigned } from '../support/certificates.js'
import { type Answer, send } from '../support/http.js'
import { gateway, proxyBackend, rule } from '../support/resources.js'
import { route, startTwoBackends, type TwoBackends } from '../support/two-backends.js'

const api = selfSigned('api.example')
const wild = selfSigned('*.wild.example')
const renewed = selfSigned('api.example')
const dumped = selfSigned('api.example')

let securePort: number
const secret = (name: string, { cert, key }: { cert: string; key: string }): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'kubernetes.io/tls',
  metadata: { name },
  data: {
    'tls.crt': Buffer.from(cert).toString('base64'),
    'tls.key': Buffer.from(key).toString('base64'),
  },
})

const https = (name: string, hostname: string, certificate: string): object => ({
  name,
  hostname,
  port: securePort,
  protocol: 'HTTPS',
  tls: { mode: 'Terminate', certificateRefs: [{ kind: 'Secret', name: certificate }] },
})

let world: TwoBackends

beforeAll(async () => {
  securePort = await freePort()
  world = await startTwoBackends((port) => [
    gateway([
      { name: 'http', port, protocol: 'HTTP' },
      https('api', 'api.example', 'api'),
      https('wild', '*.wild.example', 'wild'),
      https('broken', 'broken.example', 'broken'),
      https('absent', 'absent.example', 'absent'),
    ]),
    secret('api', api),
    secret('wild', wild),
    secret('broken', { cert: 'no certificate', key: 'no key' }),
    route('wild', '*.wild.example', rule('/', 'a')),
    route('secure', 'api.example', rule('/', 'a')),
  ])
})
afterAll(() => world.close())

describe('HTTPS', () => {
  const secure = (servername: string, ca: string): Promise<Answer> =>
    send(`https://127.0.0.1:${String(securePort)}`, '/', {
      headers: { host: servername },
      tls: { servername, ca },
    })

  /** The certificate that Envoy shows for a server name; undefined: it shows none. */
  const shown = async (servername?: string): Promise<string | undefined> => {
    const socket = connect({
      host: '127.0.0.1',
      port: securePort,
      rejectUnauthorized: false,
      ...(servername !== undefined && { servername }),
    })
    try {
      await once(socket, 'secureConnect')
      return socket.getPeerX509Certificate()?.toString()
    } catch {
      return undefined
    } finally {
      socket.destroy()
    }
  }

  test('each name has its certificate', async () => {
    expect((await secure('api.example', api.cert)).body).toBe('a')
    expect((await secure('x.wild.example', wild.cert)).body).toBe('a')
    expect(await shown('api.example')).toBe(api.cert)
    expect(await shown('x.wild.example')).toBe(wild.cert)
  })

  test.each([['another.example'], ['broken.example'], ['absent.example'], [undefined]])(
    '%s gets no connection',
    async (name) => expect(await shown(name)).toBeUndefined(),
  )

  test('a certificate that is none or absent is a condition on the Gateway, and the others serve', async () => {
    const status = (await world.stack.status()).find(({ kind }) => kind === 'Gateway')
    const refused =
      status?.conditions.filter(({ reason }) => reason === 'InvalidCertificateRef') ?? []
    expect(refused.map(({ type, status }) => [type, status])).toEqual([
      ['ResolvedRefs', 'False'],
      ['ResolvedRefs', 'False'],
    ])
    expect(JSON.stringify(refused)).not.toContain('no key')
  })

  test('a renewed certificate is shown without a restart', async () => {
    await world.stack.write('api-certificate.yaml', secret('renewed', renewed))
    await world.stack.write(
      'resources.yaml',
      gateway([
        { name: 'http', port: world.stack.port, protocol: 'HTTP' },
        https('api', 'api.example', 'renewed'),
      ]),
      proxyBackend('a', world.a),
      route('secure', 'api.example', rule('/', 'a')),
    )
    await eventually(async () => expect(await shown('api.example')).toBe(renewed.cert))
    expect((await secure('api.example', renewed.cert)).body).toBe('a')
  })

  test('the private key is in no dump', async () => {
    await world.stack.write(
      'resources.yaml',
      gateway([
        { name: 'http', port: world.stack.port, protocol: 'HTTP' },
        https('dumped', 'api.example', 'dumped'),
      ]),
      secret('dumped', dumped),
      proxyBackend('a', world.a),
      route('secure', 'api.example', rule('/', 'a')),
    )
    await eventually(async () => expect(await shown('api.example')).toBe(dumped.cert))
    const dumps = await Promise.all(
      ['/status', '/config_dump', '/'].map(async (path) => {
        const answer = await fetch(world.stack.admin + path)
        expect(answer.status, path).toBe(200)
        return answer.text()
      }),
    )
    // The listener and its certificate are in them, as far as they belong there.
    for (const dump of dumps) expect(dump).toContain('dumped')
    const lines = dumped.key.split('\n').filter((each) => each.length > 40)
    expect(lines.length).toBeGreaterThan(1)
    for (const part of [...lines, Buffer.from(dumped.key).toString('base64').slice(40, 200)])
      expect(dumps.join('')).not.toContain(part)
    expect(world.stack.log()).not.toMatch(/PRIVATE KEY|UFJJVkFURSBLRV/)
  })
})
