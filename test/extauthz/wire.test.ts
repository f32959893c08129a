// The hand-written codec of Envoy's messages agrees with the generated code for any message, and no input makes a check
// throw or allow a request.

import { create, fromBinary, toBinary, toJson } from '@bufbuild/protobuf'
import { ValueSchema } from '@bufbuild/protobuf/wkt'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { openCheckRequest, readCheckRequest, readSource } from '../../src/extauthz/check-request.js'
import { encodeDecision } from '../../src/extauthz/check-response.js'
import { refuseOrigin } from '../../src/extauthz/decision.js'
import { HeaderNames } from '../../src/extauthz/header-names.js'
import type { JsonObject } from '../../src/model/json.js'
import type { HeaderValueOption } from '../../src/wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  CheckRequestSchema,
  CheckResponseSchema,
} from '../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import { runs } from '../support/runs.js'
import {
  available,
  checker,
  checkRequest,
  claimsOf,
  entry,
  jwt,
  KEY,
  type SigningKey,
  signingKey,
} from './helpers.js'

const text = fc.string({ unit: 'binary', maxLength: 20 })
const lower = fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/)

const message = fc.record({
  key: fc.option(text, { nil: undefined }),
  extras: fc.dictionary(lower, text),
  method: text,
  path: text,
  host: text,
  scheme: text,
  protocol: text,
  query: text,
  body: text,
  size: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  headers: fc.dictionary(lower, text),
  raw: fc.array(fc.tuple(lower, text), { maxLength: 5 }),
  address: fc.option(text, { nil: undefined }),
  port: fc.nat(65535),
})

const encode = (m: typeof message extends fc.Arbitrary<infer T> ? T : never): Uint8Array =>
  toBinary(
    CheckRequestSchema,
    create(CheckRequestSchema, {
      attributes: {
        contextExtensions: {
          ...m.extras,
          ...(m.key !== undefined && { 'gatehouse.route': m.key }),
        },
        destination: { principal: m.body, service: m.query },
        source: {
          principal: m.query,
          ...(m.address !== undefined && {
            address: {
              address: {
                case: 'socketAddress',
                value: { address: m.address, portSpecifier: { case: 'portValue', value: m.port } },
              },
            },
          }),
        },
        request: {
          time: { seconds: 12n, nanos: 5 },
          http: {
            id: m.query,
            method: m.method,
            path: m.path,
            host: m.host,
            scheme: m.scheme,
            protocol: m.protocol,
            query: m.query,
            body: m.body,
            size: m.size,
            rawBody: Buffer.from(m.body),
            headers: m.headers,
            headerMap: {
              headers: m.raw.map(([key, value]) => ({ key, rawValue: Buffer.from(value) })),
            },
          },
        },
      },
    }),
  )

describe('a CheckRequest', () => {
  test('is read as the generated decoder reads it', () => {
    fc.assert(
      fc.property(message, (m) => {
        const bytes = encode(m)
        const attributes = fromBinary(CheckRequestSchema, bytes).attributes
        const http = attributes?.request?.http
        const envelope = openCheckRequest(Buffer.from(bytes))
        const request = readCheckRequest(envelope, new HeaderNames('all'))
        expect(envelope.key).toBe(attributes?.contextExtensions['gatehouse.route'])
        expect(request).toMatchObject({
          method: http?.method,
          path: http?.path,
          host: http?.host,
          scheme: http?.scheme,
          protocol: http?.protocol,
        })
        const all: Record<string, string[]> = {}
        for (const [name, value] of Object.entries(http?.headers ?? {}))
          (all[name] ??= []).push(value)
        for (const { key, rawValue } of http?.headerMap?.headers ?? [])
          (all[key] ??= []).push(Buffer.from(rawValue).toString('utf8'))
        expect(
          Object.fromEntries([...request.headers].map(([name, value]) => [name, [value].flat()])),
        ).toEqual(all)
        const expected =
          m.address === undefined || m.address === ''
            ? undefined
            : { address: m.address, port: m.port }
        expect(readSource(envelope)).toEqual(expected)
      }),
      { numRuns: runs(300) },
    )
  })

  test('has no third field in an entry of its headers', () => {
    const inner = (field: number, ...bytes: number[]): number[] => [
      (field << 3) | 2,
      bytes.length,
      ...bytes,
    ]
    const entry = inner(3, ...inner(1, 0x61), ...inner(2, 0x62), ...inner(3, 0x63))
    const bytes = Buffer.from(inner(1, ...inner(4, ...inner(2, ...entry))))
    expect(fromBinary(CheckRequestSchema, bytes).attributes?.request?.http?.headers).toEqual({
      a: 'b',
    })
    const { headers } = readCheckRequest(openCheckRequest(bytes), new HeaderNames('all'))
    expect(Object.fromEntries(headers)).toEqual({ a: 'b' })
  })

  test('gives only the headers that were asked for', () => {
    const bytes = checkRequest({
      headers: [
        ['x-a', '1'],
        ['x-b', '2'],
        ['X-C', '3'],
        ['x-long', '4'],
      ],
    })
    const request = readCheckRequest(openCheckRequest(bytes), new HeaderNames(['x-a', 'x-c']))
    expect([...request.headers]).toEqual([
      ['x-a', '1'],
      ['x-c', '3'],
    ])
  })

  test('with a header that was sent a hundred thousand times is read within a test', () => {
    const headers = Array.from({ length: 100_000 }, (): [string, string] => ['x-a', '1'])
    const envelope = openCheckRequest(checkRequest({ headers }))
    const request = readCheckRequest(envelope, new HeaderNames('all'))
    expect(request.headers.get('x-a')).toHaveLength(100_000)
  })

  test('that comes in two halves is read as one', () => {
    const first = checkRequest({ path: '/first', headers: [['x-a', '1']] })
    const second = checkRequest({ key: null, path: '/second', headers: [['x-a', '2']] })
    const envelope = openCheckRequest(Buffer.concat([first, second]))
    expect(envelope.key).toBe(KEY)
    const request = readCheckRequest(envelope, new HeaderNames('all'))
    expect(request.path).toBe('/second')
    expect(request.headers.get('x-a')).toEqual(['1', '2'])
  })

  test('that is cut off anywhere is an error or a shorter message, never more', () => {
    const whole = checkRequest({ address: '10.0.0.1', headers: [['x-a', '1']] })
    for (let end = 0; end < whole.length; end++) {
      try {
        expect(openCheckRequest(whole.subarray(0, end)).key).toBeUndefined()
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
      }
    }
  })
})

