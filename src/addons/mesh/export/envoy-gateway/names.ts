// Names and references of exported objects, and their form in Envoy Gateway's API.

import { nameAfter } from '../../../../model/names.js'
import { type ExportAddress, type ExportTargets, type Manifest, metadataOf } from '../manifest.js'

/** API group of Envoy Gateway's own kinds. */
export const GROUP = 'gateway.envoyproxy.io'

/** Name of the Backend for Gatehouse. */
export const GATEHOUSE_BACKEND = 'gatehouse'
/** Name of the Backend for the closed address, from which no request gets a backend's answer. */
export const CLOSED_BACKEND = 'gatehouse-closed'

/** The ConfigMap with the CA of Gatehouse's certificate, which the administrator creates. */
export const AUTHORITY = { group: '', kind: 'ConfigMap', name: 'gatehouse-ca' } as const

/** Name of the SecurityPolicy for the pages of a relay. */
export const pagesPolicyName = (httpRoute: string): string =>
  nameAfter('gatehouse-pages-', httpRoute)

/** References to the two addresses of an export, from any namespace. */
export interface BackendRefs {
  readonly gatehouse: object
  readonly closed: object
}

/** Returns references to Services, or to Backends in the namespace of whatever refers to them. */
export const backendRefs = ({
  gatehouse,
  closed,
}: Pick<ExportTargets, 'gatehouse' | 'closed'>): BackendRefs => ({
  gatehouse: refTo(gatehouse, GATEHOUSE_BACKEND),
  closed: refTo(closed, CLOSED_BACKEND),
})

const refTo = ({ service, port }: ExportAddress, backend: string): object =>
  service === undefined
    ? { group: GROUP, kind: 'Backend', name: backend }
    : { group: '', kind: 'Service', namespace: service.namespace, name: service.name, port }

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
