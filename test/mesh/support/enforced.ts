// What a mesh's controller reports about policies: the condition Enforced, Events and the metric.

import { expect } from 'vitest'
import { type AnyObject, pathOf } from '../../../testing/api-call.js'
import type { ApiClient } from '../../../testing/api-client.js'
import { eventually } from '../../../testing/eventually.js'
import type { Replica } from '../../../testing/replica.js'
import type { Backend, Recorded } from '../../support/backend.js'

/** Longest time that a mesh and its Envoy take for a change, on a busy machine. */
const PATIENCE = 60_000

/** The condition of a policy that is enforced. */
export const YES = { status: 'True', reason: 'Enforced' }

/** Most probes of an open match before its policy is not enforced any more: those of ten seconds, a sweep each three. */
export const MOST_PROBES = 4

/** Returns the probes that have reached a backend: those of an open route. */
export const probesAt = ({ requests }: Backend): readonly Recorded[] =>
  requests.filter(({ headers }) => headers['gatehouse-probe'] !== undefined)

/** Waits until the condition Enforced of a policy is this. */
export const untilEnforced = (api: ApiClient, condition: object, name = 'app'): Promise<void> =>
  eventually(async () => {
    const { status } = await api.get('policy.gatehouse.dev/v1alpha1', 'ProxyPolicy', name)
    expect(status).toMatchObject({
      ancestors: [
        {
          conditions: expect.arrayContaining([
            expect.objectContaining({ type: 'Enforced', ...condition }),
          ]) as unknown,
        },
      ],
    })
  }, PATIENCE)

/** Waits until the policy "app" is not enforced, and condition, Event and metric say so. Condition and Event name the culprit. */
export async function untilReported(
  api: ApiClient,
  replica: Replica,
  reason: string,
  culprit: string,
): Promise<void> {
  const message = expect.stringContaining(culprit) as unknown
  await untilEnforced(api, { status: 'False', reason, message })
  await eventually(async () => {
    const events = await api.call('GET', '/apis/events.k8s.io/v1/namespaces/default/events')
    expect((events as { readonly items?: unknown }).items).toContainEqual(
      expect.objectContaining({
        type: 'Warning',
        // An Event tells what was known when it was written: a mesh may name the culprit later.
        ...(reason === 'NotAccepted' ? {} : { note: message }),
        regarding: expect.objectContaining({ kind: 'ProxyPolicy', name: 'app' }) as unknown,
      }),
    )
  }, PATIENCE)
  expect(await replica.metrics()).toContain('gatehouse_enforced_policies{enforced="false"} 1')
}

/** Objects by which an administrator forbids that objects of a name are created, so that a deleted one stays away. */
export function noMore(apiGroup: string, resource: string, name: string): readonly object[] {
  const admission = 'admissionregistration.k8s.io/v1'
  const metadata = { name: 'no-more' }
  const rule = { apiGroups: [apiGroup], apiVersions: ['*'], resources: [resource] }
  return [
    {
      apiVersion: admission,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: {
        matchConstraints: { resourceRules: [{ ...rule, operations: ['CREATE'] }] },
        validations: [{ expression: `object.metadata.name != '${name}'`, message: 'no more' }],
      },
    },
    {
      apiVersion: admission,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: metadata.name, validationActions: ['Deny'] },
    },
  ]
}

/** Waits until the API server refuses to create the object. */
export function untilForbidden(api: ApiClient, object: AnyObject): Promise<void> {
  const { apiVersion, kind, metadata, spec } = object
  const copy = { apiVersion, kind, metadata: { name: metadata.name }, spec }
  const path = pathOf(object)
  const create = `${path.slice(0, path.lastIndexOf('/'))}?dryRun=All`
  return eventually(async () => {
    await expect(api.call('POST', create, copy)).rejects.toThrow('no more')
  }, PATIENCE)
}
