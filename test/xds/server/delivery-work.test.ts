// The cost of one of thousands of resources to a stream that has the others: how many of them are examined.

import { expect, test, vi } from 'vitest'
import { namedMap } from '../../../src/incremental/named-map.js'
import type { EncodedResource } from '../../../src/xds/encode/encode.js'
import { VIRTUAL_HOST_TYPE } from '../../../src/xds/encode/type-urls.js'
import { Delivery } from '../../../src/xds/server/delivery.js'

const host = (index: number, version: string): EncodedResource => ({
  typeUrl: VIRTUAL_HOST_TYPE,
  name: `r/${String(index).padStart(5, '0')}.example`,
  version,
  any: {
    $typeName: 'google.protobuf.Any',
    typeUrl: VIRTUAL_HOST_TYPE,
    value: new Uint8Array(),
  },
})

test('of 5,000 hosts a stream looks at those that changed', () => {
  const list = [...Array(5_000).keys()].map((index) => host(index, '1'))
  const all = namedMap(list)
  const delivery = new Delivery(true)
  const first = delivery.changes(all).updated
  expect(first).toEqual(list)
  delivery.sent({ nonce: '1', version: 'a', resources: first, removed: [] })
  delivery.accepted('1')
  expect(delivery.changes(all).updated).toEqual([])
  const now = namedMap(list.with(7, host(7, '2')).toSpliced(4_000, 1), all)
  const looks = vi.spyOn(now, 'get')
  expect(delivery.changes(now)).toEqual({
    updated: [host(7, '2')],
    gone: [list[4_000]?.name],
    lingering: [],
  })
  delivery.sent({
    nonce: '2',
    version: 'b',
    resources: [host(7, '2')],
    removed: [list[4_000]?.name ?? ''],
  })
  delivery.accepted('2')
  expect(delivery.isCurrent(now)).toBe(true)
  expect(looks.mock.calls.length).toBeLessThan(20)
})
