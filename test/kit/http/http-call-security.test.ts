// Which addresses Gatehouse's own calls may reach (decision 30), and which certificates they accept.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { createAddressRules } from '../../../src/kit/addresses/address-rules.js'
import { createCallRemote, systemLookup } from '../../../src/kit/http/http-call.js'
import type { UpstreamTls } from '../../../src/model/destination.js'
import { type KeyPair, selfSigned } from '../../support/certificates.js'
import { connectTls } from '../../support/tls.js'
import { at, callerWith, closeAfterEach, failureOf, get, serve } from './support/servers.js'

closeAfterEach()

describe('where calls may go (decision 30)', () => {
  const resolvingTo = (...addresses: string[]) =>
    callerWith(() =>
      Promise.resolve(
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    )
  const named = (port: number) => at(0, { endpoints: { type: 'name', host: 'idp.example', port } })

  test.each([
    ['169.254.169.254', 'a link-local address'],
    ['::ffff:169.254.169.254', 'a link-local address'],
    ['fe80::1', 'a link-local address'],
    ['fd00:ec2::254', 'a cloud metadata address'],
    ['100.100.100.200', 'a cloud metadata address'],
  ])('not to a name that resolves to %s', async (ip, why) => {
    expect(await resolvingTo(ip)(named(80), { method: 'GET' })).toEqual({
      ok: false,
      error: { type: 'forbidden-address', host: 'idp.example', why: `${ip}, ${why}` },
    })
  })

  test('not to such an address given as an endpoint', async () => {
    const addresses = [{ ip: '169.254.169.254', port: 80 }]
    expect(await failureOf(at(0, { endpoints: { type: 'addresses', addresses } }))).toEqual({
      type: 'forbidden-address',
      host: '169.254.169.254',
      why: 'a link-local address',
    })
  })

  test('in a cluster not to this host either, but for what the operator allows', async () => {
    const port = await serve((_request, response) => response.end('{}'))
    const allowed = [{ network: '127.0.0.1', prefix: 32, port }]
    const inCluster = (exceptions: typeof allowed) =>
      createCallRemote({
        lookup: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
        connectTls,
        addresses: createAddressRules({ scope: 'host', own: new Set(), allowed: exceptions }),
      })
    for (const target of [at(port), named(port)]) {
      expect(await inCluster([])(target, { method: 'GET' })).toMatchObject({
        error: { type: 'forbidden-address' },
      })
      expect(await inCluster(allowed)(target, { method: 'GET' })).toMatchObject({ ok: true })
    }
  })

  test('of several addresses only to the others', async () => {
    const port = await serve((_request, response) => response.end('{}'))
    const call = resolvingTo('169.254.169.254', '127.0.0.1')
    expect((await call(named(port), { method: 'GET' })).ok).toBe(true)
  })

  test('the system’s resolver is asked, and its odd spellings are seen through', async () => {
    for (const host of ['0xA9FEA9FE', '2852039166', '0251.0376.0251.0376'])
      expect(await failureOf(at(0, { endpoints: { type: 'name', host, port: 80 } }))).toMatchObject(
        { type: expect.stringMatching(/forbidden-address|unresolved/) as string },
      )
  })

  test('a name is resolved once per call', async () => {
    let lookups = 0
    const port = await serve((_request, response) => response.end('{}'))
    const call = callerWith(() => {
      lookups += 1
      return Promise.resolve([
        { address: lookups === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 },
      ])
    })
    expect((await call(named(port), { method: 'GET' })).ok).toBe(true)
    expect(lookups).toBe(1)
  })
})

describe('TLS', () => {
  let pair: KeyPair
  let other: KeyPair
  beforeAll(() => {
    pair = selfSigned('idp.example', '127.0.0.1', 'spiffe://idp/one', '*.wild.example')
    other = selfSigned('idp.example')
  })

  const call = async (changes: Partial<UpstreamTls>) => {
    let sni: unknown
    const port = await serve(
      (request, response) => {
        sni = (request.socket as { servername?: unknown }).servername
        response.end('{}')
      },
      { tls: pair },
    )
    const tls: UpstreamTls = {
      hostname: 'idp.example',
      subjectAltNames: [],
      authorities: { pem: pair.cert },
      ...changes,
    }
    return { result: await get(at(port, { url: 'https://idp.example/', tls })), sni: () => sni }
  }
  const refused = (code: string, hostname = 'idp.example') => ({
    ok: false,
    error: { type: 'tls', hostname, code },
  })

  test('with the right name and authority', async () => {
    const { result, sni } = await call({})
    expect(result.ok).toBe(true)
    expect(sni()).toBe('idp.example')
  })

  test('an IP address as hostname is checked, and not sent as server name', async () => {
    const { result, sni } = await call({ hostname: '127.0.0.1' })
    expect(result.ok).toBe(true)
    expect(sni()).toBe(false)
  })

  test('a certificate for another name', async () => {
    const { result } = await call({ hostname: 'other.example' })
    expect(result).toEqual(refused('ERR_TLS_CERT_ALTNAME_INVALID', 'other.example'))
  })

  test('a server that speaks no cipher of ours is named with OpenSSL’s reason', async () => {
    const port = await serve((_request, response) => response.end('{}'), {
      tls: { ...pair, maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' },
    })
    const tls: UpstreamTls = {
      hostname: 'idp.example',
      subjectAltNames: [],
      authorities: { pem: pair.cert },
    }
    const result = await get(at(port, { url: 'https://idp.example/', tls }))
    const code = expect.stringMatching(/ALERT_HANDSHAKE_FAILURE$/) as string
    expect(result).toEqual(refused(code))
  })

  test('an authority that is not trusted', async () => {
    expect((await call({ authorities: { pem: other.cert } })).result).toMatchObject({
      ok: false,
      error: { type: 'tls' },
    })
    expect((await call({ authorities: 'System' })).result).toEqual(
      refused('DEPTH_ZERO_SELF_SIGNED_CERT'),
    )
  })

  test('an authority of the system', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bundle-'))
    const bundle = join(folder, 'bundle.pem')
    writeFileSync(bundle, other.cert + pair.cert)
    const port = await serve((_request, response) => response.end('{}'), { tls: pair })
    const tls = { hostname: 'idp.example', subjectAltNames: [], authorities: 'System' } as const
    const target = at(port, { url: 'https://idp.example/', tls })
    const trusting = callerWith(systemLookup, bundle)
    expect((await trusting(target, { method: 'GET' })).ok).toBe(true)
    const named = { ...target, tls: { ...tls, hostname: 'other.example' } }
    expect(await trusting(named, { method: 'GET' })).toEqual(
      refused('ERR_TLS_CERT_ALTNAME_INVALID', 'other.example'),
    )
    rmSync(folder, { recursive: true })
  })

  test('an authority that is no certificate', async () => {
    const { result } = await call({ authorities: { pem: 'nonsense' } })
    expect(result).toMatchObject({ ok: false, error: { type: 'tls' } })
  })

  test.each([
    ['Hostname', 'idp.example', true],
    ['Hostname', 'a.wild.example', true],
    ['Hostname', 'wild.example', false],
    ['Hostname', 'other.example', false],
    ['URI', 'spiffe://idp/one', true],
    ['URI', 'spiffe://idp/two', false],
    ['URI', 'idp.example', false],
  ] as const)('subjectAltNames %s %s: %s', async (type, value, passes) => {
    const { result } = await call({ hostname: 'sni.example', subjectAltNames: [{ type, value }] })
    expect(result).toMatchObject(
      passes ? { ok: true } : refused('ERR_TLS_CERT_ALTNAME_INVALID', 'sni.example'),
    )
  })

  test('any of the subjectAltNames is enough, and then the hostname is not checked', async () => {
    const names = [
      { type: 'Hostname', value: 'nobody.example' },
      { type: 'URI', value: 'spiffe://idp/one' },
    ] as const
    const { result, sni } = await call({ hostname: 'sni.example', subjectAltNames: names })
    expect(result.ok).toBe(true)
    expect(sni()).toBe('sni.example')
  })

  test('a server that speaks plain HTTP', async () => {
    const port = await serve((_request, response) => response.end('{}'))
    const tls = { hostname: 'idp.example', subjectAltNames: [], authorities: 'System' } as const
    expect((await failureOf(at(port, { tls })))?.type).toBe('tls')
  })
})
