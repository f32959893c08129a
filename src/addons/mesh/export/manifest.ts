// Kubernetes manifests of an export, their text, and problems that prevent it.

import { stringify } from 'yaml'

/** A Kubernetes object to apply. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ManifestMetadata
  readonly spec?: object
  /** Data of a Secret. */
  readonly stringData?: Readonly<Record<string, string>>
}

/** Metadata of a manifest (metav1.ObjectMeta). */
export interface ManifestMetadata {
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

/** Why a resource cannot be exported. */
export interface ExportProblem {
  /** FILE:LINE of the resource; absent: the problem is not about one. */
  readonly source?: string
  readonly message: string
}

/** An address that Envoys connect to. */
export interface ExportAddress {
  readonly host: string
  readonly port: number
  /** The Service that the host names; absent: it names none. */
  readonly service?: { readonly namespace: string; readonly name: string }
}

/** Addresses that an export refers to. */
export interface ExportTargets {
  /** Address of Gatehouse's ext_authz and ext_proc. */
  readonly gatehouse: ExportAddress
  /** Name in Gatehouse's certificate; absent: Envoys connect without TLS. */
  readonly serverName?: string
  /** Address that answers 503 to everything, or on which nobody listens. */
  readonly closed: ExportAddress
  /** Whether requests of routes that Gatehouse does not know are denied (Istio); absent: they are not checked. */
  readonly requirePolicy?: boolean
  /** Creates the seal of a namespace that has none: at least 32 letters, digits, - and _; absent: nothing is sealed. */
  readonly newSeal?: () => string
}

/** Labels that identify generated objects. */
export const LABELS = { 'app.kubernetes.io/managed-by': 'gatehouse' } as const

/** Metadata of a generated object. */
export const metadataOf = (namespace: string, name: string): ManifestMetadata => ({
  namespace,
  name,
  labels: LABELS,
})

/** Returns a YAML document for each manifest. */
export const manifestText = (manifests: readonly Manifest[]): string =>
  manifests
    .map((manifest) => stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n')
