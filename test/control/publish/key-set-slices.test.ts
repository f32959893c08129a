// A policy may have 64 key sets: at most one is read between two yields.

import { expect, onTestFinished, test, vi } from 'vitest'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../../src/control/sources/files/file-record.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import type { Work } from '../../../src/kit/turns.js'
import type { JsonObject } from '../../../src/model/json.js'
import {
  API_GROUP,
  backendRef,
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
} from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

const COUNT = 64

function resourcesWith(jwksOf: (index: number) => object) {
  const providers = Array.from({ length: COUNT }, (_, index) => ({
    issuer: `https://idp.example/${String(index)}`,
    jwks: jwksOf(index),
  }))
  const documents = [
    gateway([8080]),
    proxyBackend('backend', { host: '127.0.0.1', port: 1 }),
    httpRoute('route', { rules: [{ backendRefs: [backendRef('backend')] }] }),
    proxyPolicy('policy', 'route', { jwtAuthentication: { mode: 'Strict', providers } }),
  ]
  const files = documents.map((document) =>
    decodeFile(Buffer.from(JSON.stringify(document)), 'f', kindsOf(API_GROUP)),
  )
  expect(files.flatMap(({ problems }) => problems)).toEqual([])
  return collectResources(files.flatMap((file) => file.resources)).resources
}

/** Runs work to its end. Returns the units done, and the most of them between two yields. */
function measured<T>(work: Work<T>, done: () => number): readonly [all: number, most: number] {
  const start = done()
  for (let most = 0; ;) {
    const before = done()
    const isOver = work.next().done
    most = Math.max(most, done() - before)
    if (isOver === true) return [done() - start, most]
  }
}

test('inline key sets are parsed one at a time, each once', () => {
  const resources = resourcesWith((index) => ({ inline: `{"keys":[],"i":${String(index)}}` }))
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  const work = createTranslator(OPTIONS).translationWork(resources, new Map())
  expect(measured(work, () => parse.mock.calls.length)).toEqual([COUNT, 1])
})

test('fetched key sets are looked through one at a time', () => {
  const resources = resourcesWith((index) => remoteJwks('backend', 1, `/${String(index)}`))
  const translator = createTranslator(OPTIONS)
  const { wanted } = translator.translate(resources, new Map())
  let read = 0
  const documentOf = (): JsonObject =>
    Object.defineProperty({}, 'keys', {
      enumerable: true,
      get: () => {
        read += 1
        return []
      },
    })
  const remote = new Map(
    wanted.map(({ id }) => [id, { document: documentOf(), fetchedAt: 0 }] as const),
  )
  const work = translator.translationWork(resources, remote)
  expect(measured(work, () => read)).toEqual([COUNT, 1])
})
