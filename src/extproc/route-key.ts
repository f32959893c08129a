// Which table entry an ext_proc stream is for: by its call metadata, or by the name of Envoy's route where a mesh cannot send any.

import { WireReader } from '../grpc/wire-reader.js'
import type { Mesh } from '../ir/mesh-route.js'
import { routeKey } from '../ir/names.js'

/** The filter's name, under which Envoy sends the attributes of a request. */
const ATTRIBUTES = 'envoy.filters.http.ext_proc'
const ROUTE_NAME = 'xds.route_name'

/** @throws {RangeError} the bytes are no message. */
export type KeysOfMessage = (bytes: Buffer) => readonly string[]

/** The key that a stream's first message, an encoded ProcessingRequest, stands for. Empty: it names no route. */
export const keysByRouteName: Readonly<Record<Mesh, KeysOfMessage>> = {
  'envoy-gateway': (bytes) => {
    const name = routeNameIn(bytes)
    const match = name === undefined ? null : ENVOY_GATEWAY.exec(name)
    if (match === null) return []
    const [, namespace = '', route = '', rule = ''] = match
    return [routeKey(namespace, route, Number(rule))]
  },
}

/** httproute/NAMESPACE/NAME/rule/N/match/M/HOST: made by the controller, of names that hold no slash. */
const ENVOY_GATEWAY = /^httproute\/([^/]+)\/([^/]+)\/rule\/(\d{1,4})\/match\/(?:-1|\d{1,4})\/[^/]+$/

/** The attribute of the first message; undefined: there is none, or it stands there twice. */
export function routeNameIn(bytes: Buffer): string | undefined {
  const reader = new WireReader(bytes)
  const names: (string | undefined)[] = []
  for (let field = reader.next(); field !== 0; field = reader.next())
    // attributes: an entry of map<string, Struct>, key 1 and value 2.
    if (field === 9) names.push(...entryOf(reader, ATTRIBUTES, readFields))
    else reader.skip()
  return names.length === 1 ? names[0] : undefined
}

/** google.protobuf.Struct: fields 1, each an entry { key 1, value 2 }. */
function readFields(reader: WireReader): readonly (string | undefined)[] {
  const found: (string | undefined)[] = []
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) found.push(...entryOf(reader, ROUTE_NAME, readValue))
    else reader.skip()
  return found
}

/** google.protobuf.Value: string 3. */
function readValue(reader: WireReader): readonly (string | undefined)[] {
  let text: string | undefined
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 3) text = reader.text()
    else reader.skip()
  return [text]
}

/** Envoy writes the key before the value. Anything else, or another key, gives nothing. */
function entryOf<Found>(
  reader: WireReader,
  wanted: string,
  read: (reader: WireReader) => readonly Found[],
): readonly Found[] {
  let key = ''
  const found: Found[] = []
  const outer = reader.enter()
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) key = reader.text()
    else if (field === 2 && key === wanted) {
      const within = reader.enter()
      found.push(...read(reader))
      reader.leave(within)
    } else reader.skip()
  reader.leave(outer)
  return found
}
