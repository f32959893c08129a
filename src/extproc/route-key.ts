// Reads the table key of an ext_proc stream from Envoy's route name, for meshes that cannot send it as call metadata.

import type { Mesh } from '../model/mesh-route.js'
import { routeKey } from '../model/names.js'
import { WireReader } from '../wire/grpc/wire-reader.js'

/** Name of the filter, under which Envoy sends the attributes of a request. */
const FILTER = 'envoy.filters.http.ext_proc'
const ROUTE_NAME = 'xds.route_name'
const SOURCE = 'source.address'

/** The route and the client of a stream. */
export interface NamedStream {
  /** Keys of the table; empty: no route is named. */
  readonly keys: readonly string[]
  /** IP address of the client; "": unknown. */
  readonly client: string
}

/** bytes: an encoded ProcessingRequest. @throws {RangeError} when they are not. */
export type ReadFirstMessage = (bytes: Buffer) => NamedStream

/** Readers by the mesh whose route names they parse. */
export const readersByMesh: Readonly<Record<Mesh, ReadFirstMessage>> = {
  'envoy-gateway': (bytes) => namedBy(ENVOY_GATEWAY, bytes),
  istio: (bytes) => namedBy(ISTIO, bytes),
}

/** pattern: of a route's name, with the groups namespace, HTTPRoute and rule. */
function namedBy(pattern: RegExp, bytes: Buffer): NamedStream {
  const attributes = attributesIn(bytes)
  const [, namespace, route, rule] = pattern.exec(attributes.get(ROUTE_NAME) ?? '') ?? []
  const isNamed = namespace !== undefined && route !== undefined && rule !== undefined
  return {
    keys: isNamed ? [routeKey(namespace, route, Number(rule))] : [],
    client: hostOf(attributes.get(SOURCE) ?? ''),
  }
}

/** httproute/NAMESPACE/NAME/rule/N/match/M/HOST: written by the controller; the names contain no slash. */
const ENVOY_GATEWAY = /^httproute\/([^/]+)\/([^/]+)\/rule\/(\d{1,4})\/match\/(?:-1|\d{1,4})\/[^/]+$/

/** NAMESPACE.NAME.N: istiod's name for the rule N if its author gave it none. Namespaces contain no dot. */
const ISTIO = /^([^./]+)\.([^/]+)\.(\d{1,4})$/

/** Returns the host of IP:PORT or [IP]:PORT. */
const hostOf = (address: string): string => address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')

/** Returns string attributes by name, without names that occur twice. */
function attributesIn(bytes: Buffer): ReadonlyMap<string, string> {
  const reader = new WireReader(bytes)
  const found = new Map<string, string>()
  const twice = new Set<string>()
  for (let field = reader.next(); field !== 0; field = reader.next())
    // attributes: an entry of map<string, Struct>.
    if (field === 9)
      readEntry(reader, (filter) => {
        if (filter === FILTER) readFields(reader, found, twice)
        else skipAll(reader)
      })
    else reader.skip()
  for (const name of twice) found.delete(name)
  return found
}

/** google.protobuf.Struct: repeated field 1, each an entry of map<string, Value>. */
function readFields(reader: WireReader, found: Map<string, string>, twice: Set<string>): void {
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1)
      readEntry(reader, (name) => {
        if (found.has(name)) twice.add(name)
        found.set(name, readValue(reader))
      })
    else reader.skip()
}

/** google.protobuf.Value: string 3. Returns "" for a value of another kind. */
function readValue(reader: WireReader): string {
  let text = ''
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 3) text = reader.text()
    else reader.skip()
  return text
}

/** Reads an entry { key 1, value 2 } whose value is a message; Envoy writes the key first. */
function readEntry(reader: WireReader, readMessage: (key: string) => void): void {
  let key = ''
  const outer = reader.enter()
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) key = reader.text()
    else if (field === 2) {
      const within = reader.enter()
      readMessage(key)
      reader.leave(within)
    } else reader.skip()
  reader.leave(outer)
}

function skipAll(reader: WireReader): void {
  for (let field = reader.next(); field !== 0; field = reader.next()) reader.skip()
}
