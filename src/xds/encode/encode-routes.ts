// Encodes route configurations and virtual hosts from the bytes of their parts. Most of thousands of routes stay as
// they are, and a protobuf message is the concatenation of its fields in any order.

import { create } from '@bufbuild/protobuf'
import { type Chunk, createChunker } from '../../kit/incremental/chunked-list.js'
import { memo } from '../../kit/incremental/memo.js'
import { mapEach, type Work } from '../../kit/turns.js'
import {
  type Route,
  RouteSchema,
  type VirtualHost,
  VirtualHostSchema,
} from '../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import {
  type RouteConfiguration,
  RouteConfigurationSchema,
} from '../../wire/grpc/generated/envoy/config/route/v3/route_pb.js'
import { encodedElementsOf, encodedStringOf, joinFields } from './elements.js'
import { encode, type Encoded, type EncodedResource, hashOf, resourceOf } from './encode.js'

/** The bytes of one route. */
export interface EncodedRoute extends Encoded {
  readonly name: string
  /** The route without its name, if other hosts have the same; absent if it is the only one. */
  readonly unnamed?: Encoded
}

/** envoy.config.route.v3.VirtualHost: a separate resource (VHDS), or a part of its route configuration. */
export interface EncodedHost {
  readonly resource: EncodedResource
  /** The message without its routes. */
  readonly own: Encoded
  readonly routes: readonly Chunk<EncodedRoute>[]
}

/** A route configuration with its virtual hosts, as bytes. */
export interface EncodedRoutes {
  readonly name: string
  readonly hosts: readonly Chunk<EncodedHost>[]
  /**
   * Without virtual hosts: Envoy fetches them by the configuration's name (VHDS), and a change sends only that host.
   */
  readonly split: EncodedResource
  /** What Envoy fetches for split: the hosts, or if there are none, one that has no routes. */
  readonly fetched: readonly Chunk<EncodedHost>[]
  /** With the virtual hosts. Built on demand, as it is large and most Envoys never need it. */
  readonly whole: () => EncodedResource
}

/** Encodes one route. */
export function encodeRoute(route: Route): EncodedRoute {
  return { ...encode(RouteSchema, route, route.name), name: route.name }
}

/** Gives a name to an encoded route that has none, without encoding it again. */
export const withName = (unnamed: Encoded, name: string): EncodedRoute => ({
  parts: [...unnamed.parts, ...encodedName(name)],
  version: hashOf(`${unnamed.version} ${name}`),
  name,
  unnamed,
})

const encodedName = encodedStringOf(RouteSchema, 'name')

/** Encodes virtual hosts and route configurations from encoded routes. */
export interface RoutesEncoder {
  /** Encodes a virtual host. host has no routes; they are appended. */
  readonly encodeHost: (host: VirtualHost, routes: readonly EncodedRoute[]) => Work<EncodedHost>
  /** Encodes a route configuration, which has no virtual hosts yet; vhds says where to fetch them. */
  readonly encodeRoutes: (
    configuration: RouteConfiguration,
    vhds: RouteConfiguration['vhds'],
    hosts: readonly Chunk<EncodedHost>[],
  ) => EncodedRoutes
}

/** Creates the encoder of one translator, which memoises the bytes of chunks. */
export function createRoutesEncoder(): RoutesEncoder {
  const chunksOf = createChunker<EncodedRoute>(({ name }) => name)
  const routeElements = memo((routes: Chunk<EncodedRoute>) => elementsOfHost(routes))
  const hostElements = memo((hosts: Chunk<EncodedHost>) =>
    elementsOfConfiguration(hosts.map(({ resource }) => resource)),
  )
  return {
    *encodeHost(host, routes) {
      const chunks = chunksOf(routes)
      const own = encode(VirtualHostSchema, host, host.name)
      const all = joinFields(own, yield* mapEach(chunks, routeElements))
      return { resource: resourceOf(VirtualHostSchema, host.name, all), own, routes: chunks }
    },
    encodeRoutes(configuration, vhds, hosts) {
      const { name } = configuration
      const encodeOwn = (own: RouteConfiguration): Encoded =>
        encode(RouteConfigurationSchema, own, name)
      const resource = (encoded: Encoded): EncodedResource =>
        resourceOf(RouteConfigurationSchema, name, encoded)
      let whole: EncodedResource | undefined
      return {
        name,
        hosts,
        split: resource(encodeOwn({ ...configuration, vhds })),
        fetched: hosts.length === 0 ? [[encodeStandIn(name)]] : hosts,
        whole: () =>
          (whole ??= resource(joinFields(encodeOwn(configuration), hosts.map(hostElements)))),
      }
    },
  }
}

/** A reserved name (RFC 6761, section 6.4): no route has it while this host is there, as it is the only one. */
const NO_HOST = 'no-routes.invalid'

/**
 * Encodes the host of a configuration that has none. Envoy must always have a host to fetch: without one it would hold
 * back a new listener, and where a configuration stops to say vhds, Envoy keeps the hosts that it had, deaf to their
 * removal, and serves them again with the next one.
 */
function encodeStandIn(configuration: string): EncodedHost {
  const name = `${configuration}/${NO_HOST}`
  const own = encode(
    VirtualHostSchema,
    create(VirtualHostSchema, { name, domains: [NO_HOST] }),
    name,
  )
  return { resource: resourceOf(VirtualHostSchema, name, own), own, routes: [] }
}

const elementsOfHost = encodedElementsOf(VirtualHostSchema, 'routes')
const elementsOfConfiguration = encodedElementsOf(RouteConfigurationSchema, 'virtual_hosts')
