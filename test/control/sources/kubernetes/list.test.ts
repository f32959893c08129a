// Lists with objects of a megabyte, which anyone who may write a Service can make: they are read, in smaller pages.

import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { listAll } from '../../../../src/control/sources/kubernetes/list.js'
import type { JsonObject } from '../../../../src/model/json.js'
import { clientOfStub } from '../../../support/stub-api-server.js'

const PATH = '/api/v1/services'
const ALL = { fieldSelector: undefined, labelSelector: undefined }
const MEGABYTE = 1024 * 1024

const serviceOf = (index: number, bytes: number): JsonObject => ({
  metadata: { name: `service-${String(index)}`, annotations: { note: 'x'.repeat(bytes) } },
})

/** What a list asked for, and how much of the answers the client has taken. */
interface Asked {
  readonly limits: number[]
  readonly selectors: (string | null)[]
}

/** A client of an API server with these objects, which it lists from the index that a continue token says. */
async function clientOf(objects: readonly JsonObject[]) {
  const asked: Asked = { limits: [], selectors: [] }
  const client = await clientOfStub(({ url = '' }, response) => {
    const { searchParams } = new URL(url, 'http://stub')
    const limit = Number(searchParams.get('limit'))
    const from = Number(searchParams.get('continue') ?? 0)
    asked.limits.push(limit)
    asked.selectors.push(searchParams.get('labelSelector'))
    const next = from + limit
    send(response, {
      items: objects.slice(from, next),
      metadata: { resourceVersion: '7', continue: next < objects.length ? String(next) : '' },
    })
  })
  return { client, asked }
}

function send(response: ServerResponse, body: JsonObject): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

const namesOf = (items: readonly { metadata?: { name?: string } }[]) =>
  items.map(({ metadata }) => metadata?.name)

const nameList = (count: number) =>
  Array.from({ length: count }, (_, index) => `service-${String(index)}`)

describe('a list', () => {
  test('of small objects is read 500 at a time', async () => {
    const { client, asked } = await clientOf(
      nameList(1_200).map((_, index) => serviceOf(index, 1_000)),
    )
    const { items, metadata } = await listAll(client, PATH, { ...ALL, labelSelector: 'a=b' })
    expect(namesOf(items)).toEqual(nameList(1_200))
    expect(metadata).toEqual({ resourceVersion: '7' })
    expect(asked).toEqual({ limits: [500, 500, 500], selectors: ['a=b', 'a=b', 'a=b'] })
  })

  test('of more than an answer may hold is read whole, in order, and each object once', async () => {
    const { client } = await clientOf(nameList(140).map((_, index) => serviceOf(index, MEGABYTE)))
    const { items } = await listAll(client, PATH, ALL)
    expect(namesOf(items)).toEqual(nameList(140))
  })

  test('asks for more at a time again after large objects', async () => {
    const { client, asked } = await clientOf([
      ...nameList(10).map((_, index) => serviceOf(index, MEGABYTE)),
      ...nameList(1_000).map((_, index) => serviceOf(10 + index, 100)),
    ])
    const { items } = await listAll(client, PATH, ALL)
    expect(namesOf(items)).toEqual(nameList(1_010))
    expect(Math.min(...asked.limits)).toBe(1)
    expect(asked.limits.at(-1)).toBeGreaterThan(100)
    expect(asked.limits.length).toBeLessThan(40)
  })

  test('takes objects of any size that the API server stores', async () => {
    const { client } = await clientOf([serviceOf(0, 9 * MEGABYTE), serviceOf(1, 10)])
    const { items } = await listAll(client, PATH, ALL)
    expect(namesOf(items)).toEqual(nameList(2))
  })

  test('fails with any other error at once', async () => {
    const client = await clientOfStub((_, response) => {
      response.writeHead(410)
      response.end('{"message":"the continue token has expired"}')
    })
    await expect(listAll(client, PATH, ALL)).rejects.toMatchObject({
      status: 410,
      message: 'HTTP 410: the continue token has expired',
    })
  })
})
