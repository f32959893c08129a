// Encodes the CheckRequest that Envoy would send for a request on a protected route.

import { create, toBinary } from '@bufbuild/protobuf'
import { ROUTE_CONTEXT_KEY } from '../../model/names.js'
import { HeaderMapSchema } from '../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  type AttributeContext_HttpRequestSchema as HttpRequestSchema,
  AttributeContextSchema,
} from '../../wire/grpc/generated/envoy/service/auth/v3/attribute_context_pb.js'
import { CheckRequestSchema } from '../../wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import type { Field } from './routing/client-request.js'
import { headerValue, type RoutedRequest } from './routing/match-route.js'
import { upgradeOf } from './upgrade.js'

/** The parts of a request that Envoy knows in addition to those that routes match. */
export interface CheckFacts {
  /** Key of the AuthzEntry. */
  readonly key: string
  readonly request: RoutedRequest
  /** Scheme of the connection to the listener. */
  readonly scheme: 'http' | 'https'
  /** The client, or the proxy in front of Envoy. */
  readonly sourceAddress: string
  /** --trusted-hops. */
  readonly trustedHops: number
  /** Absent: the route does not send bodies, or there is none. */
  readonly body?: Uint8Array | undefined
}

/** Returns the bytes of the CheckRequest. */
export function checkMessage(facts: CheckFacts): Buffer {
  const { key, request, body } = facts
  const scheme = schemeOf(facts)
  const headers = headersFromEnvoy(facts)
  const http: Parameters<typeof create<typeof HttpRequestSchema>>[1] = {
    method: request.method,
    path: request.target,
    host: request.authority,
    scheme,
    protocol: 'HTTP/1.1',
    headerMap: create(HeaderMapSchema, {
      headers: headers.map(([name, value]) => ({ key: name, rawValue: Buffer.from(value) })),
    }),
    ...(body !== undefined && { rawBody: body }),
  }
  const socketAddress = {
    address: clientAddress(facts),
    portSpecifier: { case: 'portValue' as const, value: 0 },
  }
  const message = create(CheckRequestSchema, {
    attributes: create(AttributeContextSchema, {
      source: { address: { address: { case: 'socketAddress', value: socketAddress } } },
      request: { http },
      contextExtensions: { [ROUTE_CONTEXT_KEY]: key },
    }),
  })
  return Buffer.from(toBinary(CheckRequestSchema, message))
}

/** Returns the client's headers, and those that Envoy sets before it asks. */
export function headersFromEnvoy(facts: Omit<CheckFacts, 'key' | 'body'>): readonly Field[] {
  const { request, sourceAddress, trustedHops } = facts
  const forwardedFor = headerValue(request, 'x-forwarded-for')
  const forwardedProto = headerValue(request, 'x-forwarded-proto')
  const dropped = upgradeOf(request) === undefined ? ONLY_OF_UPGRADES : NONE
  return [
    [':method', request.method],
    [':authority', request.authority],
    [':path', request.target],
    [':scheme', schemeOf(facts)],
    ...request.headers.filter(([name]) => !SET_BY_ENVOY.has(name) && !dropped.has(name)),
    [
      'x-forwarded-for',
      forwardedFor === undefined ? sourceAddress : `${forwardedFor},${sourceAddress}`,
    ],
    ['x-forwarded-proto', (trustedHops > 0 ? forwardedProto : undefined) ?? facts.scheme],
  ]
}

const SET_BY_ENVOY = new Set(['host', 'x-forwarded-for', 'x-forwarded-proto'])
/** Headers that Envoy removes unless the request is an upgrade. */
const ONLY_OF_UPGRADES: ReadonlySet<string> = new Set(['connection', 'upgrade'])
const NONE: ReadonlySet<string> = new Set()

/** Returns the scheme that trusted proxies report; without them, that of the connection. */
function schemeOf({ request, scheme, trustedHops }: Omit<CheckFacts, 'key' | 'body'>): string {
  const forwarded = trustedHops > 0 ? headerValue(request, 'x-forwarded-proto') : undefined
  return forwarded === 'http' || forwarded === 'https' ? forwarded : scheme
}

/** Returns the client's address; with trusted proxies, the one that the last of them names. */
function clientAddress({ request, sourceAddress, trustedHops }: CheckFacts): string {
  if (trustedHops === 0) return sourceAddress
  const list = headerValue(request, 'x-forwarded-for')?.split(',') ?? []
  return list[list.length - trustedHops]?.trim() ?? sourceAddress
}
