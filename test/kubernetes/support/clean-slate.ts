// Makes an API server what it was: without the objects of the tests that have used it.

import type { AnyObject } from '../../../testing/api-call.js'
import type { ApiServer } from '../../../testing/api-server.js'
import type { Snapshot } from '../../../testing/etcd.js'
import { eventually } from '../../../testing/eventually.js'

const DEFINITIONS = '/registry/apiextensions.k8s.io/customresourcedefinitions/'

/** Beginnings of keys that the API server itself writes, at any time. */
const OWN = [
  '/registry/apiregistration.k8s.io/',
  '/registry/configmaps/kube-system/',
  '/registry/endpointslices/default/kubernetes',
  '/registry/flowschemas/',
  '/registry/leases/kube-system/',
  '/registry/masterleases/',
  '/registry/prioritylevelconfigurations/',
  '/registry/servicecidrs/',
  '/registry/services/endpoints/default/kubernetes',
]

const RBAC = 'rbac.authorization.k8s.io'

/** Returns a function that takes away what was created since, and gives the rest back what it has now. CRDs stay. */
export async function cleanSlate(api: ApiServer): Promise<() => Promise<void>> {
  await hasBegun(api)
  const { etcd } = api
  const first = await etcd.snapshot()
  return async () => {
    expectSameDefinitions(first, await etcd.snapshot(DEFINITIONS))
    await etcd.restore(first, (key) => [...OWN, DEFINITIONS].some((each) => key.startsWith(each)))
    await forgetsRights(api)
  }
}

/** Resolves when the API server has what it creates by itself after its start. */
async function hasBegun(api: ApiServer): Promise<void> {
  for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease'])
    await eventually(() => api.get('v1', 'Namespace', name))
  await eventually(() => api.get('v1', 'Service', 'kubernetes'))
}

/** A file that changes definitions needs an API server of its own: the others could not tell when they are as before. */
function expectSameDefinitions(first: Snapshot, now: Snapshot): void {
  for (const [key, { value }] of first) {
    const name = textOf(key)
    if (!name.startsWith(DEFINITIONS)) continue
    const [before, after] = [value, now.get(key)?.value].map((each) => generationOf(each))
    if (before !== after)
      throw new Error(`${name} has changed: the test needs an API server of its own { own: true }`)
  }
}

const textOf = (base64: string): string => Buffer.from(base64, 'base64').toString()

/** CRDs are kept as JSON. */
const generationOf = (value: string | undefined): number | undefined =>
  value === undefined ? undefined : (JSON.parse(textOf(value)) as AnyObject).metadata.generation

/**
 * Resolves when no binding that is gone counts any more. The API server hears of bindings in their order: it knows of those that
 * are gone when it knows of a new one.
 */
async function forgetsRights(api: ApiServer): Promise<void> {
  const user = 'last'
  const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: 'cluster-admin' }
  const subjects = [{ apiGroup: RBAC, kind: 'User', name: user }]
  for (const kind of ['ClusterRoleBinding', 'RoleBinding']) {
    const binding = { apiVersion: `${RBAC}/v1`, kind, metadata: { name: user }, roleRef, subjects }
    await api.apply(binding)
    await eventually(async () => {
      if (!(await mayList(api, user))) throw new Error(`the ${kind} does not count yet`)
    })
    await api.delete(binding)
    await eventually(async () => {
      if (await mayList(api, user)) throw new Error(`the ${kind} still counts`)
    })
  }
}

/** Whether the user may list the pods of the namespace "default". */
async function mayList(api: ApiServer, user: string): Promise<boolean> {
  const resourceAttributes = { namespace: 'default', verb: 'list', resource: 'pods' }
  const { status } = await api.call('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, resourceAttributes },
  })
  return (status as { readonly allowed: boolean }).allowed
}