describe('a CheckResponse', () => {
  test('carries any claims as the generated decoder reads them', () => {
    fc.assert(
      fc.property(
        fc.dictionary(text, fc.jsonValue({ maxDepth: 6, noUnicodeString: false })),
        (claims) => {
          const json = JSON.parse(JSON.stringify(claims)) as JsonObject
          const token = { claims: claimsOf(json), until: 0, size: 0, isKept: true, allowed: {} }
          const bytes = encodeDecision({ type: 'allow', reason: 'allowed', token }, false)
          const { dynamicMetadata, status, httpResponse } = fromBinary(CheckResponseSchema, bytes)
          expect(status?.code).toBe(0)
          expect(httpResponse.case).toBe('okResponse')
          const wellFormed = JSON.parse(
            JSON.stringify(json).replaceAll(/\\ud[89a-f][0-9a-f]{2}/g, '\\ufffd'),
          ) as JsonObject
          const said = JSON.parse(JSON.stringify(dynamicMetadata)) as JsonObject
          expect(said['jwt']).toEqual(JSON.parse(JSON.stringify(wellFormed)))
        },
      ),
      { numRuns: runs(300) },
    )
  })

  test('carries any headers and keys as the generated decoder reads them', () => {
    const field = fc.tuple(lower, fc.string({ unit: 'grapheme', maxLength: 300 }))
    const fields = fc.array(field, { maxLength: 4 })
    const values = fc.record({
      limitKeys: fc.dictionary(lower, text, { noNullPrototype: true }),
      requestSet: fields,
      requestAppend: fields,
      responseSet: fields,
      requestRemove: fc.array(lower, { maxLength: 4 }),
    })
    const replacing = (all: readonly (readonly [string, string])[]) =>
      all.map(([name, value]) => [name, value, false, 2])
    const appending = (all: readonly (readonly [string, string])[]) =>
      all.map(([name, value]) => [name, value, true, 0])
    const read = (all: readonly HeaderValueOption[]) =>
      all.map(({ header, append = false, appendAction }) => [
        header?.key,
        header?.value,
        append,
        appendAction,
      ])
    const sorted = (all: readonly unknown[]): readonly string[] =>
      all.map((one) => JSON.stringify(one)).sort()
    fc.assert(
      fc.property(values, fc.boolean(), (some, forwardToken) => {
        const decision = { type: 'allow', reason: 'allowed', values: some } as const
        const answer = fromBinary(CheckResponseSchema, encodeDecision(decision, forwardToken))
        if (answer.httpResponse.case !== 'okResponse') throw new Error('refused')
        const { headers, headersToRemove, responseHeadersToAdd } = answer.httpResponse.value
        const { requestSet, requestAppend, requestRemove, responseSet } = some
        expect(sorted(read(headers))).toEqual(
          sorted([...replacing(requestSet), ...appending(requestAppend)]),
        )
        expect(sorted(read(responseHeadersToAdd))).toEqual(sorted(replacing(responseSet)))
        for (const name of requestRemove) expect(headersToRemove).toContain(name)
        expect(headersToRemove.includes('authorization')).toBe(
          !forwardToken || requestRemove.includes('authorization'),
        )
        expect(answer.dynamicMetadata).toEqual({ limits: some.limitKeys })
      }),
      { numRuns: runs(300) },
    )
  })

  test('is whole however large the claims are, and stays so when the next one is written', () => {
    const encoded = (name: string, length: number) => {
      const claims: JsonObject = {
        [name]: name.repeat(length),
        list: Array<string>(length).fill(name),
      }
      const token = { claims: claimsOf(claims), until: 0, size: 0, isKept: true, allowed: {} }
      return [claims, encodeDecision({ type: 'allow', reason: 'allowed', token }, true)] as const
    }
    const all = [1, 127, 128, 16_383, 16_384, 100_000, 3].map((length) => encoded('é', length))
    for (const [claims, bytes] of all)
      expect(fromBinary(CheckResponseSchema, bytes).dynamicMetadata).toEqual({ jwt: claims })
  })

  test('marks what is let in on a sealed route, and nothing else', () => {
    const token = { claims: claimsOf({ sub: 'a' }), until: 0, size: 0, isKept: true, allowed: {} }
    const marks = (bytes: Uint8Array) => {
      const { httpResponse } = fromBinary(CheckResponseSchema, bytes)
      return httpResponse.case === undefined
        ? undefined
        : httpResponse.value.headers.flatMap(({ header, appendAction }) =>
            header?.key === 'x-gatehouse-passed' ? [[header.value, appendAction]] : [],
          )
    }
    const allowed = { type: 'allow', reason: 'allowed', token } as const
    expect(marks(encodeDecision(allowed, false, 'the-seal'))).toEqual([['the-seal', 2]])
    expect(marks(encodeDecision(allowed, false))).toEqual([])
    expect(marks(encodeDecision(refuseOrigin, false, 'the-seal'))).toEqual([])
  })

  test('gives the reason of a refusal to Envoy only', () => {
    const response = fromBinary(CheckResponseSchema, encodeDecision(refuseOrigin, false))
    expect(response.dynamicMetadata).toEqual({ reason: 'origin-not-allowed' })
    expect(JSON.stringify(response.httpResponse)).not.toContain('origin-not-allowed')
  })

  test('writes every kind of value as google.protobuf.Value has it', () => {
    const claims = {
      n: null,
      t: true,
      f: false,
      i: 1,
      d: -1.5,
      s: 'é',
      l: [1, [], {}],
      o: { a: {} },
    }
    const token = { claims: claimsOf(claims), until: 0, size: 0, isKept: true, allowed: {} }
    const bytes = encodeDecision({ type: 'allow', reason: 'allowed', token }, false)
    expect(fromBinary(CheckResponseSchema, bytes).dynamicMetadata).toEqual({ jwt: claims })
    expect(
      toJson(ValueSchema, create(ValueSchema, { kind: { case: 'nullValue', value: 0 } })),
    ).toBeNull()
  })
})

