// Names and references of exported objects, and their form in Envoy Gateway's API.

import type { Manifest } from '../manifest.js'
import { metadataOf } from '../manifest.js'

/** API group of Envoy Gateway's own kinds. */
export const GROUP = 'gateway.envoyproxy.io'

/** Name of the Backend for Gatehouse. */
export const GATEHOUSE_BACKEND = 'gatehouse'
/** Name of the Backend for the closed address, from which no request gets a backend's answer. */
export const CLOSED_BACKEND = 'gatehouse-closed'

/** A reference to a Backend of the same namespace. */
export const toBackend = (name: string): object => ({ group: GROUP, kind: 'Backend', name })

/** An object of Envoy Gateway's API. */
export const manifestOf = (
  kind: string,
  namespace: string,
  name: string,
  spec: object,
): Manifest => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind,
  metadata: metadataOf(namespace, name),
  spec,
})
