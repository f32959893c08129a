// What is kept in memory of an object that Gatehouse has applied.

import { expect, test } from 'vitest'
import {
  labelOf,
  withoutContent,
  writtenVersion,
} from '../../../../src/control/sources/kubernetes/wanted-object.js'

const LABEL = ['example.com/by', 'me'] as const

test('an object is kept without what others may write into it, and is compared as before', () => {
  const much = 'x'.repeat(500_000)
  const status = { availableReplicas: 1 }
  for (const generation of [undefined, 7]) {
    const object = {
      metadata: {
        namespace: 'shop',
        name: 'gw',
        uid: 'u',
        resourceVersion: '12',
        ...(generation !== undefined && { generation }),
        labels: { 'example.com/by': 'me', other: much },
        annotations: { note: much },
      },
      data: { 'bootstrap.yaml': much },
      status,
    }
    const kept = withoutContent(object, LABEL)
    expect(JSON.stringify(kept).length).toBeLessThan(300)
    expect(kept['status']).toEqual(status)
    expect(labelOf(kept, LABEL[0])).toBe('me')
    expect(writtenVersion(kept)).toBe(writtenVersion(object))
  }
})
