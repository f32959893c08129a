// Each permission that the chart adds for a mesh is needed: when it alone is missing, the log or Enforced names it. Needs the
// CRDs of the meshes alone, none of their programs.

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { aboutRequest, createProbeSigns, probeAnswerText } from '../../src/kit/probe-signs.js'
import { PROBED_HEADER } from '../../src/model/names.js'
import type { AnyObject } from '../../testing/api-call.js'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { furtherDefinitions } from '../mesh/support/definitions.js'
import { proxyPolicy } from '../support/resources.js'
import { someRows } from '../support/some-rows.js'
import { keySet, newKey } from '../support/tokens.js'
import {
  ENVOY_FILTER,
  ENVOY_GATEWAY,
  envoyGateway,
  GRANTS,
  istio,
  type Mesh,
} from './support/meshes.js'
import { gatewayClass } from './support/objects.js'
import { type Missing, type Permission, permissionsOf, rolesFor } from './support/roles.js'
import { apiServerFor } from './support/shared-api-server.js'

const PATIENCE = 30_000
const GATEWAY_API = 'gateway.networking.k8s.io/v1'

const POLICY = '/apis/policy.gatehouse.dev/v1alpha1/namespaces/default/proxypolicies/mcp'

let api: ApiServer
/** Stands for the Envoy of the Gateway. */
let envoy: Server
let port = 0
const DOCUMENTS_KEY = 'default/gatehouse-documents-mcp/0'

/** Whether the stand-in answers probes as if the route were open. */
let isOpen = false
let replica: Replica | undefined
let users = 0

const gatewayOf = ({ name }: Mesh): object => ({
  apiVersion: GATEWAY_API,
  kind: 'Gateway',
  metadata: { name: 'edge' },
  spec: {
    gatewayClassName: name,
    addresses: [{ type: 'IPAddress', value: ADDRESS }],
    listeners: [{ name: 'http', protocol: 'HTTP', port }],
  },
})
const route = {
  apiVersion: GATEWAY_API,
  kind: 'HTTPRoute',
  metadata: { name: 'mcp' },
  spec: {
    parentRefs: [{ name: 'edge' }],
    rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/mcp' } }] }],
  },
}
const KEYS = JSON.stringify(keySet(await newKey('k1')))

/** Needs objects of every kind that the controller applies, with a Service for Gatehouse. */
const policy = proxyPolicy('mcp', 'mcp', {
  jwtAuthentication: {
    mode: 'Strict',
    providers: [{ issuer: 'https://idp.example', audiences: ['mcp'], jwks: { inline: KEYS } }],
    mcp: { metadataIssuer: 'Provider', resourceMetadata: { resource: 'https://app.example/mcp' } },
  },
})

beforeAll(async () => {
  api = await apiServerFor({ own: true })
  envoy = createServer((request, response) => {
    const answered = answerProbe(request.headers, request.url ?? '')
    // Without the Secret, there is no proof.
    void answered
      .catch(() => undefined)
      .then((answer) => {
        if (isOpen || answer === undefined) response.writeHead(200).end()
        else response.writeHead(403, { [PROBED_HEADER]: answer }).end()
      })
  }).listen(0, ADDRESS)
  await once(envoy, 'listening')
  port = (envoy.address() as AddressInfo).port
  await api.apply(
    ...furtherDefinitions('GATEHOUSE_TEST_ISTIO_DEFINITIONS'),
    ...furtherDefinitions('GATEHOUSE_TEST_ENVOY_GATEWAY_DEFINITIONS'),
  )
}, 120_000)

/** Answers a probe as Gatehouse does. */
async function answerProbe(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  path: string,
): Promise<string | undefined> {
  const question = String(headers['gatehouse-probe'])
  const { data } = (await api.get('v1', 'Secret', 'gatehouse-probe')) as unknown as {
    readonly data: { readonly key: string }
  }
  const signs = createProbeSigns(() => Buffer.from(data.key, 'base64'), Date.now)
  const about = aboutRequest('default/mcp/0', String(headers['host']), path)
  const proof = signs.prove(question, 'ext_authz', about)
  const isDocument = path.startsWith('/.well-known/')
  const ofDocument = isDocument ? signs.prove(question, 'ext_proc', [DOCUMENTS_KEY]) : undefined
  return (
    proof &&
    probeAnswerText({ question, proofs: { ext_authz: proof, ext_proc: ofDocument ?? '-' } })
  )
}

