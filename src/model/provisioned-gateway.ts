// Types of the model for a Gateway whose Envoys Gatehouse creates in the cluster.

import type { GatewayName } from './status.js'

/** A Gateway whose Envoys Gatehouse creates. */
export interface ProvisionedGateway extends GatewayName {
  /** Name of the objects that are created for it: provisionedName() of names.ts. */
  readonly objectName: string
  /** Why the objects cannot be described now: those that exist stay as they are. */
  readonly problem?: string
  /** spec.infrastructure of the Gateway, for every object. */
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** Ports of its listeners, sorted. */
  readonly ports: readonly number[]
  readonly image: string
  readonly serviceType: string
  /** Absent: the number is left to others. */
  readonly replicas?: number
  readonly resources: ComputeResources
}

/** Resources of a container (ResourceRequirements). */
export interface ComputeResources {
  readonly requests?: Readonly<Record<string, string>>
  readonly limits?: Readonly<Record<string, string>>
}
