// The admin address as an operator, a probe, Prometheus and a hostile web page see it.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  type AdminOptions,
  type AdminServer,
  type AdminSource,
  startAdminServer,
} from '../../../src/ops/admin/admin-server.js'
import { createMetrics } from '../../../src/ops/admin/metrics.js'
import type { StatusReport } from '../../../src/ops/admin/status-report.js'
import { openTokenFile } from '../../../src/ops/admin/token-file.js'
import { pageState } from '../../support/page-state.js'

const REPORT: StatusReport = {
  ready: true,
  reasons: [],
  revision: 'abc',
  resources: [
    {
      apiVersion: 'policy.gatehouse.dev/v1alpha1',
      kind: 'ProxyPolicy',
      namespace: 'default',
      name: 'mcp',
      source: 'policy.yaml:1',
      conditions: [
        {
          type: 'Accepted',
          status: 'False',
          reason: 'Invalid',
          message: 'issuer: "<script>alert(1)</script>" is not a URL',
          ancestor: 'default/gw',
        },
      ],
    },
  ],
  envoys: [
    {
      node: 'e1',
      cluster: '*',
      connected: true,
      types: [
        {
          type: 'type.googleapis.com/envoy.config.listener.v3.Listener',
          sent: 'v2',
          acked: 'v1',
          nacked: { version: 'v2', message: 'bad regex', at: '2026-01-01T00:00:00.000Z' },
        },
      ],
    },
  ],
  remote: [{ kind: 'KeySet', url: 'https://idp.example/jwks', error: 'refused' }],
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** Makes a folder that the test removes. */
async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'admin-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

let server: AdminServer | undefined
afterEach(async () => server?.close())

async function start(
  over: Partial<AdminSource> = {},
  options: Partial<AdminOptions> = {},
): Promise<string> {
  const metrics = createMetrics()
  const source: AdminSource = {
    explain: () => Promise.resolve({ ok: false as const, error: 'not here' }),
    status: () => REPORT,
    page: () => Promise.resolve(pageState({ report: REPORT })),
    readiness: () => ({ ready: true, reasons: [] }),
    configDump: () => ({}),
    metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
    ...over,
  }
  const address = { type: 'tcp', host: '127.0.0.1', port: 0 } as const
  server = await startAdminServer({ address, source, logger: quiet, pages: 'all', ...options })
  return `http://${server.address}`
}

/** fetch does not let a test choose Host. */
function getWithHeaders(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
}

describe('health and readiness', () => {
  test('/healthz is 200 while the process runs', async () => {
    expect((await fetch(`${await start()}/healthz`)).status).toBe(200)
  })

  test('/readyz is 200 "ready", or 503 with every reason', async () => {
    let reasons = ['no snapshot yet', 'Envoy is not running']
    const base = await start({ readiness: () => ({ ready: reasons.length === 0, reasons }) })
    const before = await fetch(`${base}/readyz`)
    expect(before.status).toBe(503)
    expect(await before.text()).toBe('not ready: no snapshot yet; Envoy is not running\n')
    reasons = []
    const after = await fetch(`${base}/readyz`)
    expect([after.status, await after.text()]).toEqual([200, 'ready\n'])
  })
})

describe('/status', () => {
  test('is JSON: resources with their conditions, Envoys, remote documents', async () => {
    const answer = await fetch(`${await start()}/status`)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(await answer.json()).toEqual(REPORT)
  })

  test('as a page at / escapes what users and identity providers wrote', async () => {
    const page = await (await fetch(`${await start()}/`)).text()
    expect(page).not.toContain('<script>')
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page).toContain('default/mcp')
    expect(page).toContain('bad regex')
    expect(page).toContain('never fetched')
  })

  test('the page loads nothing from elsewhere and its style is the one the policy allows', async () => {
    const answer = await fetch(`${await start()}/`)
    const policy = answer.headers.get('content-security-policy') ?? ''
    const page = await answer.text()
    const style = /<style>([\s\S]*)<\/style>/.exec(page)?.[1] ?? ''
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style))
    expect(policy).toContain(`'sha256-${Buffer.from(digest).toString('base64')}'`)
    expect(page).not.toMatch(/(src|href)="(https?:)?\/\//)
  })
})

test('/metrics holds every metric of the public interface and the usual ones of Node', async () => {
  const text = await (await fetch(`${await start()}/metrics`)).text()
  for (const name of [
    'gatehouse_xds_nacks_total',
    'gatehouse_xds_pushes_total',
    'gatehouse_checks_total',
    'gatehouse_check_duration_seconds',
    'gatehouse_key_set_fetches_total',
    'gatehouse_resources',
    'gatehouse_policies',
    'process_cpu_seconds_total',
    'nodejs_eventloop_lag_seconds',
  ])
    expect(text).toContain(`# TYPE ${name} `)
})

