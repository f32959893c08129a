// Helpers for tests of ext_authz: a provider that signs tokens, table entries, requests as Envoy encodes them, and
// decoded answers.

import { create, fromBinary, type JsonObject as ProtoJson, toBinary } from '@bufbuild/protobuf'
import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import type { AuthzTable } from '../../src/extauthz/authz-table.js'
import { buildAuthzTable } from '../../src/extauthz/authz-table.js'
import { lazyValue } from '../../src/extauthz/cel/attributes.js'
import { createCheck } from '../../src/extauthz/check.js'
import type { CheckCall, CheckOptions } from '../../src/extauthz/check-context.js'
import type { Claims } from '../../src/extauthz/token/claims.js'
import type { AuthzEntry, JwtAuthentication, JwtProvider } from '../../src/model/authz-entry.js'
import type { JsonObject } from '../../src/model/json.js'
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction as AppendAction,
} from '../../src/wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  CheckRequestSchema,
  CheckResponseSchema,
} from '../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'

export const ISSUER = 'https://idp.example/application/o/mcp/'
export const AUDIENCE = 'mcp-client'
/** The time of all tests, seconds since the epoch. */
export const NOW = 1_800_000_000

export interface SigningKey {
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

export async function signingKey(
  alg = 'RS256',
  kid: string | null = 'k1',
  more: { readonly modulusLength?: number } = {},
): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true, ...more })
  const jwk = { ...(await exportJWK(publicKey)), alg, use: 'sig', ...(kid !== null && { kid }) }
  return { privateKey, jwk }
}

export const CLAIMS = { iss: ISSUER, aud: AUDIENCE, sub: 'alice', exp: NOW + 600 }

/** claims and header replace or, when undefined, remove the usual ones. */
export function sign(key: SigningKey, claims: object = {}, header: object = {}): Promise<string> {
  const { alg = 'RS256', kid } = key.jwk
  const payload = JSON.parse(JSON.stringify({ ...CLAIMS, ...claims })) as Record<string, unknown>
  return new SignJWT(payload)
    .setProtectedHeader({ alg, ...(kid !== undefined && { kid }), ...header })
    .sign(key.privateKey)
}

/** Signs a payload as it is written. */
export const signText = ({ jwk, privateKey }: SigningKey, payload: string): Promise<string> =>
  new CompactSign(Buffer.from(payload))
    .setProtectedHeader({ alg: 'RS256', ...(jwk.kid !== undefined && { kid: jwk.kid }) })
    .sign(privateKey)

export const base64url = (value: string | object): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** The claims of a token whose payload is this JSON. */
export const claimsOf = (json: JsonObject): Claims => lazyValue(json, JSON.stringify(json))

export const available = (...keys: readonly object[]): JwtProvider['keySet'] => ({
  state: 'available',
  source: { type: 'remote', id: 'set-1', url: 'https://idp.example/jwks' },
  jwks: { keys: JSON.parse(JSON.stringify(keys)) as readonly JsonObject[] },
})

export const UNAVAILABLE: JwtProvider['keySet'] = {
  state: 'unavailable',
  source: { type: 'remote', id: 'set-1', url: 'https://idp.example/jwks' },
}

export const provider = (
  keySet: JwtProvider['keySet'],
  rest: Partial<JwtProvider> = {},
): JwtProvider => ({ issuer: ISSUER, audiences: [AUDIENCE], keySet, ...rest })

export const jwt = (
  keySet: JwtProvider['keySet'],
  rest: Partial<JwtAuthentication> = {},
): JwtAuthentication => ({
  mode: 'Strict',
  providers: [provider(keySet)],
  forwardToken: false,
  ...rest,
})

export const KEY = 'default/mcp/0'

export const entry = (rest: Partial<AuthzEntry>): AuthzEntry => ({
  key: KEY,
  route: 'default/mcp',
  paths: [{ type: 'PathPrefix', value: '/mcp' }],
  challenge: { paths: { mcpPath: '/mcp' }, details: false, scopes: [] },
  ...rest,
})

export interface TestRequest {
  readonly key?: string | null
  /** Whether only the headers are checked, before the body. */
  readonly isHead?: true
  readonly path?: string
  readonly method?: string
  readonly host?: string
  readonly scheme?: string
  /** Headers in order, repeated names allowed; sent in the raw form, or in Envoy's joined map. */
  readonly headers?: readonly (readonly [string, string])[]
  readonly raw?: boolean
  readonly address?: string
  readonly body?: string | Uint8Array
}