/** Ends the replica, and takes away what it has made. */
async function cleared(): Promise<void> {
  isOpen = false
  await replica?.stop()
  replica = undefined
  await removeCreated()
  await api.call('PATCH', `${POLICY}/status`, { status: null })
}

/** @param plural absent: of every kind. */
async function removeCreated(plural?: string): Promise<void> {
  for (const { object, path } of await created())
    if (plural === undefined || path.includes(`/${plural}/`)) await api.delete(object)
}

afterAll(async () => {
  envoy.close()
  await api.close()
})

const LISTS: readonly (readonly [apiVersion: string, kind: string, plural: string])[] = [
  [ENVOY_FILTER, 'EnvoyFilter', 'envoyfilters'],
  [ENVOY_GATEWAY, 'SecurityPolicy', 'securitypolicies'],
  [ENVOY_GATEWAY, 'EnvoyExtensionPolicy', 'envoyextensionpolicies'],
  [ENVOY_GATEWAY, 'BackendTrafficPolicy', 'backendtrafficpolicies'],
  [ENVOY_GATEWAY, 'ClientTrafficPolicy', 'clienttrafficpolicies'],
  [ENVOY_GATEWAY, 'Backend', 'backends'],
  [GATEWAY_API, 'HTTPRoute', 'httproutes'],
  [GRANTS, 'ReferenceGrant', 'referencegrants'],
  ['v1', 'Service', 'services'],
  ['v1', 'Secret', 'secrets'],
]

interface Created {
  readonly object: AnyObject
  readonly path: string
}

/** What Gatehouse has created. */
async function created(): Promise<readonly Created[]> {
  const found = await Promise.all(
    LISTS.map(async ([apiVersion, kind, plural]) => {
      const group = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
      const { items } = (await api.call('GET', `${group}/${plural}`)) as unknown as {
        items: AnyObject[]
      }
      return items.map((item): Created => {
        const { namespace = '', name = '' } = item.metadata
        const path = `${group}/namespaces/${namespace}/${plural}/${name}`
        return { object: { ...item, apiVersion, kind }, path }
      })
    }),
  )
  return found
    .flat()
    .filter(
      ({ object: { metadata } }) =>
        metadata.name?.endsWith('-probe') === true ||
        JSON.stringify(metadata).includes('policy.gatehouse.dev/controller'),
    )
}

async function namesCreated(): Promise<readonly string[]> {
  const all = await created()
  return all.map(({ object: { kind, metadata } }) => `${kind} ${metadata.name ?? ''}`).sort()
}

/** Accepts all that was created, as a mesh does. */
async function accept({ controller }: Mesh): Promise<void> {
  const ref = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }
  const conditions = [
    {
      type: 'Accepted',
      status: 'True',
      reason: 'Accepted',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    },
  ]
  const entry = { controllerName: controller, conditions }
  for (const { object, path } of await created()) {
    if (object.kind === 'HTTPRoute')
      await api.call('PATCH', `${path}/status`, {
        status: { parents: [{ ...entry, parentRef: ref }] },
      })
    if (object.kind.endsWith('Policy'))
      await api.call('PATCH', `${path}/status`, {
        status: { ancestors: [{ ...entry, ancestorRef: { ...ref, namespace: 'default' } }] },
      })
  }
}

interface Guest {
  readonly replica: Replica
  /** Gives it all rights of the chart, perhaps without one. */
  allow(without?: Missing): Promise<void>
}

/** Starts a replica with a user of its own. */
async function start({ name, flags }: Mesh, without?: Missing): Promise<Guest> {
  users += 1
  const user = `guest-${String(users)}`
  const allow = (missing?: Missing): Promise<void> =>
    api.apply(...rolesFor(user, { mesh: name }, missing))
  await allow(without)
  replica = await startReplica({ kubeconfig: await api.kubeconfig(user), name: user, flags })
  return { replica, allow }
}

async function enforcedMessage(): Promise<string> {
  const { status } = await api.get('policy.gatehouse.dev/v1alpha1', 'ProxyPolicy', 'mcp')
  return JSON.stringify(status)
}

