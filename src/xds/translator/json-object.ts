// Small builders of Envoy's JSON: objects without undefined members, typed Any values, durations.

import type { Json, JsonObject } from '../../ir/json.js'

const TYPE_PREFIX = 'type.googleapis.com/'

/** The members that are not undefined. */
export function jsonObject(members: Readonly<Record<string, Json | undefined>>): JsonObject {
  const kept: Record<string, Json> = {}
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined) kept[name] = value
  }
  return kept
}

/** The message as it stands in a google.protobuf.Any, e.g. of "envoy.extensions.filters.http.cors.v3.Cors". */
export const any = (
  messageName: string,
  members: Readonly<Record<string, Json | undefined>> = {},
): JsonObject => ({ '@type': TYPE_PREFIX + messageName, ...jsonObject(members) })

/** A google.protobuf.Duration in JSON, e.g. "1.5s". */
export const durationJson = (milliseconds: number): string => `${milliseconds / 1000}s`

/** The list, or undefined when it is empty: Envoy's default for every repeated field. */
export const unlessEmpty = <T>(list: readonly T[]): readonly T[] | undefined =>
  list.length === 0 ? undefined : list

export const ADS_SOURCE: JsonObject = { ads: {}, resource_api_version: 'V3' }
