// A request for one host name on a connection made for another, which browsers send over HTTP/2 if one certificate has
// both names: only the listener of the request's own host name may answer it.

import { once } from 'node:events'
import { connect } from 'node:http2'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../testing/ports.js'
import { selfSigned } from '../support/certificates.js'
import { gateway, httpRoute, rule } from '../support/resources.js'
import { startTwoBackends, type TwoBackends } from '../support/two-backends.js'

const pair = selfSigned(
  'first.example',
  'second.example',
  'unknown.example',
  '*.wild.example',
  '*.deep.wild.example',
)
const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'all' },
  stringData: { 'tls.crt': pair.cert, 'tls.key': pair.key },
}

let world: TwoBackends
let securePort: number

const https = (name: string, hostname?: string): object => ({
  name,
  ...(hostname !== undefined && { hostname }),
  port: securePort,
  protocol: 'HTTPS',
  tls: { certificateRefs: [{ name: 'all' }] },
})

const on = (sectionName: string, backend: string, hostnames: readonly string[] = []): object =>
  httpRoute(sectionName, {
    parentRefs: [{ name: 'gw', sectionName }],
    hostnames,
    rules: [rule('/', backend)],
  })

beforeAll(async () => {
  securePort = await freePort()
  world = await startTwoBackends((port) => [
    secret,
    gateway([
      { name: 'http', port, protocol: 'HTTP' },
      https('any'),
      https('second', 'second.example'),
      https('wild', '*.wild.example'),
      https('own', 'own.wild.example'),
      https('deep', '*.deep.wild.example'),
    ]),
    on('any', 'a', ['first.example']),
    on('second', 'b'),
    on('wild', 'a'),
    on('own', 'b'),
    on('deep', 'b', ['x.deep.wild.example']),
  ])
})
afterAll(() => world.close())

/** The answer to a request for the host on a connection that was opened for the server name. */
async function answered(servername: string, host: string): Promise<string> {
  const session = connect(`https://127.0.0.1:${String(securePort)}`, { servername, ca: pair.cert })
  try {
    const stream = session.request({ ':path': '/', ':authority': host })
    const [headers] = (await once(stream, 'response')) as [{ readonly ':status': number }]
    const chunks = (await stream.toArray()) as Buffer[]
    const status = headers[':status']
    return status === 200 ? Buffer.concat(chunks).toString() : String(status)
  } finally {
    session.destroy()
  }
}

describe('on a connection for', () => {
  test.each([
    ['second.example', 'second.example', 'b'],
    ['second.example', 'second.example:8443', 'b'],
    ['second.example', 'first.example', '421'],
    ['second.example', 'unknown.example', '421'],
    ['second.example', 'own.wild.example', '421'],
    ['x.wild.example', 'x.wild.example', 'a'],
    ['x.wild.example', 'y.wild.example', 'a'],
    ['x.wild.example', 'own.wild.example', '421'],
    ['x.wild.example', 'OWN.wild.example', '421'],
    ['x.wild.example', 'x.deep.wild.example', '421'],
    ['x.wild.example', 'second.example', '421'],
    ['x.wild.example', 'unknown.example', '421'],
    ['own.wild.example', 'own.wild.example', 'b'],
    ['own.wild.example', 'x.wild.example', '421'],
    ['x.deep.wild.example', 'x.deep.wild.example', 'b'],
    ['x.deep.wild.example', 'y.deep.wild.example', '404'],
    ['first.example', 'first.example', 'a'],
    ['first.example', 'second.example', '421'],
    ['first.example', 'unknown.example', '404'],
    ['unknown.example', 'first.example', 'a'],
  ])('%s, %s gets %s', async (servername, host, wanted) => {
    expect(await answered(servername, host)).toBe(wanted)
  })
})