/** Resolves when the log or the policy's status names what is missing. A watch is refused without a sentence. */
function isNamed({ replica: running }: Guest, { permission, verb }: Missing): Promise<void> {
  const refusal =
    verb === 'watch'
      ? 'it cannot be watched: HTTP 403'
      : `cannot ${verb} resource \\"${permission.resource}\\"`
  return eventually(async () => {
    expect(`${running.log()}${await enforcedMessage()}`).toContain(refusal)
  }, PATIENCE)
}

const isAsNeeded = ({ needed }: Mesh): Promise<void> =>
  eventually(async () => expect(await namesCreated()).toEqual(needed), PATIENCE)

const plain = permissionsOf({})
const isAdded = ({ group, resource }: Permission, verb: string): boolean =>
  !plain.some(
    (other) => other.group === group && other.resource === resource && other.verbs.includes(verb),
  )

const WRITES = ['create', 'patch', 'delete']

type Row = readonly [verb: string, resource: string, missing: Missing]

/** Each verb that the value adds, apart from writing Events. */
const rowsOf = (mesh: Mesh): readonly Row[] =>
  permissionsOf({ mesh: mesh.name }).flatMap((permission) =>
    permission.verbs
      .filter((verb) => isAdded(permission, verb) && permission.resource !== 'events')
      .map((verb): Row => [verb, permission.resource, { permission, verb }]),
  )

/** Whether what Gatehouse keeps needs it all the time. */
const isKept = ([verb, resource]: Row): boolean => WRITES.includes(verb) && resource !== 'secrets'
/** The Secret is read or created at the start. */
const isOfSecret = ([, resource]: Row): boolean => resource === 'secrets'
const isListed = ([verb]: Row): boolean => verb === 'list'

const events: Missing = {
  permission: { group: 'events.k8s.io', resource: 'events', verbs: ['create'] },
  verb: 'create',
}

describe.each([istio, envoyGateway])('for $name', (mesh) => {
  beforeAll(async () => {
    // A new kind is served a moment later.
    await eventually(() =>
      api.apply(gatewayClass(mesh.name, mesh.controller), gatewayOf(mesh), route, policy),
    )
  })

  describe('a replica that starts', () => {
    afterEach(cleared)

    test.each(someRows(rowsOf(mesh).filter(isOfSecret)))(
      'without the permission to %s %s names it',
      async (_verb, _resource, missing) => isNamed(await start(mesh, missing), missing),
    )

    test.each(someRows(rowsOf(mesh).filter(isListed)))(
      'without the permission to %s or to watch %s names it',
      async (_verb, _resource, missing) => {
        const guest = await start(mesh, missing)
        await isNamed(guest, missing)
        await guest.allow({ ...missing, verb: 'watch' })
        await isNamed(guest, { ...missing, verb: 'watch' })
      },
    )
  })

  test('each permission is one of those that these tests take away', () => {
    const kinds = [isKept, isOfSecret, isListed, ([verb]: Row) => verb === 'watch']
    expect(rowsOf(mesh).filter((row) => !kinds.some((isOfKind) => isOfKind(row)))).toEqual([])
  })

  describe('a replica that runs', () => {
    let guest: Guest

    beforeAll(async () => {
      guest = await start(mesh)
      await isAsNeeded(mesh)
    })

    afterAll(cleared)

    test.each(someRows(rowsOf(mesh).filter(isKept)))(
      'without the permission to %s %s names it, and goes on once it has it',
      async (verb, resource, missing) => {
        await guest.allow(missing)
        if (verb === 'delete') await api.apply(mesh.leftOvers[resource] ?? {})
        else await removeCreated(resource)
        await isNamed(guest, missing)
        await guest.allow()
        await isAsNeeded(mesh)
      },
    )
  })

  describe('a replica', () => {
    afterEach(cleared)

    test('without the permission to create events names it in the log when a route opens', async () => {
      const { replica: running } = await start(mesh, events)
      await eventually(async () => {
        await accept(mesh)
        expect(await enforcedMessage()).toContain('"reason":"Enforced"')
      }, PATIENCE)
      isOpen = true
      await eventually(() => {
        expect(running.log()).toContain('the Event on ProxyPolicy default/mcp cannot be written')
        expect(running.log()).toContain('cannot create resource \\"events\\"')
      }, PATIENCE)
    })

    test('with all of them applies everything, and nothing is refused', async () => {
      await api.apply(...Object.values(mesh.leftOvers))
      const { replica: running } = await start(mesh)
      await isAsNeeded(mesh)
      expect(running.log()).not.toContain('forbidden')
    })
  })
})
