// The objects that are to be in the API server, and what is compared of those that are there.

import { isJsonObject, type Json, type JsonObject } from '../../../model/json.js'
import type { GatewayName } from '../../../model/status.js'
import { metadataText } from './applier.js'

/** An object to apply. */
export interface WantedObject {
  /** KIND/NAMESPACE/NAME. */
  readonly key: string
  readonly manifest: WantedManifest
  /** The Gateways of its namespace that it is for, which own it. */
  readonly owners: readonly GatewayName[]
}

/** The content of an object to apply. */
export interface WantedManifest {
  readonly kind: string
  readonly metadata: {
    readonly namespace: string
    readonly name: string
    readonly labels: Readonly<Record<string, string>>
  }
}

/** Returns KIND NAMESPACE/NAME, for messages. */
export const objectName = ({ manifest: { kind, metadata } }: WantedObject): string =>
  `${kind} ${metadata.namespace}/${metadata.name}`

/** Returns the content to apply: the manifest with the label and the owners that exist. */
export function contentOf(
  { manifest, owners }: WantedObject,
  [name, value]: readonly [name: string, value: string],
  ownerOf: (gateway: GatewayName) => JsonObject | undefined,
): JsonObject {
  const { metadata } = manifest
  const references = owners.flatMap((owner) => ownerOf(owner) ?? [])
  return {
    ...(manifest as unknown as JsonObject),
    metadata: {
      ...metadata,
      labels: { ...metadata.labels, [name]: value },
      ...(references.length === 0 ? {} : { ownerReferences: references }),
    },
  }
}

/** Returns the value of a label. */
export function labelOf({ metadata }: JsonObject, name: string): Json | undefined {
  const labels = isJsonObject(metadata) ? metadata['labels'] : undefined
  return isJsonObject(labels) ? labels[name] : undefined
}

/** Returns what changes with each write of the object, except of its status where it has a generation. */
export function writtenVersion(object: JsonObject): string {
  const { metadata } = object
  const generation = isJsonObject(metadata) ? metadata['generation'] : undefined
  return typeof generation === 'number'
    ? `${metadataText(object, 'uid') ?? ''}/${generation}`
    : (metadataText(object, 'resourceVersion') ?? '')
}

const IDENTITY = ['namespace', 'name', 'uid', 'generation', 'resourceVersion']

/** Returns the part of an object that is compared, and its status: its content may be of any size, and anybody's. */
export function withoutContent(object: JsonObject, [name]: readonly [string, string]): JsonObject {
  const { metadata, status } = object
  const identity = Object.entries(isJsonObject(metadata) ? metadata : {}).filter(([member]) =>
    IDENTITY.includes(member),
  )
  const label = labelOf(object, name)
  return {
    metadata: {
      ...Object.fromEntries(identity),
      ...(label === undefined ? {} : { labels: { [name]: label } }),
    },
    ...(status === undefined ? {} : { status }),
  }
}
