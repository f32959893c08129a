// The cost of one of thousands of resources to a stream that has the others: how many of them are examined.

import { expect, test, vi } from 'vitest'
import { namedMap } from '../../../src/kit/incremental/named-map.js'
import type { EncodedResource } from '../../../src/xds/encode/encode.js'
import { ENDPOINT_TYPE, VIRTUAL_HOST_TYPE } from '../../../src/xds/encode/type-urls.js'
import { Delivery } from '../../../src/xds/server/delivery.js'
import { SharedViews } from '../../../src/xds/server/shared-views.js'
import { TypeStream } from '../../../src/xds/server/type-stream.js'

const host = (index: number, version: string): EncodedResource => ({
  typeUrl: VIRTUAL_HOST_TYPE,
  name: `r/${String(index).padStart(5, '0')}.example`,
  version,
  parts: [],
})

test('of 5,000 hosts a stream looks at those that changed', () => {
  const list = [...Array(5_000).keys()].map((index) => host(index, '1'))
  const all = namedMap(list)
  const delivery = new Delivery(true, new SharedViews())
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

test('streams that name all resources share what they want, and one that names some has these', () => {
  const list = [...Array(100).keys()].map((index) => host(index, '1'))
  const all = namedMap(list)
  const views = new SharedViews()
  const streamOf = (...names: readonly string[]): TypeStream => {
    const stream = new TypeStream(ENDPOINT_TYPE, 'incremental', views)
    stream.subscription.change(names, [])
    return stream
  }
  const [one, other] = [1, 2].map(() => streamOf(...list.map(({ name }) => name).reverse()))
  expect(one?.wanted(all)).toBe(all)
  expect(other?.wanted(all)).toBe(all)
  expect(one?.subscription.names).toBe(other?.subscription.names)
  one?.subscription.change([], [list[3]?.name ?? ''])
  const fewer = list.toSpliced(3, 1)
  expect([...(one?.wanted(all).values() ?? [])]).toEqual(fewer)
  expect(other?.wanted(all)).toBe(all)
  const some = streamOf(list[50]?.name ?? '', 'unknown', list[2]?.name ?? '')
  expect([...some.wanted(all).values()]).toEqual([list[2], list[50]])
  expect(other?.wanted(namedMap(fewer, all)).size).toBe(99)
  expect(other?.wanted(all)).toBe(all)
})

test('a first response that leaves something out has it in the next', () => {
  const list = [host(1, '1'), host(2, '1'), host(3, '1')]
  const all = namedMap(list)
  const delivery = new Delivery(true, new SharedViews())
  expect(delivery.changes(all).updated).toEqual(list)
  delivery.sent({ nonce: '1', version: 'a', resources: list.slice(0, 2), removed: [] })
  expect(delivery.changes(all).updated).toEqual(list.slice(2))
})