describe('whatever the bytes', () => {
  let key: SigningKey
  beforeAll(async () => {
    key = await signingKey()
  })

  test('a check answers and allows nothing', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        expect((await check(Buffer.from(bytes))).status).toBe(503)
      }),
      { numRuns: runs(500) },
    )
  })

  test('a check of altered but plausible messages answers and allows nothing', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const whole = checkRequest({ headers: [['authorization', 'Bearer aaaa.bbbb.cccc']] })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 4 }),
        async (changes) => {
          const bytes = Buffer.from(whole)
          for (const [at, value] of changes) bytes[at] = value
          expect((await check(bytes)).status).toBeGreaterThanOrEqual(400)
        },
      ),
      { numRuns: runs(1000) },
    )
  })

  test('no header, host or path is allowed', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const header = fc.tuple(
      fc.constantFrom('authorization', 'Authorization', 'cookie', 'x-forwarded-proto'),
      fc.oneof(
        text,
        text.map((t) => `Bearer ${t}`),
        fc
          .array(fc.base64String(), { minLength: 3, maxLength: 3 })
          .map((p) => `Bearer ${p.join('.')}`),
      ),
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(header, { maxLength: 3 }),
        text,
        fc.oneof(fc.constant('/mcp'), text),
        fc.boolean(),
        async (headers, host, path, raw) => {
          const answer = await check({ headers, host, path, raw })
          expect([400, 401, 403]).toContain(answer.status)
          expect(answer.headers['www-authenticate'] ?? 'Bearer').toMatch(
            /^Bearer( resource_metadata="https:\/\/[^"\s]+")?$/,
          )
        },
      ),
      { numRuns: runs(500) },
    )
  })
})
