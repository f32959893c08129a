// The chart with envoys.provision, TLS and two workers: the Envoys of two tenants' Gateways get the private keys of their own
// HTTPS listeners, known by tokens that the kubelet gives them.

import { once } from 'node:events'
import { request } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { inNamespace, tlsSecret } from '../kubernetes/support/objects.js'
import { type KeyPair, selfSigned } from '../support/certificates.js'
import { gateway, httpRoute } from '../support/resources.js'
import { app } from './support/app.js'
import { addressOf, api, install, podsOf, readyPods, type Release } from './support/cluster.js'
import { restart } from './support/rollout.js'

const NAMESPACE = 'secured'
const TENANTS = ['carol', 'dave'] as const

type Tenant = (typeof TENANTS)[number]

const certificates: Readonly<Record<Tenant, KeyPair>> = {
  carol: selfSigned('carol.example'),
  dave: selfSigned('dave.example'),
}

let release: Release

beforeAll(async () => {
  await api.apply(
    ...[NAMESPACE, ...TENANTS].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    })),
    ownSecret(),
  )
  release = await install(NAMESPACE, {
    envoys: { provision: true, replicas: 1, serviceType: 'ClusterIP' },
    tls: { secretName: 'server' },
    workers: 2,
    references: TENANTS.map((namespace) => ({ namespace, secrets: ['certificate'] })),
  })
  for (const tenant of TENANTS) await deployShop(tenant)
})

afterAll(() => release.uninstall())

/** A new certificate of Gatehouse, which is its own authority. */
function ownSecret(): object {
  const pair = selfSigned(`gatehouse.${NAMESPACE}.svc`)
  const secret = tlsSecret('server', pair) as { readonly stringData: object }
  const stringData = { ...secret.stringData, 'ca.crt': pair.cert }
  return inNamespace(NAMESPACE, { ...secret, stringData })
}

function deployShop(tenant: Tenant): Promise<void> {
  const tls = { certificateRefs: [{ name: 'certificate' }] }
  const listener = { name: 'https', port: 443, protocol: 'HTTPS', tls }
  return api.apply(
    ...app(tenant, tenant),
    ...[
      tlsSecret('certificate', certificates[tenant]),
      gateway([listener]),
      httpRoute('shop', { rules: [{ backendRefs: [{ name: tenant, port: 80 }] }] }),
    ].map((object) => inNamespace(tenant, object)),
  )
}

/** Resolves when the Gateway of the tenant serves its shop, with its own certificate. */
async function expectShop(tenant: Tenant): Promise<void> {
  const address = await addressOf('gw', tenant)
  await eventually(async () => {
    const { ca, servername } = { ca: certificates[tenant].cert, servername: `${tenant}.example` }
    const call = request(`https://${address}/`, { ca, servername, agent: false })
    call.end()
    const [response] = (await once(call, 'response')) as [NodeJS.ReadableStream]
    let text = ''
    for await (const part of response) text += String(part)
    expect(JSON.parse(text)).toMatchObject({ app: tenant })
    expect((call.socket as TLSSocket).authorized).toBe(true)
  }, 120_000)
}

const envoysOf = async (tenant: Tenant) =>
  (await podsOf(tenant)).filter(({ name }) => name.startsWith('gw-gatehouse-'))

test.each(TENANTS)('an HTTPS listener answers with its certificate: %s', async (tenant) => {
  await expectShop(tenant)
  expect(await envoysOf(tenant)).toMatchObject([{ isReady: true, restarts: 0 }])
})

test('the pods of the Envoys have a token for Gatehouse alone', async () => {
  const [envoy] = await envoysOf('carol')
  const { spec } = (await api.get('v1', 'Pod', envoy?.name ?? '', 'carol')) as unknown as {
    readonly spec: { readonly volumes: readonly { readonly projected?: unknown }[] }
  }
  const projected = spec.volumes.flatMap((volume) => volume.projected ?? [])
  expect(projected).toMatchObject([
    { sources: [{ serviceAccountToken: { audience: `gatehouse.${NAMESPACE}.svc` } }] },
  ])
})

test('Envoys come back to Gatehouse after its restart', async () => {
  await restart(NAMESPACE, 'gatehouse')
  await expectShop('dave')
})

test('Envoys are replaced by ones that know the new authority of Gatehouse', async () => {
  const before = (await envoysOf('carol')).map(({ name }) => name)
  await api.apply(ownSecret())
  await eventually(async () => {
    const names = (await envoysOf('carol')).map(({ name }) => name)
    expect(names.some((name) => before.includes(name))).toBe(false)
  }, 240_000)
  await readyPods('carol', 2)
  await expectShop('carol')
})
