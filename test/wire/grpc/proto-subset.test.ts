// proto/ is written by hand: every name and number in it must match the official definition, or Envoy and Gatehouse
// misunderstand each other.

import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { DescEnum, DescField, DescMessage, DescService } from '@bufbuild/protobuf'
import { ScalarType } from '@bufbuild/protobuf'
import { beforeAll, describe, expect, test } from 'vitest'
import { registry } from '../../../src/wire/grpc/protos.js'
import type { OfficialDescriptors, OfficialField } from './official-descriptors.js'
import { officialDescriptors } from './official-descriptors.js'

/** Fields of Envoy 1.40 that the newest packaged descriptors do not have yet; a real Envoy accepts them. */
const NEWER: readonly string[] = [
  'envoy.extensions.filters.http.ext_authz.v3.ExtAuthz.shadow_mode',
  'envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor.allow_content_length_header',
]

const ROOT = resolve(import.meta.dirname, '../../../proto')
const files = readdirSync(ROOT, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.proto'))
  .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1))
  .sort()

const isOurs = (desc: { readonly typeName: string }): boolean =>
  !desc.typeName.startsWith('google.protobuf.')

const ours = [...registry].filter(isOurs)
const messages = ours.filter((desc): desc is DescMessage => desc.kind === 'message')
const enums = ours.filter((desc): desc is DescEnum => desc.kind === 'enum')
const services = ours.filter((desc): desc is DescService => desc.kind === 'service')

let official: OfficialDescriptors

beforeAll(() => {
  official = officialDescriptors(files)
}, 180_000)

test('the registry holds every file of proto/', () => {
  const held = new Set(ours.map((desc) => `${desc.file.name}.proto`))
  expect([...held].sort()).toEqual(files)
})

describe('is official:', () => {
  test('every field, with its number, type, label and oneof', () => {
    const mine = fieldsOf((message) => message.fields.map((f) => [f.name, describeField(f)]))
    const theirs = fieldsOf((message) =>
      message.fields.map((f) => [f.name, official.messages[message.typeName]?.[f.name]]),
    )
    expect(mine.size).toBeGreaterThan(800)
    for (const name of NEWER) expect(theirs.get(name)).toBeUndefined()
    for (const name of NEWER) expect(mine.delete(name) && theirs.delete(name)).toBe(true)
    expect(Object.fromEntries(mine)).toEqual(Object.fromEntries(theirs))
  })

  test('every map, with the types of its keys and values', () => {
    const maps = messages.flatMap(({ fields }) => fields.filter((f) => f.fieldKind === 'map'))
    const mine = maps.map((map) => [map.name, scalarName(map.mapKey), valueTypeOf(map)])
    const theirs = maps.map((map) => {
      const entry = official.messages[entryOf(map)]
      return [map.name, entry?.key?.type, entry?.value?.of ?? entry?.value?.type]
    })
    expect(mine.length).toBeGreaterThan(10)
    expect(mine).toEqual(theirs)
  })

  test('every message, with or without fields', () => {
    const unknown = messages.filter(({ typeName }) => official.messages[typeName] === undefined)
    expect(unknown.map(({ typeName }) => typeName)).toEqual([])
  })

  test('every enum value, and each enum is complete', () => {
    const mine = enums.map((desc) => [
      desc.typeName,
      Object.fromEntries(desc.values.map((value) => [value.name, value.number])),
    ])
    const theirs = enums.map(({ typeName }) => [typeName, official.enums[typeName]])
    expect(mine).toEqual(theirs)
  })

  test('every method', () => {
    const methods = services.flatMap((service) => service.methods)
    const mine = methods.map((method) => [
      `${method.parent.typeName}/${method.name}`,
      [
        method.input.typeName,
        method.output.typeName,
        ['client_streaming', 'bidi_streaming'].includes(method.methodKind),
        ['server_streaming', 'bidi_streaming'].includes(method.methodKind),
      ],
    ])
    const theirs = mine.map(([name]) => [name, official.methods[String(name)]])
    expect(mine).toHaveLength(6)
    expect(mine).toEqual(theirs)
  })
})

const fieldsOf = <T>(read: (message: DescMessage) => [string, T][]): Map<string, T> =>
  new Map(
    messages.flatMap((message) =>
      read(message).map(([name, field]) => [`${message.typeName}.${name}`, field] as const),
    ),
  )

const describeField = (field: DescField): OfficialField => ({
  number: field.number,
  ...typeOf(field),
  repeated: field.fieldKind === 'list' || field.fieldKind === 'map',
  oneof: field.oneof?.name ?? null,
})

function typeOf(field: DescField): Pick<OfficialField, 'type' | 'of'> {
  if (field.fieldKind === 'map') return { type: 'message', of: entryOf(field) }
  if (field.message !== undefined) return { type: 'message', of: field.message.typeName }
  if (field.enum !== undefined) return { type: 'enum', of: field.enum.typeName }
  return { type: scalarName(field.scalar), of: null }
}

const scalarName = (scalar: ScalarType): string => ScalarType[scalar].toLowerCase()

/** Protobuf's own name for the message that a map's entries are. */
function entryOf({ name, parent }: DescField): string {
  const words = name.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return `${parent.typeName}.${words.join('')}Entry`
}

const valueTypeOf = (map: DescField & { readonly fieldKind: 'map' }): string =>
  map.message?.typeName ?? map.enum?.typeName ?? scalarName(map.scalar ?? ScalarType.STRING)
