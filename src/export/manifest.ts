// What an export is made of: Kubernetes manifests, their text, and what cannot be said in them.

import { stringify } from 'yaml'

/** A Kubernetes object that is to be applied. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ManifestMetadata
  readonly spec?: object
  /** Of a Secret. */
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
  /** FILE:LINE of the resource; absent: of none. */
  readonly source?: string
  readonly message: string
}

/** An address that Envoys connect to. */
export interface ExportAddress {
  readonly host: string
  readonly port: number
}

/** Where an export leads Envoys to. */
export interface ExportTargets {
  /** ext_authz and ext_proc of Gatehouse. */
  readonly gatehouse: ExportAddress
  /** The name in Gatehouse's certificate; absent: it is reached without TLS. */
  readonly serverName?: string
  /** What answers 503 to everything, or nobody. */
  readonly closed: ExportAddress
  /** Routes are sealed. Makes the secret of a namespace that has none: 32 letters, digits, - and _ or more. */
  readonly newSeal?: () => string
}

/** What generated objects carry, by which they are known again. */
export const LABELS = { 'app.kubernetes.io/managed-by': 'gatehouse' } as const

/** Of a generated object. */
export const metadataOf = (namespace: string, name: string): ManifestMetadata => ({
  namespace,
  name,
  labels: LABELS,
})

/** YAML documents, one for each manifest. */
export const manifestText = (manifests: readonly Manifest[]): string =>
  manifests
    .map((manifest) => stringify(manifest, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n')