test('/config_dump holds no private key, no private part of a key set and no value of a header', async () => {
  const base = await start({
    configDump: () => ({
      certificates: [{ name: 'default/tls', certificateChain: 'PEM', privateKey: 's3cret' }],
      jwks: { keys: [{ kty: 'RSA', n: 'modulus', d: 's3cret', p: 's3cret' }] },
      set: [{ name: 'Authorization', value: 's3cret' }],
      add: [{ header: { key: 'x-api-key', value: 's3cret' } }],
      plain: [{ name: 'x-team', value: 's3cret' }],
    }),
  })
  const dump = await (await fetch(`${base}/config_dump`)).text()
  expect(dump).not.toContain('s3cret')
  for (const kept of ['modulus', 'x-team', 'default/tls', 'PEM']) expect(dump).toContain(kept)
})

describe('refuses', () => {
  test('methods that change things', async () => {
    const answer = await fetch(`${await start()}/status`, { method: 'POST' })
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe('GET, HEAD')
  })

  test('unknown paths, and names that every object has', async () => {
    const base = await start()
    expect((await fetch(`${base}/nothing`)).status).toBe(404)
    expect((await fetch(`${base}/constructor`)).status).toBe(404)
  })

  test('a foreign Host on loopback (DNS rebinding), but neither localhost nor an address', async () => {
    const base = await start()
    expect(await getWithHeaders(`${base}/status`, { host: 'evil.example' })).toBe(403)
    expect(await getWithHeaders(`${base}/status`, { host: 'localhost:18001' })).toBe(200)
    expect(await getWithHeaders(`${base}/status`, { host: '[::1]:18001' })).toBe(200)
    expect(await getWithHeaders(`${base}/status`, { host: 'gatehouse.localhost' })).toBe(200)
    expect(await getWithHeaders(`${base}/status`, { host: 'evil-localhost' })).toBe(403)
  })

  describe('a foreign Host on every address, which a port that is published on loopback leads to', () => {
    const EVERY = { type: 'tcp', host: '0.0.0.0', port: 0 } as const
    const names = (host: string) => ({ host })

    test('on pages that show resources', async () => {
      const base = await start({}, { address: EVERY })
      const pages = [...PAGES, '/events', '/explain']
      const refused = pages.map(() => 403)
      expect(await statusesOf(base, pages, names('evil.example:18001'))).toEqual(refused)
      expect(await statusesOf(base, pages, names('localhost.evil.example'))).toEqual(refused)
      expect(await statusesOf(base, PAGES, names('localhost:18001'))).toEqual([200, 200, 200])
      expect(await statusesOf(base, PAGES, names('10.0.0.7:18001'))).toEqual([200, 200, 200])
    })

    test('but not probes, which are called by the name of a Service', async () => {
      const base = await start({}, { address: EVERY })
      const host = names('gatehouse.gatehouse.svc:18001')
      expect(await statusesOf(base, PROBES, host)).toEqual([200, 200, 200])
    })

    test('but not where a token is required, which browsers keep for one name', async () => {
      const file = join(await temporaryFolder(), 'token')
      const base = await start({}, { address: EVERY, token: await openTokenFile(file) })
      const token = (await readFile(file, 'utf8')).trim()
      const host = names('gatehouse.example')
      expect(await statusesOf(base, PAGES, host)).toEqual([401, 401, 401])
      const headers = { ...host, authorization: `Bearer ${token}` }
      expect(await statusesOf(base, PAGES, headers)).toEqual([200, 200, 200])
    })
  })

  test('what a browser asks for on behalf of another site', async () => {
    const base = await start()
    expect(await getWithHeaders(`${base}/status`, { 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await getWithHeaders(`${base}/status`, { origin: 'https://evil.example' })).toBe(403)
  })
})

test('a page that throws is a 500 without the reason', async () => {
  const base = await start({
    status() {
      throw new Error('internals')
    },
  })
  const answer = await fetch(`${base}/status`)
  expect([answer.status, await answer.text()]).toEqual([500, 'internal error\n'])
})

test('HEAD has the headers alone', async () => {
  const answer = await fetch(`${await start()}/healthz`, { method: 'HEAD' })
  expect([answer.status, answer.headers.get('content-length'), await answer.text()]).toEqual([
    200,
    '3',
    '',
  ])
})

const PROBES = ['/healthz', '/readyz', '/metrics']
const PAGES = ['/', '/status', '/config_dump']

const statusesOf = (base: string, paths: readonly string[], headers: Record<string, string> = {}) =>
  Promise.all(paths.map((path) => getWithHeaders(base + path, headers)))

test('probes get no content of resources', async () => {
  const base = await start({}, { pages: 'probes' })
  expect(await statusesOf(base, PROBES)).toEqual([200, 200, 200])
  expect(await statusesOf(base, PAGES)).toEqual([404, 404, 404])
})

describe('with a token', () => {
  const basic = (pair: string) => ({
    authorization: `Basic ${Buffer.from(pair).toString('base64')}`,
  })

  async function startWithToken(): Promise<{ readonly base: string; readonly file: string }> {
    const file = join(await temporaryFolder(), 'token')
    return { file, base: await start({}, { token: await openTokenFile(file) }) }
  }

  test('pages ask for it, in the way that a browser understands; probes do not', async () => {
    const { base } = await startWithToken()
    expect(await statusesOf(base, PROBES)).toEqual([200, 200, 200])
    expect(await statusesOf(base, PAGES)).toEqual([401, 401, 401])
    const answer = await fetch(`${base}/status`)
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
    expect(await answer.text()).not.toContain('default')
  })

  test('a file is made that its owner alone can read, and what it holds lets in', async () => {
    const { base, file } = await startWithToken()
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const token = (await readFile(file, 'utf8')).trim()
    for (const headers of [
      { authorization: `bearer ${token}` },
      basic(`:${token}`),
      basic(`me:${token}`),
    ])
      expect(await statusesOf(base, PAGES, headers)).toEqual([200, 200, 200])
  })

  test.each([
    {},
    { authorization: '' },
    { authorization: 'Bearer' },
    { authorization: 'Bearer ' },
    { authorization: 'Bearer wrong' },
    { authorization: 'Digest wrong' },
    basic('no colon'),
    basic(':'),
    { authorization: 'Basic %%%' },
  ])('%j does not', async (headers) => {
    const { base } = await startWithToken()
    expect(await statusesOf(base, PAGES, headers)).toEqual([401, 401, 401])
  })

  test('of a file that was there: it is read again when it changes', async () => {
    const { base, file } = await startWithToken()
    await writeFile(file, 'another-token-of-mine\n')
    const headers = { authorization: 'Bearer another-token-of-mine' }
    expect(await statusesOf(base, PAGES, headers)).toEqual([200, 200, 200])
  })

  test('that can no longer be read, no request is allowed', async () => {
    const { base, file } = await startWithToken()
    await writeFile(file, '')
    expect(await statusesOf(base, PAGES, { authorization: 'Bearer x' })).toEqual([500, 500, 500])
    await rm(file)
    expect(await statusesOf(base, PAGES, basic(':'))).toEqual([500, 500, 500])
  })

  test.each([
    ['short', 'expected a token of at least 16 characters'],
    ['', 'expected a token of at least 16 characters'],
  ])('%j is none', async (text, reason) => {
    const file = join(await temporaryFolder(), 'token')
    await writeFile(file, text)
    await expect(openTokenFile(file)).rejects.toThrow(reason)
  })

  test('of a folder that is not there: it says so', async () => {
    await expect(openTokenFile('/nonexistent/token')).rejects.toThrow(
      /^--admin-token-file \/nonexistent\/token cannot be made: ENOENT/,
    )
  })
})

describe('a Unix socket', () => {
  const source: AdminSource = {
    explain: () => Promise.resolve({ ok: false as const, error: 'not here' }),
    status: () => REPORT,
    page: () => Promise.resolve(pageState({ report: REPORT })),
    readiness: () => ({ ready: true, reasons: [] }),
    configDump: () => ({}),
    metrics: () => Promise.resolve({ contentType: 'text/plain', text: '' }),
  }
  const options = (path: string): AdminOptions => ({
    source,
    logger: quiet,
    pages: 'all',
    address: { type: 'unix', path },
  })

  test('is listened on, also where a process that is gone left one', async () => {
    const path = join(await temporaryFolder(), 'admin.sock')
    // A process that ends without closing leaves its socket behind.
    const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
    spawnSync(process.execPath, ['-e', script])
    expect(existsSync(path)).toBe(true)
    server = await startAdminServer(options(path))
    const status = await new Promise((resolve, reject) => {
      request({ socketPath: path, path: '/healthz' }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end()
    })
    expect([server.address, status]).toEqual([`unix:${path}`, 200])
  })

  test('that another process listens on is in use', async () => {
    const path = join(await temporaryFolder(), 'admin.sock')
    server = await startAdminServer(options(path))
    await expect(startAdminServer(options(path))).rejects.toMatchObject({
      code: 'EADDRINUSE',
    })
  })
})
