// The identity of this process among the replicas that could write status.

import { expect, test } from 'vitest'
import { leaseIdentity } from '../../src/app/lease-of.js'

test('a pod is itself again after a restart of its container', () => {
  expect(leaseIdentity({ POD_NAME: 'gatehouse-7d4-x2' })).toBe('gatehouse-7d4-x2')
})

test('two processes of one host without a pod are not the same', () => {
  expect(leaseIdentity({})).not.toBe(leaseIdentity({}))
})
