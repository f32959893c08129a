// What we say of a resource: conditions, as in the Gateway API's status.

export interface ResourceStatus {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly conditions: readonly Condition[]
}

export interface Condition {
  /** Accepted, Attached, Programmed, ResolvedRefs. */
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** CamelCase. */
  readonly reason: string
  /** A sentence for a person. */
  readonly message: string
  /** NAMESPACE/NAME of the Gateway; absent: the resource is not attached to any. */
  readonly ancestor?: string
  /** Of a Gateway: the name of the listener that it is about; of a route: the sectionName of its parentRef. */
  readonly section?: string
  /** Of a route: the port of its parentRef. */
  readonly port?: number
  readonly observedGeneration?: number
}

/** Conflicted is the one type that is bad when it is True. */
export const isBad = ({ type, status }: Condition): boolean =>
  type === 'Conflicted' ? status !== 'False' : status !== 'True'

const PLAIN = /^(\w+ (accepted|published)|All references resolved|Attached to all targets)$/

/** The lines of a condition's message that say more than that all is well. */
export const remarksOf = ({ message }: Condition): readonly string[] =>
  message.split('\n').filter((line) => line !== '' && !PLAIN.test(line))