export function checkRequest(request: TestRequest): Buffer {
  const headers = request.headers ?? []
  const raw = request.raw ?? true
  const key = request.key === undefined ? KEY : request.key
  return Buffer.from(
    toBinary(
      CheckRequestSchema,
      create(CheckRequestSchema, {
        attributes: {
          contextExtensions: {
            ...(key !== null && { 'gatehouse.route': key }),
            ...(request.isHead && { 'gatehouse.head': 'true' }),
          },
          ...(request.address !== undefined && {
            source: {
              address: {
                address: {
                  case: 'socketAddress',
                  value: {
                    address: request.address,
                    portSpecifier: { case: 'portValue', value: 4711 },
                  },
                },
              },
            },
          }),
          request: {
            http: {
              method: request.method ?? 'POST',
              path: request.path ?? '/mcp',
              host: request.host ?? 'gw.example',
              scheme: request.scheme ?? 'https',
              protocol: 'HTTP/1.1',
              ...(request.body !== undefined && { rawBody: Buffer.from(request.body) }),
              ...(raw
                ? {
                    headerMap: {
                      headers: headers.map(([name, value]) => ({
                        key: name,
                        rawValue: Buffer.from(value),
                      })),
                    },
                  }
                : { headers: Object.fromEntries(headers) }),
            },
          },
        },
      }),
    ),
  )
}

export interface TestAnswer {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
  readonly removed: readonly string[]
  /** Headers for the backend, and for the client: name, value, and whether an existing value is kept. */
  readonly set: readonly HeaderChange[]
  readonly answered: readonly HeaderChange[]
  readonly metadata: ProtoJson | undefined
}

export type HeaderChange = readonly [name: string, value: string, how: 'replaces' | 'appends']

const changes = (options: readonly HeaderValueOption[]): readonly HeaderChange[] =>
  options.map(({ header, append, appendAction }) => [
    header?.key ?? '',
    header?.value ?? '',
    append !== true && appendAction === AppendAction.OVERWRITE_IF_EXISTS_OR_ADD
      ? 'replaces'
      : 'appends',
  ])

/** status 200: allowed. */
export function readAnswer(bytes: Uint8Array): TestAnswer {
  const response = fromBinary(CheckResponseSchema, bytes)
  const { httpResponse, dynamicMetadata: metadata } = response
  if (httpResponse.case === 'okResponse')
    return {
      status: response.status?.code === 0 ? 200 : 599,
      headers: {},
      body: '',
      removed: httpResponse.value.headersToRemove,
      set: changes(httpResponse.value.headers),
      answered: changes(httpResponse.value.responseHeadersToAdd),
      metadata,
    }
  const denied = httpResponse.case === 'deniedResponse' ? httpResponse.value : undefined
  const headers = (denied?.headers ?? []).map(({ header }) => [header?.key, header?.value])
  return {
    status: response.status?.code === 0 ? 598 : (denied?.status?.code ?? 597),
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: denied?.body ?? '',
    removed: [],
    set: [],
    answered: [],
    // The metadata of a refusal is for Envoy alone: this is what a client sees.
    metadata: undefined,
  }
}

export const FREE_CALL: CheckCall = { isCancelled: () => false, deadline: Infinity }

export interface Observed {
  readonly decisions: { route: string; decision: string; reason: string }[]
  /** Decisions of policies of mode Audit. */
  readonly audited: { route: string; decision: string; reason: string }[]
  readonly lines: unknown[]
}

export function checker(
  entries: readonly AuthzEntry[] | (() => AuthzTable),
  options: Partial<CheckOptions> = {},
): {
  readonly check: (request: TestRequest | Buffer, call?: CheckCall) => Promise<TestAnswer>
  readonly observed: Observed
} {
  const built = typeof entries === 'function' ? entries : constant(buildAuthzTable(entries))
  const observed: Observed = { decisions: [], audited: [], lines: [] }
  const line = (fields: object, message: string): void => {
    observed.lines.push({ ...fields, message })
  }
  const check = createCheck({
    table: built,
    refetchKeySet: () => Promise.resolve({ isAnswered: true, isOlder: false }),
    keySetAnswers: () => 1,
    now: () => NOW * 1000,
    logger: { debug: line, info: line, warn: line, error: line },
    metrics: {
      observe: (route, decision, reason) => observed.decisions.push({ route, decision, reason }),
      audited: (route, decision, reason) => observed.audited.push({ route, decision, reason }),
    },
    ...options,
  })
  return {
    observed,
    check: async (request, call = FREE_CALL) =>
      readAnswer(await check(Buffer.isBuffer(request) ? request : checkRequest(request), call)),
  }
}

const constant =
  <T>(value: T) =>
  (): T =>
    value

export const bearer = (token: string): readonly [string, string] => [
  'authorization',
  `Bearer ${token}`,
]
