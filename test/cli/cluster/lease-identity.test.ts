// The identity of this process among the replicas that could write status.

import { expect, test } from 'vitest'
import { leaseIdentity, leaseOf } from '../../../src/control/sources/kubernetes/lease-of.js'

test('a pod is itself again after a restart of its container', () => {
  expect(leaseIdentity({ POD_NAME: 'gatehouse-7d4-x2' })).toBe('gatehouse-7d4-x2')
})

test('two processes of one host without a pod are not the same', () => {
  expect(leaseIdentity({})).not.toBe(leaseIdentity({}))
})

test('empty variables count as absent: replicas never share the empty identity', () => {
  const empty = { POD_NAME: '', POD_NAMESPACE: '', LEASE_NAME: '' }
  expect(leaseIdentity(empty)).not.toBe(leaseIdentity(empty))
  expect(leaseOf(empty)).toMatchObject({ namespace: 'default', name: 'gatehouse' })
})
