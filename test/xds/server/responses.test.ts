// Responses assembled from parts equal the message encoded as a whole, and large resources are not copied.

import { create, equals, fromBinary, toBinary } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
} from '../../../src/wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import type { EncodedResource } from '../../../src/xds/encode/encode.js'
import { VIRTUAL_HOST_TYPE } from '../../../src/xds/encode/type-urls.js'
import { createResponseEncoders } from '../../../src/xds/server/responses.js'

const PART = 100_000

const resource = (name: string, length: number): EncodedResource => ({
  typeUrl: VIRTUAL_HOST_TYPE,
  name,
  version: `v-${name}`,
  // In parts of up to 100,000 bytes.
  parts: [...Array(Math.ceil(length / PART)).keys()].map((index) =>
    new Uint8Array(Math.min(PART, length - index * PART)).fill((index + length) % 251),
  ),
})

const resources = [
  resource('none', 0),
  resource('short', 100),
  resource('large', 300_000),
  resource('last', 20_000),
]
const push = {
  typeUrl: VIRTUAL_HOST_TYPE,
  version: '7',
  nonce: '3',
  resources,
  fresh: [],
  changed: [],
  removed: ['gone'],
}
const { of } = createResponseEncoders()

test('an incremental response is what it is as one message', () => {
  const whole = toBinary(
    DeltaDiscoveryResponseSchema,
    create(DeltaDiscoveryResponseSchema, {
      typeUrl: VIRTUAL_HOST_TYPE,
      systemVersionInfo: '7',
      nonce: '3',
      resources: resources.map(({ name, version, typeUrl, parts }) => ({
        name,
        version,
        resource: create(AnySchema, { typeUrl, value: Buffer.concat(parts) }),
      })),
      removedResources: ['gone'],
    }),
  )
  const read = fromBinary(
    DeltaDiscoveryResponseSchema,
    Uint8Array.from(Buffer.concat(of.incremental(push))),
  )
  expect(
    equals(DeltaDiscoveryResponseSchema, read, fromBinary(DeltaDiscoveryResponseSchema, whole)),
  ).toBe(true)
})

test('a state of the world is what it is as one message', () => {
  const parts = of['state-of-the-world'](push)
  const { resources: read, versionInfo } = fromBinary(DiscoveryResponseSchema, Buffer.concat(parts))
  expect(versionInfo).toBe('7')
  expect(read.map(({ typeUrl }) => typeUrl)).toEqual(resources.map(() => VIRTUAL_HOST_TYPE))
  expect(read.map(({ value }) => Buffer.from(value))).toEqual(
    resources.map(({ parts }) => Buffer.concat(parts)),
  )
})

test('a large resource is sent from where its parts are, and short ones together', () => {
  const parts = of.incremental(push)
  const lengths = parts.map(({ length }) => length)
  // The response's own fields, what precedes the large one, its parts, what precedes the last one, and that.
  expect(lengths.slice(2, 5)).toEqual([PART, PART, PART])
  expect(lengths).toHaveLength(7)
  const [, , large, last] = resources
  const shared = [...(large?.parts ?? []), ...(last?.parts ?? [])].map(({ buffer }) => buffer)
  expect(parts.filter(({ buffer }) => shared.includes(buffer))).toHaveLength(4)
})
